# Compares steps with offloaded state on a GPU, bit by bit, with steps of state on the GPU and on the CPU. A program, without pytest.
"""usage: gpu_offload.py: prints one line for each comparison. It exits with 1 if one differs."""
import itertools
import sys

import torch

from openaclnn.torch import FusedEmaAdamW, offload

SHAPES = [(300, 200), (7,), (1,), (1000, 333), (64, 3, 5, 5), (0,), (2049,)]
OPTIONS = dict(lr=0.01, weight_decay=0.1, ema_decay=0.9)


def parameters(dtype):
    generator = torch.Generator().manual_seed(3)
    made = [torch.randn(shape, generator=generator).to("cuda", dtype) for shape in SHAPES]
    return [torch.nn.Parameter(value.to(memory_format=torch.channels_last) if value.dim() == 4 else value) for value in made]


def loss(own, step):
    """Gives each parameter a gradient of its own, in an elementwise graph with the same bits in each run."""
    return sum((value.float() * (0.1 * k + 0.3 + step)).square().sum() for k, value in enumerate(own))


def train(optimizer, own, steps, in_backward):
    for step in range(steps):
        if in_backward:
            with optimizer.step_in_backward():
                loss(own, step).backward()
        else:
            loss(own, step).backward()
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.full((1 << 20,), float("nan"), device="cuda")  # takes memory that gradients have left


def results(optimizer, own):
    optimizer.state_dict()  # waits for the host's memory
    return [value.detach().cpu() for parameter in own
            for value in (parameter, *(optimizer.state[parameter][name] for name in offload.NAMES))]


def keeps_memory_of_earlier_work():
    """New memory for a bucket is freed memory that a late kernel still reads."""
    own = torch.nn.Parameter(torch.ones(1 << 22, device="cuda"))
    optimizer = FusedEmaAdamW([own], offload="state", **OPTIONS)
    own.grad = torch.ones_like(own)
    optimizer.step()
    torch.cuda.synchronize()
    optimizer._offloaded._slots.clear()
    torch.cuda.empty_cache()
    ones = torch.ones(3 << 22, device="cuda")
    torch.cuda._sleep(100_000_000)
    total = ones.sum()
    del ones
    optimizer.step()
    return total.item() == 3 << 22


def main():
    if not torch.cuda.is_available():
        print("gpu_offload: PyTorch sees no GPU", file=sys.stderr)
        return 2
    failed = not keeps_memory_of_earlier_work()
    print(f"memory of earlier work: {'OVERWRITTEN' if failed else 'kept'}", flush=True)
    for dtype, bucket in itertools.product((torch.float32, torch.bfloat16, torch.float16), (1 << 22, 4096)):
        offload.BUCKET_ELEMENTS = bucket
        own = parameters(dtype)
        resident = FusedEmaAdamW(own, **OPTIONS)
        train(resident, own, 8, False)
        expected = results(resident, own)
        for state, in_backward in itertools.product(("average", "state"), (False, True)):
            own = parameters(dtype)
            optimizer = FusedEmaAdamW(own, offload=state, **OPTIONS)
            train(optimizer, own, 4, in_backward)
            moved = FusedEmaAdamW(own, offload=state, **OPTIONS)
            moved.load_state_dict(optimizer.state_dict())
            for step in range(4, 8):  # the same steps as above
                with moved.step_in_backward():
                    loss(own, step).backward()
                moved.zero_grad(set_to_none=True)
            got = results(moved, own)
            same = len(got) == len(expected) and all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) if a.numel() else True
                                                     for a, b in zip(map(torch.Tensor.contiguous, got), map(torch.Tensor.contiguous, expected)))
            pinned = all(moved.state[p]["ema_params"].is_pinned() for p in own if p.numel())
            failed = failed or not same or not pinned
            print(f"{dtype}, buckets of {bucket}, {state}, in backward: {in_backward}: {'same bits' if same else 'OTHER BITS'}, "
                  f"{'pinned' if pinned else 'NOT PINNED'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
