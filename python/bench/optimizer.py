# Compares the optimizer step of a language model with 148 parameter tensors: FusedEmaAdamW, and AdamW of PyTorch with a
# separate average.
"""usage: optimizer.py [--width N…] [--rounds N] [--dtype float32|bfloat16] [--threads N] [--clock wall|cpu] [--changing] [--check]

Contestants take turns in one process and on the same tensors, in an order that rotates. Ratios are paired by rounds. The shapes
are those of a GPT-2 with 12 layers: --width 16 has 0.9 million parameters, 64 has 3.9 million, 512, the default, 64.1 million, 768 is the
small model of 124 million. With --changing, every step has another learning rate and new gradient tensors, as with a scheduler and
zero_grad(). --check exits 1 below the goals. Against foreach AdamW and a foreach average the goal is 2 times as fast. Against fused
AdamW and a foreach average it is 1.15, and 1.0 below 10 million parameters, where finding the tensors takes most of a step. If float32
with all threads is at the limit of memory, it misses the goal of 1.15: 40 bytes for a parameter against our 36 leave 1.11. --clock cpu
counts processor seconds, which with one thread are also meaningful on a busy machine.
"""
import argparse
import os
import statistics
import sys
import time

import torch

from openaclnn.torch import FusedEmaAdamW

EMA_DECAY = 0.999
GOALS = {"AdamW(fused) + EMA": 1.15, "AdamW(foreach) + EMA": 2.0}
SMALL = 10_000_000
GOALS_OF_SMALL = {**GOALS, "AdamW(fused) + EMA": 1.0}


def shapes(width, layers=12, vocabulary=50257, positions=1024):
    layer = [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,), (width,), (width,),
             (4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    return [(vocabulary, width), (positions, width), *layer * layers, (width,), (width,)]


def parameters(width, options):
    dtype = getattr(torch, options.dtype)
    made = [torch.nn.Parameter(torch.randn(shape).mul_(0.02).to(dtype)) for shape in shapes(width)]
    for parameter in made:
        parameter.grad = torch.randn(parameter.shape).mul_(1e-3).to(dtype)
    return made


def torch_contestant(ours, **kind):
    """PyTorch's optimizer and the average, on the same memory as ours, because pages differ in speed."""
    mine = ours.param_groups[0]["params"]
    optimizer = torch.optim.AdamW(mine, lr=1e-4, weight_decay=0.01, **kind)
    for parameter in mine:
        state = ours.state[parameter]
        optimizer.state[parameter] = {"step": torch.tensor(1.0), "exp_avg": state["exp_avg"], "exp_avg_sq": state["exp_avg_sq"]}
    averages = [ours.state[parameter]["ema_params"] for parameter in mine]

    def step():
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(averages, mine, 1 - EMA_DECAY)

    return optimizer, step


def contestants(width, options):
    torch.manual_seed(1)
    # AdamW also has this state, in the parameters' dtype.
    ours = FusedEmaAdamW(parameters(width, options), lr=1e-4, weight_decay=0.01, ema_decay=EMA_DECAY, ema_warmup=False,
                         state_dtype="parameter")
    ours.step()
    found = {"FusedEmaAdamW": (ours, ours.step)}
    for name, kind in (("AdamW(fused) + EMA", dict(fused=True)), ("AdamW(foreach) + EMA", dict(foreach=True))):
        try:
            optimizer, step = torch_contestant(ours, **kind)
            step()
            found[name] = optimizer, step
        except (RuntimeError, AttributeError, AssertionError) as error:  # older versions have no fused step on CPUs
            print(f"{name}: not in PyTorch {torch.__version__}: {str(error).splitlines()[0]}")
    return found, sum(parameter.numel() for parameter in ours.param_groups[0]["params"])


def settle():
    """Waits actively until PyTorch's threads, which spin after an operation, are idle. A processor that slept starts slowly."""
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass


def change(optimizer, turn):
    for group in optimizer.param_groups:
        group["lr"] = 1e-4 / (1 + turn)
        for parameter in group["params"]:
            parameter.grad = parameter.grad.clone()


def measure(found, options, clock):
    times, names = {name: [] for name in found}, list(found)
    for turn in range(options.rounds + 2):
        order = names[turn % len(names):] + names[:turn % len(names)]
        for name in order:
            optimizer, step = found[name]
            if options.changing:
                change(optimizer, turn)
            settle()
            start = clock()
            step()
            if turn >= 2:
                times[name].append(clock() - start)
    return times


def compare(width, options):
    """Prints the times of a model. Returns whether all goals are met."""
    found, count = contestants(width, options)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {len(shapes(width))} tensors, "
          f"{count / 1e6:.1f} million {options.dtype} parameters; load {os.getloadavg()[0]:.1f} at the start")
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    times, goals, met = measure(found, options, clock), GOALS_OF_SMALL if count < SMALL else GOALS, True
    ours = times["FusedEmaAdamW"]
    for name, rounds in times.items():
        line = f"{name:24} {statistics.median(rounds) * 1e3:8.2f} ms"
        if rounds is not ours:
            low, middle, high = statistics.quantiles([theirs / mine for theirs, mine in zip(rounds, ours)], n=4)
            line += f"   ours is {middle:.2f}x as fast [{low:.2f} {high:.2f}], goal {goals[name]:.2f}x"
            met = met and middle >= goals[name]
        print(line)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, nargs="+", default=[512])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--threads", type=int, help="of PyTorch and of openaclnn; default: all")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--changing", action="store_true", help="another learning rate and new gradient tensors in every step")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
        os.environ["OPENACLNN_NUM_THREADS"] = str(options.threads)  # read at the first call
    met = [compare(width, options) for width in options.width]
    return 1 if options.check and not all(met) else 0


if __name__ == "__main__":
    sys.exit(main())
