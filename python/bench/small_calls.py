# Measures small calls of openaclnn.torch in turns with the same in PyTorch, in microseconds of wall time.
"""usage: small_calls.py

One thread. Each line has the least time of 81 rounds of 500 calls and, in brackets, the median. A call with a gradient is the forward
pass only.
"""
import statistics
import time

import torch

import openaclnn.torch as oat

CALLS, ROUNDS = 500, 81


def contestants(requires_grad):
    """Returns pairs of functions by name: ours, and that of PyTorch."""
    table, ids = torch.randn(1000, 64, requires_grad=requires_grad), torch.randint(0, 1000, (32,))
    rows, bias = torch.randn(64, 64), torch.randn(4, 64, requires_grad=requires_grad)
    ends, group_of_row = torch.tensor([10, 20, 40, 64]), torch.repeat_interleave(torch.tensor([10, 10, 20, 24]))
    tokens, weight = torch.randn(32, 2, 8), torch.randn(8, 2, requires_grad=requires_grad)
    return {
        "embedding, 32 indices, table [1000, 64]": (
            lambda: oat.embedding(table, ids), lambda: torch.nn.functional.embedding(ids, table)),
        "grouped_bias_add, 4 groups, rows [64, 64]": (
            lambda: oat.grouped_bias_add(rows, bias, ends), lambda: rows + bias[group_of_row]),
        "nsa_compress, 7 windows, tokens [32, 2, 8]": (
            lambda: oat.nsa_compress(tokens, weight, 8, 4), lambda: torch.einsum("jndl,ln->jnd", tokens.unfold(0, 8, 4), weight)),
    }


def microseconds(function):
    start = time.perf_counter()
    for _ in range(CALLS):
        function()
    return (time.perf_counter() - start) / CALLS * 1e6


def main():
    torch.set_num_threads(1)
    for requires_grad in (False, True):
        print("with gradients" if requires_grad else "without gradients")
        for name, pair in contestants(requires_grad).items():
            rounds = [[microseconds(function) for function in pair] for _ in range(ROUNDS)]
            ours, theirs = (f"{min(times):.1f} [{statistics.median(times):.1f}]" for times in zip(*rounds))
            print(f"  {name:44} {ours} us, PyTorch {theirs} us")


if __name__ == "__main__":
    main()
