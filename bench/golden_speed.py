#!/usr/bin/env python3
"""Measures goldens against formulas in NumPy on 10^7 elements in fp64: loops over elements, and vectorised.

usage: golden_speed.py PROGRAM [--threads N]

PROGRAM is the program openaclnn. Loops run on a part of the elements, and their time is scaled to all of them. The
golden also computes the error bounds, and the formulas in Python don't.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np

ROWS, COLUMNS = 78125, 128  # 10^7 elements
LOOP_ROWS = 1000            # of a loop over elements
HEADS, BLOCK, STRIDE = 4, 32, 16
TOKENS = ROWS // HEADS
GROUPS, TABLE = 64, 5000


def seconds_of(function):
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


class Sums:
    """GroupedBiasAddGrad and EmbeddingDenseBackward: sums of the rows of each group."""

    def __init__(self, random, name):
        self.name = name
        self.is_table = name == "EmbeddingDenseBackward"
        self.rows = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
        ends = np.linspace(0, ROWS, GROUPS + 1).astype(np.int64)[1:]
        self.of_row = random.integers(0, TABLE, ROWS) if self.is_table else np.searchsorted(ends, np.arange(ROWS), "right")
        self.files = {"grad": self.rows, "indices": self.of_row} if self.is_table else {"grad-y": self.rows, "group-idx": ends}
        self.options = ["--num-weights", str(TABLE)] if self.is_table else []

    def loop(self):
        rows, out = self.rows[:LOOP_ROWS].astype(np.float64), np.zeros((TABLE, COLUMNS))
        for r in range(LOOP_ROWS):
            for c in range(COLUMNS):
                out[self.of_row[r], c] += rows[r, c]

    def numpy(self):
        out = np.zeros((TABLE, COLUMNS))
        if self.is_table:
            np.add.at(out, self.of_row, self.rows.astype(np.float64))
        else:
            np.add.reduceat(self.rows.astype(np.float64), np.searchsorted(self.of_row, np.arange(GROUPS)), axis=0)


class Rows:
    """Embedding: rows of a table."""

    name = "Embedding"
    options = []

    def __init__(self, random):
        self.table = random.standard_normal((TABLE, COLUMNS)).astype(np.float32)
        self.indices = random.integers(0, TABLE, ROWS)
        self.files = {"weight": self.table, "indices": self.indices}

    def loop(self):
        table, out = self.table.astype(np.float64), np.zeros((LOOP_ROWS, COLUMNS))
        for r in range(LOOP_ROWS):
            for c in range(COLUMNS):
                out[r, c] = table[self.indices[r], c]

    def numpy(self):
        self.table.astype(np.float64)[self.indices]


class Windows:
    """NsaCompress and its gradient: weighted sums of windows of tokens."""

    def __init__(self, random, name):
        self.name = name
        self.is_grad = name == "NsaCompressGrad"
        self.windows = (TOKENS - BLOCK) // STRIDE + 1
        self.tokens = random.standard_normal((TOKENS, HEADS, COLUMNS)).astype(np.float32)
        self.weight = random.standard_normal((BLOCK, HEADS)).astype(np.float32)
        self.grads = random.standard_normal((self.windows, HEADS, COLUMNS)).astype(np.float32)
        self.files = {"input": self.tokens, "weight": self.weight}
        if self.is_grad:
            self.files["output-grad"] = self.grads
        self.options = ["--compress-block-size", str(BLOCK), "--compress-stride", str(STRIDE)]

    def loop(self):
        count = LOOP_ROWS // (STRIDE * HEADS)  # the windows that start in this many rows
        tokens, weight, grads = (array.astype(np.float64) for array in (self.tokens[:2 * LOOP_ROWS], self.weight, self.grads))
        out, weight_grad = np.zeros_like(tokens), np.zeros_like(weight)
        for j in range(count):
            for i in range(BLOCK):
                for n in range(HEADS):
                    t = j * STRIDE + i
                    for e in range(COLUMNS):
                        if self.is_grad:
                            out[t, n, e] += weight[i, n] * grads[j, n, e]
                            weight_grad[i, n] += tokens[t, n, e] * grads[j, n, e]
                        else:
                            out[j, n, e] += weight[i, n] * tokens[t, n, e]

    def numpy(self):
        tokens, weight = self.tokens.astype(np.float64), self.weight.astype(np.float64)
        starts = np.arange(self.windows) * STRIDE
        if not self.is_grad:
            out = np.zeros((self.windows, HEADS, COLUMNS))
            for i in range(BLOCK):
                out += weight[i][None, :, None] * tokens[starts + i]
            return
        grads, out = self.grads.astype(np.float64), np.zeros_like(tokens)
        for i in range(BLOCK):
            out[starts + i] += weight[i][None, :, None] * grads
            (grads * tokens[starts + i]).sum(axis=(0, 2))


class Adam:
    """ApplyFusedEmaAdam and ApplyAdamWV2 with the defaults of the program."""

    def __init__(self, random, name):
        self.name = name
        self.is_ema = name == "ApplyFusedEmaAdam"
        names = ["grad", "var", "m", "v"] + (["s"] if self.is_ema else [])
        self.files = {key: random.random(ROWS * COLUMNS).astype(np.float32) for key in names}
        self.files["step"] = np.array([7])
        self.options = []

    def update(self, grad, var, m, v, s):
        m = 0.9 * m + (1 - 0.9) * grad
        v = 0.999 * v + (1 - 0.999) * grad * grad
        var = var - 1e-3 * (m / (1 - 0.9**7)) / (np.sqrt(v / (1 - 0.999**7)) + 1e-8)
        return (var, m, v, 0.9999 * s + (1 - 0.9999) * var) if self.is_ema else (var, m, v)

    def tensors(self, count=None):
        return [self.files[key][:count].astype(np.float64) for key in ("grad", "var", "m", "v", "s" if self.is_ema else "v")]

    def loop(self):
        grad, var, m, v, s = tensors = self.tensors(LOOP_ROWS * COLUMNS)
        for i in range(LOOP_ROWS * COLUMNS):
            for tensor, new in zip(tensors[1:], self.update(grad[i], var[i], m[i], v[i], s[i])):
                tensor[i] = new

    def numpy(self):
        self.update(*self.tensors())


def golden_seconds(program, workload, threads, folder):
    words = [program, "golden", workload.name, *workload.options, "--threads", str(threads), "--json"]
    for name, array in workload.files.items():
        np.save(folder / f"{name}.npy", array)
        words += [f"--{name}", folder / f"{name}.npy"]
    reports = [json.loads(subprocess.run(words, check=True, capture_output=True).stdout) for _ in range(3)]
    return min(report["seconds"] for report in reports)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{'operator':24} {'golden ms':>10} {'loop s':>8} {'loop/golden':>12} {'NumPy ms':>9} {'NumPy/golden':>13}")
    makers = [lambda r: Sums(r, "GroupedBiasAddGradV2"), lambda r: Sums(r, "EmbeddingDenseBackward"), Rows,
              lambda r: Windows(r, "NsaCompress"), lambda r: Windows(r, "NsaCompressGrad"),
              lambda r: Adam(r, "ApplyFusedEmaAdam"), lambda r: Adam(r, "ApplyAdamWV2")]
    for make in makers:
        workload = make(np.random.default_rng(7))
        with tempfile.TemporaryDirectory() as folder:
            golden = golden_seconds(options.program, workload, options.threads, pathlib.Path(folder))
        loop = seconds_of(workload.loop) * ROWS / LOOP_ROWS
        vectorised = seconds_of(workload.numpy)
        print(f"{workload.name:24} {1e3 * golden:10.0f} {loop:8.1f} {loop / golden:12.0f} {1e3 * vectorised:9.0f} "
              f"{vectorised / golden:13.1f}", flush=True)


if __name__ == "__main__":
    main()
