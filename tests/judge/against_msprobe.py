"""Compares the rule quick with mindstudio-probe on random pairs: against_msprobe.py PROGRAM [COUNT] [SEED]."""

import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from msprobe.pytorch.api_accuracy_checker.compare.compare import Comparator
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(0)

DTYPES = [(0, torch.float32, np.uint32), (1, torch.float16, np.uint16), (27, torch.bfloat16, np.uint16)]


def random_pair(random):
    code, dtype, bits = DTYPES[random.integers(3)]
    golden = random.normal(size=random.integers(1, 2500)) * 10.0 ** random.integers(-4, 4)
    error = 10.0 ** random.uniform(-6, 0)
    wrong = random.random(golden.size) < 10.0 ** random.uniform(-4, 0)
    values = golden * (1 + wrong * error * random.normal(size=golden.size))
    if random.random() < 0.2:
        values[random.integers(values.size)] = random.choice([np.nan, np.inf, -np.inf])
    if random.random() < 0.1:
        golden[random.integers(golden.size)] = random.choice([np.nan, np.inf, 0])
    return code, torch.tensor(values).to(dtype), golden, bits


def words_of(code, device, golden, bits):
    whole = torch.int32 if bits is np.uint32 else torch.int16
    yield from ("quick", str(code), str(golden.size))
    yield from (f"{one:x}" for one in device.view(whole).numpy().view(bits))
    yield from (float(one).hex() for one in golden)


def main(program, count=1000, seed=1):
    random = np.random.default_rng(int(seed))
    pairs = [random_pair(random) for _ in range(int(count))]
    text = " ".join(word for pair in pairs for word in words_of(*pair))
    ours = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        comparator = Comparator(f"{folder}/result.csv", f"{folder}/details.csv", False, config=None)
        theirs = []
        for code, device, golden, _ in pairs:
            raised = torch.tensor(golden).to(torch.float64 if code == 0 else torch.float32)
            theirs.append(comparator._compare_core_wrapper("mul", raised, device, False)[0])
    different = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    print({name: theirs.count(name) for name in sorted(set(theirs))})
    print(f"{len(pairs) - len(different)} of {len(pairs)} verdicts are equal")
    for i in different:
        print(f"pair {i}: {ours[i]}, but msprobe says {theirs[i]} ({pairs[i][1].dtype}, {pairs[i][2].size} elements)")
    return 1 if different or len(ours) != len(pairs) else 0


sys.exit(main(*sys.argv[1:]))
