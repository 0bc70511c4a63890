"""Compares the rule quick with mindstudio-probe on random pairs: against_msprobe.py PROGRAM [COUNT] [SEED]."""

import sys
import tempfile

try:
    import numpy as np
    import torch
    from msprobe.pytorch.api_accuracy_checker.compare.compare import Comparator
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(0)

import pair_stream
from pair_stream import Pair, Tensor

DTYPES = {"FLOAT": torch.float32, "FLOAT16": torch.float16, "BF16": torch.bfloat16}


def tensor_of(tensor):
    elements = torch.tensor(tensor.elements if tensor.dtype != "BF16" else tensor.elements.view(np.int16))
    return elements.view(torch.bfloat16) if tensor.dtype == "BF16" else elements


def random_pair(random):
    dtype = str(random.choice(list(DTYPES)))
    golden = random.normal(size=random.integers(1, 2500)) * 10.0 ** random.integers(-4, 4)
    error = 10.0 ** random.uniform(-6, 0)
    wrong = random.random(golden.size) < 10.0 ** random.uniform(-4, 0)
    values = golden * (1 + wrong * error * random.normal(size=golden.size))
    if random.random() < 0.2:
        values[random.integers(values.size)] = random.choice([np.nan, np.inf, -np.inf])
    if random.random() < 0.1:
        golden[random.integers(golden.size)] = random.choice([np.nan, np.inf, 0])
    if random.random() < 0.2:  # errors of a few steps of the dtype, which meet the limits exactly
        golden = torch.tensor(golden).to(DTYPES[dtype]).double().numpy()
        values = golden * (1 + random.choice([0.01, 0.001, 0.0001]) * random.choice([-1, 0, 1], golden.size))
    device = torch.tensor(values).to(DTYPES[dtype])
    bits = device.view(torch.int16).numpy().view(np.uint16) if dtype == "BF16" else device.numpy()
    return Pair(Tensor(dtype, bits), Tensor("DOUBLE", golden))


def quick_of_msprobe(pairs):
    with tempfile.TemporaryDirectory() as folder:
        comparator = Comparator(f"{folder}/result.csv", f"{folder}/details.csv", False, config=None)
        for pair in pairs:
            golden = torch.tensor(pair.golden.elements).to(torch.float64 if pair.device.dtype == "FLOAT" else torch.float32)
            yield comparator._compare_core_wrapper("mul", golden, tensor_of(pair.device), False)[0]


def main(program, count=1000, seed=1):
    random = np.random.default_rng(int(seed))
    pairs = [random_pair(random) for _ in range(int(count))]
    ours = [verdicts["quick"] for verdicts in pair_stream.judged(program, pairs, ["quick"])]
    theirs = list(quick_of_msprobe(pairs))
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print({name: theirs.count(name) for name in sorted(set(theirs))})
    print(f"{len(pairs) - len(different):,} of {len(pairs):,} verdicts are equal")
    for i in different:
        print(f"pair {i}: {ours[i]}, but msprobe says {theirs[i]} ({pairs[i].device.dtype}, {pairs[i].golden.elements.size:,} elements)")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
