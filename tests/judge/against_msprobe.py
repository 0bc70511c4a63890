"""Compares rules with mindstudio-probe on random pairs: against_msprobe.py PROGRAM [COUNT] [SEED].

COUNT pairs are for quick, and for the metrics of ulp, absolute, accumulative and thousandth. A tenth of them are for compare and for benchmark.
"""

import collections
import sys
import tempfile

try:
    import numpy as np
    import torch
    import msprobe_details
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(0)

import msprobe_dumps
import pair_stream
from pair_stream import Pair, Tensor

DTYPES = {"FLOAT": torch.float32, "FLOAT16": torch.float16, "BF16": torch.bfloat16}


def rounded(dtype, values):
    tensor = torch.tensor(values).to(DTYPES[dtype])
    return Tensor(dtype, tensor.view(torch.int16).numpy().view(np.uint16) if dtype == "BF16" else tensor.numpy())


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
    return Pair(rounded(dtype, values), Tensor("DOUBLE", golden))


def quick_of_msprobe(pairs):
    with tempfile.TemporaryDirectory() as folder:
        comparator = msprobe_details.comparator(folder)
        for pair in pairs:
            yield comparator._compare_core_wrapper("mul", msprobe_details.golden_of(pair), msprobe_dumps.tensor_of(pair.device), False)[0]


def compare_quick(program, count, random):
    """Returns how many verdicts differ."""
    pairs = [random_pair(random) for _ in range(count)]
    ours = [verdicts["quick"] for verdicts in pair_stream.judged(program, pairs, ["quick"])]
    theirs = list(quick_of_msprobe(pairs))
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print(f"quick: {len(pairs) - len(different):,} of {len(pairs):,} verdicts are equal", dict(sorted(collections.Counter(theirs).items())))
    for i in different:
        print(f"pair {i}: {ours[i]}, but msprobe says {theirs[i]} ({pairs[i].device.dtype}, {pairs[i].golden.elements.size:,} elements)")
    return len(different)


NUMPY_DTYPES = {name: dtype for name, dtype in pair_stream.DTYPES.values() if name in ("DOUBLE", "INT8", "INT32", "INT64", "UINT8", "BOOL")}


def random_dumped_pair(random):
    """Both sides have one dtype, as msprobe compare requires."""
    dtype = str(random.choice([*DTYPES, *DTYPES, *NUMPY_DTYPES]))
    if dtype in DTYPES or dtype == "DOUBLE":
        pair = random_pair(random)
        golden = pair.golden.elements
        wrong = random.random(golden.size) < random.choice([0.1, 0.5, 0.95, 1])
        values = golden * (1 + wrong * 10.0 ** random.uniform(-5, 1) * random.normal(size=golden.size))
        for side in (values, golden):
            if random.random() < 0.05:
                side[random.integers(side.size)] = random.choice([np.nan, np.inf, -np.inf])
            if random.random() < 0.1:
                side[random.random(side.size) < random.choice([0.5, 1.1])] *= random.choice([0, 1e-25])
        if random.random() < 0.1:
            values[0], golden[0] = [float(x) for x in random.choice([np.nan, np.inf, -np.inf], 2)]
        tensors = [Tensor(dtype, values), Tensor(dtype, golden)] if dtype == "DOUBLE" else [rounded(dtype, values), rounded(dtype, golden)]
    else:
        low, high = (0, 2) if dtype == "BOOL" else (0, 256) if dtype == "UINT8" else (-128, 128)
        golden = random.integers(low, high, random.integers(2, 100))  # msprobe's differences of single INT8 elements overflow
        values = np.where(random.random(golden.size) < random.uniform(0, 1.2), random.integers(low, high, golden.size), golden)
        tensors = [Tensor(dtype, values.astype(NUMPY_DTYPES[dtype])), Tensor(dtype, golden.astype(NUMPY_DTYPES[dtype]))]
    return Pair(*tensors)


COLUMNS = {"Cosine": "cosine", "EucDist": "Euclidean distance", "MaxAbsErr": "max abs error", "MaxRelativeErr": "max rel error",
           "One Thousandth Err Ratio": "share of elements with rel < 0.001", "Five Thousandths Err Ratio": "share of elements with rel < 0.005"}


def differing_columns(verdict, row):
    """msprobe prints 12 decimals, and 6 of cosines near 1. Ours has no metric where msprobe has no number, and null for NaN and infinities."""
    for column, name in COLUMNS.items():
        theirs, metrics = row[column].strip(), verdict["metrics"]
        if theirs in ("N/A", "unsupported"):
            is_equal = name not in metrics
        elif not np.isfinite(float(theirs)):
            is_equal = name in metrics and metrics[name] is None
        else:
            allowed = (5.1e-7 if column == "Cosine" else 1e-11) + 1e-9 * abs(float(theirs))
            is_equal = metrics.get(name) is not None and abs(metrics[name] - float(theirs)) <= allowed
        if not is_equal:
            yield f"{name} is {metrics.get(name, 'missing')}, but msprobe says {theirs}"


SPECIALS = "NaN or Inf at different places, or infinities of different signs"
NAN_COSINE = "a cosine of NaN"


def deviation(verdict, row):
    """Returns the deviation of docs/rules.md that applies."""
    if "NaN and Inf are at equal places" in verdict["metrics"]:
        return SPECIALS if verdict["result"] == "error" else None
    if (verdict["result"], row["Result"]) == ("warning", "pass") and row["Cosine"].strip() == "Nan":
        return NAN_COSINE
    return None


def compare_compare(program, count, random):
    """Returns how many results and metrics differ and are not explained."""
    pairs = [random_dumped_pair(random) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        rows = msprobe_dumps.compared(pairs, folder)
    wrong, explained = [], collections.Counter()
    for number, (verdicts, row) in enumerate(zip(pair_stream.judged(program, pairs, ["compare"], metrics=True), rows, strict=True)):
        verdict = verdicts["compare"]
        why = deviation(verdict, row)
        explained.update([why] if why else [])
        if verdict["result"] != row["Result"] and why is None:
            wrong.append(f"pair {number}: {verdict['result']}, but msprobe says {row['Result']} {row['Err_message']}")
        if why != SPECIALS:
            device = pairs[number].device
            wrong += [f"pair {number} ({device.dtype} {device.elements.shape}): {text}" for text in differing_columns(verdict, row)]
    results = collections.Counter(row["Result"] for row in rows)
    print(f"compare: {len(pairs):,} pairs, {len(wrong):,} results and metrics differ", dict(sorted(results.items())))
    print("explained by docs/rules.md:", dict(explained))
    print("\n".join(wrong[:50]))
    return len(wrong)


RATIOS = {"小值域错误比值": "ratio of small errors", "均方根误差比值": "ratio of rmse", "相对误差最大值比值": "ratio of max rel",
          "相对误差平均值比值": "ratio of mean rel", "误差均衡性比值": "ratio of balances"}


def random_pair_with_third(random):
    """Errors of both devices have sizes whose ratio is near the limits. Some values are small."""
    dtype = str(random.choice(list(DTYPES)))
    golden = random.normal(size=random.integers(1, 1500)) * 10.0 ** random.integers(-3, 3)
    golden[random.random(golden.size) < random.choice([0, 0.3])] *= 10.0 ** random.uniform(-8, -3)
    error = 10.0 ** random.uniform(-3, 0) if dtype != "FLOAT" else 10.0 ** random.uniform(-6, -2)
    device, third = (golden * (1 + size * random.normal(size=golden.size)) for size in (error * 10.0 ** random.uniform(-0.3, 1.2), error))
    for side in (device, golden, third):
        if random.random() < 0.05:
            side[random.integers(side.size)] = random.choice([np.nan, np.inf, -np.inf])
    api = str(random.choice(["mul", "matmul", "embedding", "scatter_add_", "layer_norm", "npu_rms_norm_backward", "add"]))
    return Pair(rounded(dtype, device), Tensor("DOUBLE", golden), third=rounded(dtype, third), settings={"api": api})


def differing_ratios(verdict, row):
    """The tables of msprobe have 14 decimals and sums in FLOAT."""
    for column, name in RATIOS.items():
        ours, theirs = verdict["metrics"][name], float(row[column])
        if ours is None or not np.isfinite(theirs):
            if ours is not None or np.isfinite(theirs):
                yield f"{name} is {ours}, but msprobe says {theirs}"
        elif abs(ours - theirs) > 1e-4 * abs(theirs) + 1e-8:
            yield f"{name} is {ours}, but msprobe says {theirs}"


def compare_benchmark(program, count, random):
    """Returns how many verdicts and ratios differ and are not explained."""
    pairs = [random_pair_with_third(random) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        rows = msprobe_details.compared(pairs, folder)
    wrong, explained = [], 0
    for number, (verdicts, row) in enumerate(zip(pair_stream.judged(program, pairs, ["benchmark"], metrics=True), rows, strict=True)):
        verdict = verdicts["benchmark"]
        wrong += [f"pair {number} ({pairs[number].device.dtype}): {text}" for text in differing_ratios(verdict, row)]
        if verdict["result"] == row["比对结果"]:
            continue
        if verdict["result"] == "error" and verdict["metrics"]["elements with NaN or Inf on one side"] > 0:
            explained += 1
        else:
            wrong.append(f"pair {number}: {verdict['result']}, but msprobe says {row['比对结果']}")
    print(f"benchmark: {len(pairs):,} pairs, {len(wrong):,} verdicts and ratios differ", dict(collections.Counter(row["比对结果"] for row in rows)))
    print(f"explained by docs/rules.md: {explained} with NaN or Inf on one side")
    print("\n".join(wrong[:50]))
    return len(wrong)


SHARES = {"inf_nan_error_ratio": "share of NaN and Inf that fail", "rel_err_ratio": "share of normal elements with too large rel",
          "abs_err_ratio": "share of small elements with too large abs"}
DETAILS = {"ulp": {"max_ulp_error": "max ulp error", "mean_ulp_error": "mean ulp error"}, "absolute": SHARES,
           "accumulative": {**SHARES, "eb": "balance of error signs"}, "thousandth": {"rel_err_thousandth": "share of elements with rel < 0.001"}}


def has_wrong_exponents(golden):
    """True if logarithms, rounded to the dtype of the golden, give an element another exponent. Then msprobe's ulps are half of the right ones."""
    values = np.abs(golden[np.isfinite(golden) & (golden != 0)])
    return not np.array_equal(np.floor(np.log2(values)), np.frexp(values)[1] - 1)


def differing_details(pair, verdicts, columns):
    share = "share of elements above 32 ulps" if pair.device.dtype == "FLOAT" else "share of elements above 1 ulp"
    for rule, names in DETAILS.items():
        for column, name in {**names, **({"ulp_error_proportion": share} if rule == "ulp" else {})}.items():
            ours, theirs = verdicts[rule]["metrics"][name], float(getattr(columns[rule], column))
            if ours is None or not np.isfinite(theirs):
                is_equal = ours is None and not np.isfinite(theirs)
            else:
                is_equal = abs(ours - theirs) <= 1e-5 * abs(theirs)  # msprobe has FLOAT for 16-bit dtypes
            if not is_equal:
                yield f"{rule}, {name} is {ours}, but msprobe says {theirs}"


def compare_details(program, count, random):
    """Returns how many metrics differ."""
    pairs = [random_pair_with_third(random) for _ in range(count)]
    for pair in pairs:
        pair.third = None
    wrong, explained = [], 0
    for number, (pair, verdicts) in enumerate(zip(pairs, pair_stream.judged(program, pairs, list(DETAILS), metrics=True), strict=True)):
        with np.errstate(all="ignore"):
            columns = msprobe_details.metrics(pair)
        if has_wrong_exponents(msprobe_details.golden_of(pair).numpy()):
            explained += 1
            continue
        wrong += [f"pair {number} ({pair.device.dtype} {pair.device.elements.shape}): {text}" for text in differing_details(pair, verdicts, columns)]
    print(f"ulp, absolute, accumulative and thousandth: {len(pairs):,} pairs, {len(wrong):,} metrics differ")
    print(f"explained by docs/rules.md: {explained} with rounded exponents")
    print("\n".join(wrong[:50]))
    return len(wrong)


def main(program, count=1000, seed=1):
    random = np.random.default_rng(int(seed))
    different = [compare(program, int(count), random) for compare in (compare_quick, compare_details)]
    different += [compare(program, int(count) // 10, random) for compare in (compare_compare, compare_benchmark)]
    return 1 if any(different) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
