# Compares the gradient of an embedding table, and a training step of a model with one, with and without
# enable_embedding_backward().
"""usage: embedding.py [--rows N] [--width N] [--indices N] [--rounds N] [--dtype float32|bfloat16] [--threads N] [--check]

PyTorch's own gradient and openaclnn's take turns in one process and on the same tensors, in an order that rotates. Ratios are
paired by rounds. A backward is that of torch.nn.Embedding alone. The model averages the rows of 50 indices, and has two layers
above; a step is its forward, backward and AdamW. Gradients are None before each backward, as after zero_grad(). --check exits 1
below the goals: 2 times as fast in the backward, 1.25 times in the whole step. Needs PyTorch 2.1, which can restore its own
gradient.
"""
import argparse
import os
import statistics
import sys
import time

import torch

from openaclnn.torch import disable_embedding_backward, enable_embedding_backward

WORDS = 50  # indices of a sample
GOALS = {"backward": 2.0, "training step": 1.25}


def backward_of_a_table(options):
    dtype = getattr(torch, options.dtype)
    table = torch.nn.Embedding(options.rows, options.width, dtype=dtype)
    indices = torch.randint(options.rows, (options.indices,))
    grad = torch.randn(options.indices, options.width, dtype=dtype)

    def prepare():
        table.weight.grad = None
        return table(indices)

    return prepare, lambda rows: rows.backward(grad)


def training_step(options):
    dtype = getattr(torch, options.dtype)
    table = torch.nn.Embedding(options.rows, options.width)
    layers = torch.nn.Sequential(torch.nn.Linear(options.width, options.width), torch.nn.ReLU(), torch.nn.Linear(options.width, 16))
    table, layers = table.to(dtype), layers.to(dtype)
    samples = max(options.indices // WORDS, 1)
    indices, classes = torch.randint(options.rows, (samples, WORDS)), torch.randint(16, (samples,))
    parameters = [*table.parameters(), *layers.parameters()]
    try:
        optimizer = torch.optim.AdamW(parameters, fused=True)
    except RuntimeError:  # older versions have no fused step on CPUs
        optimizer = torch.optim.AdamW(parameters, foreach=True)

    def step(_):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layers(table(indices).mean(1)).float(), classes).backward()
        optimizer.step()

    return lambda: None, step


def settle():
    """Waits actively until threads that spin after an operation are idle. A processor that slept starts slowly."""
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass


def measure(prepare, run, rounds):
    times, names = {"PyTorch": [], "openaclnn": []}, ["PyTorch", "openaclnn"]
    for turn in range(rounds + 2):
        for name in names[turn % 2:] + names[:turn % 2]:
            (enable_embedding_backward if name == "openaclnn" else disable_embedding_backward)()
            prepared = prepare()
            settle()
            start = time.perf_counter()
            run(prepared)
            if turn >= 2:
                times[name].append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--indices", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--threads", type=int, help="of PyTorch and of openaclnn; default: all")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
        os.environ["OPENACLNN_NUM_THREADS"] = str(options.threads)  # read at the first call
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {options.rows:,} rows of {options.width} {options.dtype}, "
          f"{options.indices:,} indices; load {os.getloadavg()[0]:.1f} at the start")
    failed = False
    for name, make in (("backward", backward_of_a_table), ("training step", training_step)):
        times = measure(*make(options), options.rounds)
        low, middle, high = statistics.quantiles([theirs / ours for theirs, ours in zip(times["PyTorch"], times["openaclnn"])], n=4)
        theirs, ours = (statistics.median(times[who]) * 1e3 for who in ("PyTorch", "openaclnn"))
        print(f"{name:14} PyTorch {theirs:7.1f} ms   openaclnn {ours:7.1f} ms   {middle:.2f}x as fast [{low:.2f} {high:.2f}], "
              f"goal {GOALS[name]:.2f}x")
        failed = failed or middle < GOALS[name]
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
