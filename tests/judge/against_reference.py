"""Compares all acceptance rules with rules_reference.py: against_reference.py PAIRS_PROGRAM RULES_PROGRAM [COUNT] [SEED].

The pairs are COUNT results of each operator and their goldens, with errors of every kind.
"""

import collections
import subprocess
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(0)

import pair_stream
import reference_elements
import rules_reference
from pair_stream import Pair, Tensor

FLOATS = ("FLOAT", "FLOAT16", "BF16")
LIMITS = {"FLOAT": (24, -126), "FLOAT16": (11, -14), "BF16": (8, -126)}
APIS = ["", "", "mul", "Torch.add_.0.forward", "NPU.npu_rms_norm.3.backward", "embedding", "matmul", "Functional.conv2d.1.forward", "abs",
        "dropout", "npu_dynamic_quant", "Tensor.__matmul__.0"]
SPECIAL = [np.nan, np.inf, -np.inf]


def tensor_of(dtype, values):
    """Rounds DOUBLE to a floating-point dtype."""
    with np.errstate(over="ignore"):
        if dtype == "BF16":
            return Tensor(dtype, reference_elements.bf16_bits(reference_elements.round_once(values, dtype)))
        return Tensor(dtype, values.astype(dict(pair_stream.DTYPES.values())[dtype]))


class Errors:
    """Functions that change a result or its golden, both DOUBLE, in place."""

    def __init__(self, random, dtype):
        self.random, self.digits, self.least = random, *LIMITS[dtype]

    def some(self, values):
        """One element, a few, or all."""
        if values.size == 0:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.random.random(values.size) < 10 ** self.random.uniform(-4, 0.3)) if self.random.random() < 0.7 else \
            np.array([self.random.integers(values.size)])

    def steps(self, values, golden):
        at = self.some(values)
        spacing = np.ldexp(1.0, np.maximum(np.frexp(values[at])[1] - 1, self.least) - self.digits + 1)
        values[at] += spacing * self.random.choice([-64, -33, -32, -2, -1, 1, 2, 3, 31, 32, 33], at.size if self.random.random() < 0.5 else 1)

    def relative(self, values, golden):
        at = self.some(values)
        values[at] *= 1 + 10 ** self.random.uniform(-8, 1) * self.random.normal(size=at.size)

    def bias(self, values, golden):
        values *= 1 + self.random.choice([1e-5, 9e-4, 1.1e-3, 0.009, 0.011, 0.5])

    def offset(self, values, golden):
        at = self.some(values)
        values[at] += 10 ** self.random.uniform(-30, 4) * self.random.normal(size=at.size)

    def sign(self, values, golden):
        at = self.some(values)
        values[at] = -values[at]

    def zero(self, values, golden):
        values[self.some(values)] = self.random.choice([0.0, -0.0])

    def zero_golden(self, values, golden):
        golden[self.some(golden)] = self.random.choice([0.0, -0.0])

    def all_zero(self, values, golden):
        self.random.choice([values, golden])[...] = 0

    def special(self, values, golden):
        values[self.some(values)] = self.random.choice(SPECIAL)

    def special_golden(self, values, golden):
        golden[self.some(golden)] = self.random.choice(SPECIAL)

    def special_both(self, values, golden):
        at = self.some(values)
        values[at], golden[at] = self.random.choice(SPECIAL), self.random.choice(SPECIAL)

    def special_same(self, values, golden):
        at = self.some(values)
        values[at] = golden[at] = self.random.choice(SPECIAL)

    def scale(self, values, golden):
        """Towards small values, subnormal ones and overflow."""
        factor = 2.0 ** self.random.integers(-40 if self.digits == 11 else -160, 20 if self.digits == 11 else 120)
        values *= factor
        golden *= factor

    def small_some(self, values, golden):
        at = self.some(values)
        factor = 2.0 ** self.random.integers(-30, 0)
        values[at] *= factor
        golden[at] *= factor

    def rounded(self, values, golden):
        values[...] = golden

    def third_kind(self):
        return self.random.choice([self.steps, self.relative, self.bias, self.offset])

    def kinds(self):
        return [self.steps, self.relative, self.bias, self.offset, self.sign, self.zero, self.zero_golden, self.all_zero, self.special,
                self.special_golden, self.special_both, self.special_same, self.scale, self.small_some, self.rounded]


def reshaped(random, arrays):
    """Sometimes longer, so that shares have borders; sometimes 0-d, or empty."""
    kind, size = random.random(), arrays[0].size
    if size and kind < 0.3:
        count = random.choice([1000, 1000, 2000, 10_000]) if kind < 0.1 else size * 4
        return [np.resize(a, count) for a in arrays]
    if size and kind < 0.35:
        return [a.ravel()[0].reshape(()) for a in arrays]
    if kind < 0.36:
        return [a.ravel()[:0] for a in arrays]
    return [a.copy() for a in arrays]


def settings_of(random):
    settings = {"api": str(random.choice(APIS))}
    if random.random() < 0.2:
        settings["level"] = str(random.choice(["L0", "L1", "L2"]))
    if random.random() < 0.7:
        settings["threshold"] = float(2.0 ** random.integers(-14, -3))
    if random.random() < 0.2:
        settings["rtol"] = float(10.0 ** random.uniform(-7, -1))
    if random.random() < 0.2:
        settings["atol"] = float(10.0 ** random.uniform(-9, -1))
    if random.random() < 0.3:
        settings["equal_nan"] = True
    return settings


def changed_floats(random, pair):
    dtype = pair.device.dtype
    golden = reference_elements.doubles(pair.golden)
    bound = pair.bound if pair.bound is not None else np.full(golden.shape, np.nan)
    values, golden, bound = (a.astype(np.float64) for a in reshaped(random, [reference_elements.doubles(pair.device), golden, bound]))
    errors, before = Errors(random, dtype), golden.copy()
    third = golden.copy()
    flat = [a.reshape(-1) for a in (values, golden, third)]
    with np.errstate(all="ignore"):
        for kind in random.choice(errors.kinds(), random.choice([0, 1, 1, 1, 2, 3])):
            kind(flat[0], flat[1])
        errors.third_kind()(flat[2], flat[1])
        changed = golden != before
        bound = np.where(changed & (golden != 0), np.nan if not np.isfinite(golden).all() else bound * np.abs(golden / before), bound)
    has_third = random.random() < 0.6
    if random.random() < 0.1:
        golden_tensor = tensor_of(dtype, golden)
    else:
        golden_tensor = Tensor("DOUBLE", golden)
    return Pair(tensor_of(dtype, values), golden_tensor, bound if pair.bound is not None and random.random() < 0.9 else None,
                tensor_of(dtype, third) if has_third else None, settings_of(random), pair.label)


def changed_integers(random, pair):
    device, golden = reshaped(random, [pair.device.elements, pair.golden.elements])
    if device.size and random.random() < 0.6:
        at = (random.integers(device.size),)
        flat = device.reshape(-1)
        with np.errstate(all="ignore"):
            flat[at] = flat[at] == 0 if pair.device.dtype == "BOOL" else flat[at] + flat.dtype.type(random.integers(1, 3))
    return Pair(Tensor(pair.device.dtype, device), Tensor(pair.golden.dtype, golden), None, None, settings_of(random), pair.label)


def changed(random, pair):
    made = changed_floats(random, pair) if pair.device.dtype in FLOATS else changed_integers(random, pair)
    if random.random() < 0.005:
        made.golden = Tensor(made.golden.dtype, np.append(made.golden.elements.ravel(), made.golden.elements.ravel()[:1]))
        made.bound = None
    return made


def drawn(program, count, random):
    with subprocess.Popen([program, str(count)], stdout=subprocess.PIPE) as process:
        pairs = [changed(random, pair) for _, pair in pair_stream.read_pairs(process.stdout)]
    if process.returncode:
        sys.exit(f"{program} fails")
    return pairs


def compare_verdicts(program, pairs):
    """Returns how often each rule had each result, and [(rule, pair, ours, the reference's)]."""
    seen, different = collections.Counter(), []
    for number, (pair, ours) in enumerate(zip(pairs, pair_stream.judged(program, pairs), strict=True)):
        theirs = rules_reference.judge(pair)
        if ours.keys() != theirs.keys():
            sys.exit(f"the rules differ: {sorted(ours.keys() ^ theirs.keys())}")
        seen.update(ours.items())
        different += [(rule, number, ours[rule], theirs[rule]) for rule in ours if ours[rule] != theirs[rule]]
    return seen, different


def is_near(ours, theirs):
    """The program prints NaN and infinities as null."""
    if ours is None or not np.isfinite(theirs):
        return ours is None and not np.isfinite(theirs)
    return abs(ours - theirs) <= 1e-9 * abs(theirs) + 1e-12


def compare_metrics(program, pairs):
    """Returns how many metrics were compared, and [(metric, pair, ours, the reference's)]. Takes every fifth pair."""
    compared, different = 0, []
    judged = pair_stream.judged(program, pairs[::5], list(rules_reference.METRICS), metrics=True)
    for number, verdicts in zip(range(0, len(pairs), 5), judged, strict=True):
        pair = pairs[number]
        measured = [rule for rule, verdict in verdicts.items() if verdict["metrics"]]
        for rule, theirs in (rules_reference.metrics(pair, measured) if measured else {}).items():
            ours = verdicts[rule]["metrics"]
            names = ours.keys() & theirs.keys()
            compared += len(names)
            different += [(f"{rule}, {name}", number, ours[name], theirs[name]) for name in names if not is_near(ours[name], theirs[name])]
    return compared, different


def main(pairs_program, rules_program, count=1000, seed=1):
    pairs = drawn(pairs_program, int(count), np.random.default_rng(int(seed)))
    seen, verdicts = compare_verdicts(rules_program, pairs)
    compared, metrics = compare_metrics(rules_program, pairs)
    for rule in rules_reference.RULES:
        print(f"{rule:20}" + ", ".join(f"{seen[rule, result]:,} {result}" for result in reference_elements.ORDER if seen[rule, result]))
    operators = collections.Counter(pair.label for pair in pairs)
    print(f"{len(pairs):,} pairs of {len(operators)} operators, at least {min(operators.values()):,} of each: {sum(seen.values()):,} verdicts, "
          f"{len(verdicts):,} differ; {compared:,} metrics, {len(metrics):,} differ")
    for what, number, ours, theirs in (verdicts + metrics)[:50]:
        pair = pairs[number]
        print(f"pair {number}, {what}: {ours}, but the reference says {theirs} ({pair.device.dtype} {pair.device.elements.shape} against "
              f"{pair.golden.dtype}, {pair.settings})")
    return 1 if verdicts or metrics or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
