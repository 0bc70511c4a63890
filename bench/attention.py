#!/usr/bin/env python3
"""Measures npu_fusion_attention against PyTorch's scaled_dot_product_attention: peak memory and time of forward and backward.

usage: attention.py [--rounds N] [--heads N] [--numbers D] [--tokens S [S ...]] [--masks MASK [MASK ...]]

Both get float32 tensors of one batch element and the same mask; PyTorch gets it as a dense matrix of bool. The masks random
and none exclude no block of keys. Each row of memory is a process of its own, measured from the start of the call. Times are
medians of rounds in which both take turns; ratios above 1 mean that npu_fusion_attention is faster. Needs the package openaclnn
and PyTorch 2.1.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

from openaclnn.compat.npu_ops.attention import npu_fusion_attention

BAND = 512  # keys that a query of the mask "band" sees before its own
MASKS = ("causal", "band", "random", "none")


def contestants(mask, tokens, scale, heads):
    """Returns two functions of query, key and value that compute the same attention."""
    row, column = torch.arange(tokens).unsqueeze(1), torch.arange(tokens)
    compressed = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), diagonal=1)
    if mask == "causal":
        arguments, visible = {"atten_mask": compressed, "sparse_mode": 3}, column <= row
    elif mask == "band":
        arguments = {"atten_mask": compressed, "sparse_mode": 4, "pre_tockens": BAND, "next_tockens": 0}
        visible = (column <= row) & (row - column <= BAND)
    elif mask == "none":
        arguments, visible = {}, None
    else:
        visible = torch.rand(tokens, tokens) < 0.7
        arguments = {"atten_mask": ~visible, "sparse_mode": 1}
    return {"npu_fusion_attention": lambda *tensors: npu_fusion_attention(*tensors, heads, "BNSD", scale=scale, **arguments)[0],
            "scaled_dot_product_attention": lambda *tensors: F.scaled_dot_product_attention(*tensors, attn_mask=visible, scale=scale)}


def train(function, tensors, grad):
    """Returns the seconds of forward and backward, and the results."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    start = time.perf_counter()
    out = function(*leaves)
    out.backward(grad)
    return time.perf_counter() - start, [out.detach(), *(leaf.grad for leaf in leaves)]


def tensors_of(tokens, options):
    return [torch.randn(1, options.heads, tokens, options.numbers) for _ in range(4)]


def memory(name, tokens, options):
    """Returns the MiB by which the peak of this process grows in a call."""
    small = tensors_of(16, options)
    train(contestants("causal", 16, options.numbers ** -0.5, options.heads)[name], small[:3], small[3])
    *tensors, grad = tensors_of(tokens, options)
    function = contestants("causal", tokens, options.numbers ** -0.5, options.heads)[name]
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
    before = kibibytes("VmRSS")
    train(function, tensors, grad)
    return (kibibytes("VmHWM") - before) / 1024


def kibibytes(key):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key + ":")).split()[1])


def speed(mask, tokens, options):
    """Returns the median seconds of both contestants, and the largest difference of their results."""
    *tensors, grad = tensors_of(tokens, options)
    functions = contestants(mask, tokens, options.numbers ** -0.5, options.heads)
    seconds = {name: [] for name in functions}
    for number in range(options.rounds + 1):
        results = []
        for name, function in functions.items():
            taken, found = train(function, tensors, grad)
            results.append(found)
            if number > 0:  # the first round warms up
                seconds[name].append(taken)
    difference = max(float((one - other).abs().max()) for one, other in zip(*results))
    return [statistics.median(taken) for taken in seconds.values()], difference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--numbers", type=int, default=64, help="length of a head")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=MASKS)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.memory_of:
        print(memory(options.memory_of, options.tokens[0], options))
        return
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}; {options.heads} heads of "
          f"{options.numbers} float32, forward and backward\n")
    print("| Tokens | Peak memory of npu_fusion_attention, causal | of scaled_dot_product_attention |\n|---|---|---|")
    for tokens in options.tokens:
        cells = [subprocess.run([sys.executable, __file__, "--memory-of", name, "--tokens", str(tokens), "--heads", str(options.heads),
                                 "--numbers", str(options.numbers)], check=True, capture_output=True, text=True).stdout
                 for name in ("npu_fusion_attention", "scaled_dot_product_attention")]
        print(f"| {tokens:,} | {float(cells[0]):.0f} MiB | {float(cells[1]):.0f} MiB |", flush=True)
    print("\n| Tokens, mask | npu_fusion_attention | scaled_dot_product_attention | Ratio, largest difference |\n|---|---|---|---|")
    for tokens in options.tokens:
        for mask in options.masks:
            (ours, theirs), difference = speed(mask, tokens, options)
            print(f"| {tokens:,}, {mask} | {ours * 1e3:,.0f} ms | {theirs * 1e3:,.0f} ms | {theirs / ours:.2f}, {difference:.0e} |",
                  flush=True)


if __name__ == "__main__":
    main()
