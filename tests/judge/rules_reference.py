"""The acceptance rules a second time, in NumPy, written from their published definitions and not from src/judge.

judge(pair) returns {rule: "skip", "pass", "warning" or "error"}.
"""

import numpy as np

import reference_msprobe as msprobe
from reference_elements import EPS64, ERROR, FLOATS, PASS, SKIP, WARNING, Compared, accept, bf16_bits, doubles, round_once
from reference_msprobe import LARGEST, LIMITS, level_of


def without_specials(pair):
    """Both sides with 0 where both have NaN or the same Inf. None if such elements are at different places."""
    d, g = doubles(pair.device).ravel(), doubles(pair.golden).ravel()
    if not np.array_equal(np.where(np.isfinite(d), 0, d), np.where(np.isfinite(g), 0, g), equal_nan=True):
        return None
    return np.where(np.isfinite(d), d, 0), np.where(np.isfinite(g), g, 0)


def plain_cosine(d, g):
    largest = [max(np.max(np.abs(x)), 1) for x in (d, g)]
    d, g = d / largest[0], g / largest[1]  # so that no product is beyond the range
    norms = np.linalg.norm(d), np.linalg.norm(g)
    is_zero = [norm * most <= EPS64 for norm, most in zip(norms, largest)]
    return 1.0 if all(is_zero) else np.nan if any(is_zero) else d @ g / (norms[0] * norms[1])


def plain_relative(pair, d, g):
    """In FLOAT, unless one side has another dtype than FLOAT, FLOAT16 and BF16."""
    dtype = np.float32 if {pair.device.dtype, pair.golden.dtype} <= set(FLOATS) else np.float64
    d, g = d.astype(dtype), g.astype(dtype)
    eps = np.where(g == 0, np.finfo(dtype).eps, dtype(0))
    return np.abs((d + eps) - (g + eps)) / np.abs(g + eps)


def share_below(errors, limit):
    return np.count_nonzero(errors < errors.dtype.type(limit)) / errors.size


def compare(pair, c, third):
    """The inputs of both sides are the same, so that their thousandth share and cosine are 1."""
    if c.count == 0 or "COMPLEX" in c.dtype:
        return SKIP
    if np.isfinite(doubles(pair.golden)).all() and not np.isfinite(doubles(pair.device)).all():
        return ERROR
    finite = without_specials(pair)
    if finite is None:
        return ERROR
    if c.count == 1:
        return PASS
    if share_below(plain_relative(pair, *finite), 0.001) < 0.1:
        return ERROR
    return PASS if plain_cosine(*finite) >= 0.9 else WARNING


def msaccucmp(pair, c, third):
    """Has no limits."""
    return SKIP


def mindspore(pair, c, third):
    if c.count == 0 or "COMPLEX" in c.dtype:
        return SKIP
    d, g = doubles(pair.device).ravel(), doubles(pair.golden).ravel()
    value = (1e-8 + d @ g) / (1e-8 + np.linalg.norm(d) * np.linalg.norm(g))
    return accept(value > 0.99 and np.max(np.abs(d - g)) < 0.001)


def graph_compare(pair, c, third):
    if c.count == 0 or "COMPLEX" in c.dtype:
        return SKIP
    finite = without_specials(pair)
    if finite is None:
        return ERROR
    value, largest = plain_cosine(*finite), np.max(np.abs(finite[0] - finite[1]))
    return accept(value >= 0.9 and (value >= 0.99 or largest <= 0.001) and largest <= 1)


def relative_errors(c):
    return np.abs(c.d64 - c.g64) / (np.abs(c.g64) + 1e-7)


def mere_mare(pair, c, third):
    threshold = pair.settings.get("threshold", {"FLOAT": 2.0 ** -13, "FLOAT16": 2.0 ** -10, "BF16": 2.0 ** -7}.get(c.dtype))
    if threshold is None or not c.is_float or c.count == 0:
        return SKIP
    errors = relative_errors(c)
    return accept(errors.mean() < threshold and errors.max() < 10 * threshold)


SMALL_DOMAIN = {"FLOAT16": (2.0 ** -11, 2.0 ** -16), "BF16": (2.0 ** -8, 2.0 ** -16), "FLOAT": (2.0 ** -14, 2.0 ** -30)}


def acceptance(pair, c, third):
    if third is None or c.dtype not in FLOATS or c.count == 0:
        return SKIP
    domain, error = SMALL_DOMAIN[c.dtype]
    small = np.abs(c.g64) < domain

    def figures(one):
        errors, gap = relative_errors(one)[~small], np.abs(one.d64 - one.g64)
        count = np.count_nonzero(~(gap[small] <= error))
        return (errors.max(), errors.mean(), np.sqrt(np.mean(gap[~small] ** 2))) if errors.size else (0, 0, 0), count

    (ours, few), (theirs, other) = figures(c), figures(third)
    ratios = [a / (b + 1e-7) for a, b in zip(ours, theirs)]
    return accept(all(ratio <= limit for ratio, limit in zip(ratios, LIMITS[level_of(pair)])) and few / max(other, 1) <= 2)


def attention(pair, c, third):
    factor = pair.settings.get("threshold", {"BF16": 2.0 ** -7, "FLOAT16": 2.0 ** -8}.get(c.dtype))
    if not c.is_float or (factor is None and c.count):
        return SKIP
    return accept(np.all(np.abs(c.d64 - c.g64) / np.maximum(np.abs(c.g64), 1) <= factor))


def bitwise(pair, c, third):
    device, golden = pair.device.elements, pair.golden.elements
    if pair.golden.dtype == pair.device.dtype:
        return accept(device.tobytes() == golden.tobytes())
    rounded = round_once(c.g64, c.dtype)
    golden = bf16_bits(rounded) if c.dtype == "BF16" else rounded.astype(device.dtype)
    bits = [a.ravel().view(np.uint16 if a.itemsize == 2 else np.uint32) for a in (device, golden)]
    return accept(np.all((bits[0] == bits[1]) | (np.isnan(c.d64) & np.isnan(c.g64))))


ASSERT_CLOSE = {"FLOAT16": (1e-3, 1e-5), "BF16": (1.6e-2, 1e-5), "FLOAT": (1.3e-6, 1e-5), "DOUBLE": (1e-7, 1e-7)}


def close(pair, c, rtol, atol, golden=None):
    """torch.isclose. The settings may have other tolerances. Integers are subtracted exactly."""
    rtol, atol = pair.settings.get("rtol", rtol), pair.settings.get("atol", atol)
    if not c.is_float:
        values = zip(pair.device.elements.ravel().tolist(), pair.golden.elements.ravel().tolist())
        return all(abs(d - g) <= atol + rtol * abs(g) for d, g in values)
    d, g = c.d64, c.g64 if golden is None else golden
    good = (d == g) | (np.isfinite(d) & np.isfinite(g) & (np.abs(d - g) <= atol + rtol * np.abs(g)))
    return np.all(good | (np.isnan(d) & np.isnan(g) & pair.settings.get("equal_nan", False)))


def is_complex(c):
    return "COMPLEX" in c.dtype


def allclose(pair, c, third):
    return SKIP if is_complex(c) else accept(close(pair, c, 1e-5, 1e-8))


def assert_close(pair, c, third):
    return SKIP if is_complex(c) else accept(close(pair, c, *ASSERT_CLOSE.get(c.dtype, (0, 0))))


def flaggems(pair, c, third):
    if is_complex(c):
        return SKIP
    golden = round_once(c.g64, c.dtype) if c.dtype in FLOATS else None
    return accept(close(pair, c, ASSERT_CLOSE.get(c.dtype, (0, 0))[0], 1e-4, golden))


def kernelbench(pair, c, third):
    tolerance = {"FLOAT": 1e-4, "FLOAT16": 1e-2, "BF16": 1e-2}.get(c.dtype)
    return SKIP if tolerance is None else accept(close(pair, c, tolerance, tolerance))


def dynamo(pair, c, third):
    if not c.is_float or (third is None and c.count):
        return SKIP
    if c.count == 0:
        return PASS
    rmse = [np.sqrt(np.mean((one.d64 - one.g64) ** 2)) for one in (c, third)]
    factor = 3 if c.dtype in ("FLOAT16", "BF16") or c.count < 1000 else 2
    return accept(rmse[0] <= factor * rmse[1] + pair.settings.get("threshold", 1e-4) / 10)


def transformer_engine(pair, c, third):
    if not c.is_float:
        return SKIP
    if close(pair, c, *ASSERT_CLOSE[c.dtype]):
        return PASS
    joint = np.concatenate([c.d64, c.g64])
    rmse = np.sqrt(np.mean((c.d64 - c.g64) ** 2))
    return accept(rmse < pair.settings.get("threshold", 0) * (joint.max() - joint.min()))


def openaclnn(pair, c, third):
    if not c.is_float:
        return accept(pair.device.elements.tobytes() == pair.golden.elements.tobytes())
    if c.count == 0:
        return PASS
    if pair.bound is None:
        return SKIP
    precision, least = {"FLOAT": (24, -126), "FLOAT16": (11, -14), "BF16": (8, -126), "DOUBLE": (53, -1022)}[c.dtype]
    d, g, bound = c.d64, c.g64, pair.bound.ravel()
    largest = LARGEST.get(c.dtype, float(np.finfo(np.float64).max))
    exponent = np.where(d == 0, least, np.maximum(np.frexp(d)[1] - 1, least))
    good = np.abs(d - g) <= np.ldexp(0.5, exponent - (precision - 1)) + bound
    # Sums beyond the range may become Inf, or the largest number.
    rounds_to_infinity = largest * (1 + 2.0 ** -precision / (2 - 2.0 ** (1 - precision)))
    same_sign = np.signbit(d) == np.signbit(g)
    beyond = np.abs(g) > largest
    good = np.where(np.isinf(d), same_sign & (beyond | (np.abs(g) + bound >= rounds_to_infinity)), good)
    good |= beyond & same_sign & (np.abs(d) == largest)
    good = np.where(np.isfinite(g), good | np.isnan(bound), (d == g) | (np.isnan(d) & np.isnan(g)))
    return accept(np.all(good))


RULES = {function.__name__.replace("_", "-"): function for function in (
    msprobe.quick, msprobe.benchmark, msprobe.ulp, msprobe.absolute, msprobe.accumulative, msprobe.binary, msprobe.thousandth, msprobe.msprobe_26,
    msprobe.msprobe_8, compare, msaccucmp, mindspore, graph_compare, mere_mare, acceptance, attention, bitwise, allclose, assert_close, flaggems,
    kernelbench, dynamo, transformer_engine, openaclnn)}


def quick_metrics(pair, c):
    if not c.is_float:
        return {}
    limits = (0.01, 0.001) if c.dtype in ("FLOAT16", "BF16") else (0.001, 0.0001)
    return {"max abs error": np.max(c.abs), **{f"share of elements with rel < {limit}": c.share(limit) for limit in limits}}


def compare_metrics(pair, c):
    finite = without_specials(pair)
    if finite is None:
        return {}
    d, g = finite
    rel, most = plain_relative(pair, d, g), max(np.max(np.abs(d - g)), 1)
    metrics = {"max abs error": np.max(np.abs(d - g)), "max rel error": np.max(rel)}
    if c.count > 1:
        metrics |= {"Euclidean distance": most * np.linalg.norm((d - g) / most), "cosine": plain_cosine(d, g)}
        metrics |= {f"share of elements with rel < {limit}": share_below(rel, limit) for limit in (0.001, 0.005)}
    return metrics


def msaccucmp_metrics(pair, c):
    d, g = (doubles(tensor).ravel().astype(np.float32).astype(np.float64) for tensor in (pair.device, pair.golden))
    norms, gap = (np.linalg.norm(d), np.linalg.norm(g)), np.abs(d - g)
    rel = np.where(np.abs(g) <= EPS64, 0, np.abs(d / g - 1))
    zero = [norm <= EPS64 for norm in norms]
    return {"cosine": 1.0 if c.count == 1 or all(zero) else d @ g / (norms[0] * norms[1]), "max abs error": np.max(gap),
            "mean abs error": np.mean(gap), "rmse": np.sqrt(np.mean(gap * gap)), "max rel error": np.max(rel), "mean rel error": np.mean(rel),
            "accumulated rel error": np.sum(rel), "relative Euclidean distance": 0.0 if zero[1] else np.linalg.norm(gap) / norms[1]}


def mere_mare_metrics(pair, c):
    errors = relative_errors(c)
    return {"MERE": np.mean(errors), "MARE": np.max(errors), "RMSE": np.sqrt(np.mean((c.d64 - c.g64) ** 2))}


METRICS = {"quick": quick_metrics, "compare": compare_metrics, "msaccucmp": msaccucmp_metrics, "mere-mare": mere_mare_metrics}


def metrics(pair, rules):
    """Returns {rule: {name: value}} of some rules in METRICS."""
    with np.errstate(all="ignore"):
        device = Compared(pair, pair.device)
        return {name: METRICS[name](pair, device) for name in rules}


def judge(pair):
    if pair.device.elements.shape != pair.golden.elements.shape:
        return {name: ERROR for name in RULES}
    with np.errstate(all="ignore"):
        device = Compared(pair, pair.device)
        third = Compared(pair, pair.third) if pair.third is not None else None
        return {name: rule(pair, device, third) for name, rule in RULES.items()}
