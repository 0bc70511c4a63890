# Writes a dump in the layout of msprobe, as a device would leave it: make_dump.py FOLDER [--bad KIND]
"""Computes a few calls with NumPy, as a correct device does, and saves them in FOLDER/step0/rank0. With --bad, one of the calls
has an error that kernels often have:

  shifted-windows     token compression reads each window one token late
  half-accumulator    the gradient of the compression weights is added in float16
  no-bias-correction  the optimizer leaves out the bias correction
  padding-row         the gradient of an embedding table includes the padding row
  one-element         one element of a bias gradient is two units in the last place too large

`openaclnn judge FOLDER` finds it. It needs NumPy only.
"""
import argparse
import json
import pathlib

import numpy as np

KINDS = ["shifted-windows", "half-accumulator", "no-bias-correction", "padding-row", "one-element"]
BLOCK, STRIDE, ENDS = 32, 16, [200, 512]  # windows of 32 tokens, and the ends of two sequences


class Dump:
    """A folder as msprobe's PrecisionDebugger writes it for the task tensor."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tensors = self.folder / "dump_tensor_data"
        self.tensors.mkdir(parents=True)
        self.data = {}

    def forward(self, call, args, kwargs, outputs):
        key = f"{call}.forward"
        self.data[key] = {
            "input_args": [self.entry(f"{key}.input.{i}", arg) for i, arg in enumerate(args)],
            "input_kwargs": {name: self.entry(f"{key}.kwargs.{name}", arg) for name, arg in kwargs.items()},
            "output": [self.entry(f"{key}.output.{i}", output) for i, output in enumerate(outputs)]}

    def backward(self, call, gradient, gradients):
        key = f"{call}.backward"
        self.data[key] = {
            "input": [self.entry(f"{key}.input.0", gradient)],
            "output": [self.entry(f"{key}.output.{i}", output) for i, output in enumerate(gradients)]}

    def entry(self, name, value):
        """Returns what dump.json has for an argument or a result, and saves its elements."""
        if isinstance(value, (list, tuple)):
            return [self.entry(f"{name}.{i}", one) for i, one in enumerate(value)]
        if not isinstance(value, np.ndarray):
            return None if value is None else {"type": type(value).__name__, "value": value}
        np.save(self.tensors / f"{name}.npy", value)
        entry = {"type": "torch.Tensor", "dtype": f"torch.{value.dtype}", "shape": list(value.shape),
                 "Max": value.max().item(), "Min": value.min().item(), "Mean": None, "Norm": None}
        if value.dtype == np.float32:
            wide = value.astype(np.float64)
            entry.update(Mean=wide.mean().item(), Norm=np.linalg.norm(wide).item())
        return {**entry, "requires_grad": value.dtype == np.float32, "data_name": f"{name}.npy"}

    def close(self):
        dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(self.tensors), "data": self.data}
        (self.folder / "dump.json").write_text(json.dumps(dump, indent=1))
        (self.folder / "construct.json").write_text(json.dumps({key: None for key in self.data}, indent=1))
        (self.folder / "stack.json").write_text(json.dumps({}))


def window_starts():
    """Returns the first token of each window. Windows don't cross the ends of sequences."""
    begins = [0, *ENDS[:-1]]
    return np.array([start for begin, end in zip(begins, ENDS) for start in range(begin, end - BLOCK + 1, STRIDE)])


def compress(dump, random, bad):
    tokens = random.standard_normal((ENDS[-1], 2, 16), dtype=np.float32)
    weight = random.standard_normal((BLOCK, 2), dtype=np.float32)
    starts = window_starts()
    late = 1 if bad == "shifted-windows" else 0
    rows = np.minimum(starts[:, None] + np.arange(BLOCK) + late, ENDS[-1] - 1)
    windows = tokens.astype(np.float64)[rows]
    out = np.einsum("jlnd,ln->jnd", windows, weight.astype(np.float64)).astype(np.float32)

    gradient = random.standard_normal(out.shape, dtype=np.float32)
    wide = gradient.astype(np.float64)
    of_tokens = np.zeros(tokens.shape)
    for window, start in enumerate(starts):
        of_tokens[start:start + BLOCK] += weight.astype(np.float64)[:, :, None] * wide[window]
    products = tokens.astype(np.float64)[starts[:, None] + np.arange(BLOCK)] * wide[:, None]  # window, row, head, column
    of_weight = products.sum((0, 3))
    if bad == "half-accumulator":
        of_weight = np.zeros(weight.shape, np.float16)
        for term in np.moveaxis(products, 3, 1).reshape(-1, *weight.shape):
            of_weight = (of_weight + term).astype(np.float16)

    call = "NPU.npu_nsa_compress.0"
    dump.forward(call, [tokens, weight, BLOCK, STRIDE], {"actual_seq_len": ENDS}, [out])
    dump.backward(call, gradient, [of_tokens.astype(np.float32), of_weight.astype(np.float32)])


def optimizer_step(dump, random, bad):
    shape, step, lr, ema_decay, beta1, beta2, eps, decay = (64, 48), 3, 1e-3, 0.999, 0.9, 0.999, 1e-8, 0.01
    grad, var, m = (random.standard_normal(shape, dtype=np.float32) for _ in range(3))
    v, s = random.random(shape, dtype=np.float32), var * np.float32(0.9)
    g, x, m1, v1, s1 = (tensor.astype(np.float64) for tensor in (grad, var, m, v, s))
    m1 = beta1 * m1 + (1 - beta1) * g
    v1 = beta2 * v1 + (1 - beta2) * g * g
    c1, c2 = 1 - beta1 ** step, 1 - beta2 ** step
    if bad == "no-bias-correction":
        c1 = c2 = 1
    x = x - lr * (m1 / c1 / (np.sqrt(v1 / c2) + eps) + decay * x)
    s1 = ema_decay * s1 + (1 - ema_decay) * x
    dump.forward("NPU.npu_apply_fused_ema_adamw.0",
                 [grad, var, m, v, s, np.array([step]), lr, ema_decay, beta1, beta2, eps, 1, True, decay], {},
                 [result.astype(np.float32) for result in (x, m1, v1, s1)])


def embedding(dump, random, bad):
    padding, table = 3, random.standard_normal((40, 24), dtype=np.float32)
    indices = random.integers(0, 40, (8, 25))
    gradient = random.standard_normal((8, 25, 24), dtype=np.float32)
    of_table = np.zeros(table.shape)
    np.add.at(of_table, indices, gradient.astype(np.float64))
    if bad != "padding-row":
        of_table[padding] = 0
    call = "Functional.embedding.0"
    dump.forward(call, [indices, table, padding, None, 2.0, False, False], {}, [table[indices]])
    dump.backward(call, gradient, [of_table.astype(np.float32)])


def bias_gradient(dump, random, bad):
    ends, rows = np.array([30, 31, 100]), random.standard_normal((100, 20), dtype=np.float32)
    groups = np.split(rows.astype(np.float64), ends[:-1])
    sums = np.array([group.sum(0) for group in groups]).astype(np.float32)
    if bad == "one-element":
        sums[1, 7] += 2 * np.spacing(sums[1, 7])  # the group of one row
    dump.forward("NPU.npu_grouped_bias_add_grad.0", [rows, ends, 0], {}, [sums])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a folder that doesn't exist")
    parser.add_argument("--bad", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    options = parser.parse_args()
    dump = Dump(pathlib.Path(options.folder) / "step0" / "rank0")
    random = np.random.default_rng(1)
    for write in (compress, optimizer_step, embedding, bias_gradient):
        write(dump, random, options.bad)
    dump.close()
    bad = f"the error {options.bad}" if options.bad else "no error"
    print(f"{options.folder}: {len(dump.data)} calls with {bad}")


if __name__ == "__main__":
    main()
