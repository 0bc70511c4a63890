# Measures training with the optimizer's state in the host's memory, beside PyTorch's ways to do it, on one GPU.
"""usage: offload.py [--tokens N,…] [--blocks N] [--only WORD] [--bucket ELEMENTS] [--slots N]

Prints a table: milliseconds of a whole iteration of a model of linear layers, and how many of them the step adds to forward and
backward. Parameters, gradients and state are float32, and products bfloat16 (autocast). Each iteration begins when the one before
was launched, as in training."""
import argparse
import contextlib
import gc
import statistics
import sys
import time

import torch

import openaclnn.torch
from openaclnn.torch import offload

WIDTH, INNER = 4096, 16384
WARM_UPS, RUNS, ROUNDS = 1, 3, 2
OPTIONS = dict(lr=1e-4, weight_decay=0.01)
DECAY = 0.999


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, INNER), torch.nn.Linear(INNER, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Ours:
    """FusedEmaAdamW, with its state anywhere."""

    def __init__(self, model, offloaded, in_backward):
        self.optimizer = openaclnn.torch.FusedEmaAdamW(model.parameters(), ema_decay=DECAY, ema_warmup=False, offload=offloaded, **OPTIONS)
        self.in_backward = in_backward

    def backward(self, loss):
        with self.optimizer.step_in_backward() if self.in_backward else contextlib.nullcontext():
            loss.backward()
        if not self.in_backward:
            self.optimizer.step()

    def averages(self, model):
        self.optimizer.state_dict()  # waits for the host's memory
        return [self.optimizer.state[parameter]["ema_params"] for parameter in model.parameters()]


class Adam:
    """torch.optim.AdamW with its moments on the GPU, and an average."""

    def __init__(self, model, average):
        self.parameters = [parameter.detach() for parameter in model.parameters()]
        self.optimizer = self.make(model)
        self.average = getattr(self, f"average_{average}")
        self.averages_now = [parameter.clone() if average == "on_the_gpu" else parameter.cpu().pin_memory() for parameter in self.parameters]
        self.copies = [torch.empty_like(average).pin_memory() for average in self.averages_now] if average == "on_the_cpu" else []

    def make(self, model):
        return torch.optim.AdamW(model.parameters(), fused=True, **OPTIONS)

    def backward(self, loss):
        loss.backward()
        self.optimizer.step()
        self.average()

    def average_on_the_gpu(self):
        torch._foreach_lerp_(self.averages_now, self.parameters, 1 - DECAY)

    def average_visiting_the_gpu(self):
        """Averages are in pinned memory, and copied to the GPU for the update."""
        visiting = [average.cuda(non_blocking=True) for average in self.averages_now]
        torch._foreach_lerp_(visiting, self.parameters, 1 - DECAY)
        for average, new in zip(self.averages_now, visiting):
            average.copy_(new, non_blocking=True)

    def average_on_the_cpu(self):
        """Averages are in pinned memory, and the CPU updates them."""
        for copy, parameter in zip(self.copies, self.parameters):
            copy.copy_(parameter, non_blocking=True)
        torch.cuda.synchronize()
        torch._foreach_lerp_(self.averages_now, self.copies, 1 - DECAY)


class TorchaoAdam(Adam):
    """torchao's optimizer, which keeps moments in the host's memory and updates parameters on the CPU, and averages there."""

    def make(self, model):
        from torchao.optim import CPUOffloadOptimizer
        return CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, fused=True, **OPTIONS)


class NoStep:
    def __init__(self, model):
        pass

    def backward(self, loss):
        loss.backward()


CONTESTANTS = {
    "no step": NoStep,
    "FusedEmaAdamW": lambda model: Ours(model, None, False),
    "FusedEmaAdamW, state offloaded, step in backward": lambda model: Ours(model, "state", True),
    "FusedEmaAdamW, state offloaded, step after it": lambda model: Ours(model, "state", False),
    "FusedEmaAdamW, average offloaded, step in backward": lambda model: Ours(model, "average", True),
    "fused AdamW and foreach lerp": lambda model: Adam(model, "on_the_gpu"),
    "the same, averages visit the GPU": lambda model: Adam(model, "visiting_the_gpu"),
    "the same, averages on the CPU": lambda model: Adam(model, "on_the_cpu"),
    "torchao's offloaded AdamW, averages on the CPU": lambda model: TorchaoAdam(model, "on_the_cpu"),
}


def bus():
    """Returns GB/s to the GPU, from it, and of each while both directions work."""
    host, gpu = [torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True) for _ in range(2)], [torch.empty(1 << 28, dtype=torch.uint8, device="cuda") for _ in range(2)]
    streams = torch.cuda.Stream(), torch.cuda.Stream()

    def time_of(inward, outward):
        for run in range(2):
            torch.cuda.synchronize()
            begin = time.monotonic()
            for _ in range(4):
                with torch.cuda.stream(streams[0]):
                    inward and gpu[0].copy_(host[0], non_blocking=True)
                with torch.cuda.stream(streams[1]):
                    outward and host[1].copy_(gpu[1], non_blocking=True)
            torch.cuda.synchronize()
        return 4 * (1 << 28) / 1e9 / (time.monotonic() - begin)

    return time_of(True, False), time_of(False, True), time_of(True, True)


class Trial:
    def __init__(self, name, blocks):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(*(Block() for _ in range(blocks))).cuda()
        torch.cuda.reset_peak_memory_stats()
        self.contestant = CONTESTANTS[name](self.model)

    def run(self, values, count):
        """Returns the milliseconds of an iteration."""
        torch.cuda.synchronize()
        begin = time.monotonic()
        for _ in range(count):
            with torch.autocast("cuda", torch.bfloat16):
                loss = self.model(values).float().square().mean()
            self.contestant.backward(loss)
            self.model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return 1e3 * (time.monotonic() - begin) / count

    def results(self):
        return [*self.model.parameters(), *self.contestant.averages(self.model)]


def same_bits(a, b):
    return all(torch.equal(x.detach().cuda().view(torch.int32), y.detach().cuda().view(torch.int32)) for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", default="16384,65536", help="in an iteration")
    parser.add_argument("--blocks", type=int, default=4, help="of 134 million parameters")
    parser.add_argument("--only", default="", help="a part of the names of contestants; 'no step' always runs")
    parser.add_argument("--bucket", type=int, default=offload.BUCKET_ELEMENTS, help="elements that are copied together")
    parser.add_argument("--slots", type=int, default=offload.MOST_SLOTS, help="buckets on the GPU at a time")
    options = parser.parse_args()
    offload.BUCKET_ELEMENTS, offload.MOST_SLOTS = options.bucket, options.slots
    inward, outward, both = bus()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; bus: {inward:.0f} GB/s to the GPU, {outward:.0f} from it, {both:.0f} "
          "in each direction while both work")
    print("| tokens | optimizer | ms | of the step | GPU memory in GB | same bits |\n|---|---|---|---|---|---|", flush=True)
    sizes = [int(tokens) for tokens in options.tokens.split(",")]
    base, reference = {}, None
    for name in CONTESTANTS:
        if name != "no step" and options.only not in name:
            continue
        trial = None
        gc.collect()
        torch.cuda.empty_cache()
        try:
            trial = Trial(name, options.blocks)
            for tokens in sizes[:1] if "CPU" in name else sizes:  # they take as long with any number
                values = torch.randn(tokens, WIDTH, device="cuda", generator=torch.Generator("cuda").manual_seed(2)).bfloat16()
                trial.run(values, WARM_UPS)
                took = statistics.median(trial.run(values, RUNS) for _ in range(ROUNDS))
                base.setdefault(tokens, took)
                memory = torch.cuda.max_memory_allocated() / 1e9
                same = ""
                if isinstance(trial.contestant, Ours) and tokens == sizes[-1]:
                    if reference is None:
                        reference = [value.detach().cpu() for value in trial.results()]
                    else:
                        same = "yes" if same_bits(trial.results(), reference) else "**no**"
                print(f"| {tokens} | {name} | {took:.1f} | {took - base[tokens]:.1f} | {memory:.1f} | {same} |", flush=True)
        except Exception as error:  # peers have many ways to fail
            print(f"| | {name} | not measured: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} | | | |", flush=True)
            if "FusedEma" in name:
                raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
