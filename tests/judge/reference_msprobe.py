"""The rules of msprobe's acc_check for rules_reference.py, with its routings."""

import numpy as np

from reference_elements import EPS64, ERROR, FLOATS, PASS, SKIP, WARNING, accept, doubles, worst

# Facts of msprobe.
SMALL = {"FLOAT16": 2.0 ** -10, "BF16": 2.0 ** -10, "FLOAT": 2.0 ** -20}
RTOL = {"FLOAT16": 2.0 ** -10, "BF16": 2.0 ** -8, "FLOAT": 2.0 ** -20}
BENCHMARK_ATOL = {"FLOAT16": 1e-16, "BF16": 1e-16, "FLOAT": 2.0 ** -30}
ABSOLUTE_ATOL = {"FLOAT16": 2.0 ** -16, "BF16": 1e-16, "FLOAT": 2.0 ** -30}
FLOOR = {"FLOAT16": 2.0 ** -11, "BF16": 2.0 ** -8, "FLOAT": 2.0 ** -14}
ACCUMULATIVE = {"FLOAT16": 2.0 ** -8, "BF16": 2.0 ** -7, "FLOAT": 2.0 ** -11}
BALANCE = {"FLOAT16": 2.0 ** -20, "BF16": 2.0 ** -7, "FLOAT": 2.0 ** -14}
LARGEST = {"FLOAT16": 65504.0, "BF16": 3.3895313892515355e38, "FLOAT": float(np.finfo(np.float32).max)}
LIMITS = {"L0": (10, 2, 2), "L1": (5, 1.5, 1.5), "L2": (2, 1.2, 1.2)}
L1 = "embedding npu_fusion_attention npu_fusion_attention_grad scatter_ scatter_add_".split()
L2 = ("addmm GELU layer_norm matmul mm index one_hot sum nonzero npu_rms_norm npu_rms_norm_backward npu_cross_entropy_loss "
      "npu_cross_entropy_loss_backward").split()
QUANTIZATION = "npu_rms_norm_dynamic_quant npu_dynamic_quant npu_quant_lightning_indexer".split()


def with_in_place(names):
    """x(_) stands for x and x_."""
    for name in names.split():
        yield name.replace("(_)", "")
        if name.endswith("(_)"):
            yield name.replace("(_)", "_")


LISTS = {
    "absolute": set(with_in_place("mul(_) __mul__ __imul__ __rmul__ add(_) __add__ __iadd__ __radd__ div(_) __div__ __idiv__ divide(_) "
                                  "leaky_relu(_) prelu reciprocal(_) rsqrt(_) square(_) sub(_) rsub __isub__ __sub__")),
    "binary": set(with_in_place("abs(_) absolute(_) argmin bitwise_and(_) broadcast_to ceil(_) equal fill_ flatten floor(_) gather greater(_) "
                                "greater_equal(_) histc isfinite isnan less(_) less_equal(_) logical_and(_) logical_not(_) logical_or(_) "
                                "masked_fill(_) max_pool3d maximum minimum neg(_) nonzero not_equal(_) one_hot pad relu reshape round(_) "
                                "select sign(_) sort tile topk transpose(_) tril(_) triu(_) type_as")),
    "ulp": set(with_in_place("__matmul__ addbmm(_) addmm(_) baddbmm(_) bilinear bmm chain_matmul hspmm linear matmul mm mv smm sspaddmm")),
    "thousandth": {"conv1d", "conv2d"},
}


def api_of(pair):
    """mul of Torch.mul.0.forward."""
    parts = pair.settings.get("api", "").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def level_of(pair):
    api = api_of(pair)
    return pair.settings.get("level") or ("L1" if api in L1 else "L2" if api in L2 else "L0")


def cosine(d, g):
    d, g = d.astype(np.float64), g.astype(np.float64)
    largest = np.max(np.abs(d)), np.max(np.abs(g))
    zero = [value <= EPS64 for value in largest]
    if all(zero):
        return np.nan
    if any(zero):
        return 0.0
    d, g = d / largest[0], g / largest[1]
    return d @ g / np.sqrt((d @ d) * (g @ g))


KINDS = {"FLOAT": 0, "FLOAT16": 0, "BF16": 0, "DOUBLE": 0, "BOOL": 1, "UINT8": 1, "INT8": 2, "INT32": 2, "INT64": 2}


def quick(pair, c, third):
    kind = KINDS.get(pair.device.dtype)
    if kind is None or KINDS.get(pair.golden.dtype) != kind:
        return ERROR
    if c.count == 0:
        return SKIP
    if "dropout" in api_of(pair):
        zeros = [np.count_nonzero(tensor.elements == 0) if tensor.dtype != "BF16" else np.count_nonzero(doubles(tensor) == 0)
                 for tensor in (pair.device, pair.golden)]
        return accept(c.count < 100 or abs(zeros[0] - zeros[1]) / c.count < 0.1)
    if not c.is_float:
        if api_of(pair) in QUANTIZATION:
            difference = pair.device.elements.astype(object) - pair.golden.elements.astype(object)
            return accept(np.all(np.abs(difference) <= 1))
        return accept(np.array_equal(pair.device.elements, pair.golden.elements))
    if c.count > 1:
        value = cosine(c.d, c.g)
        if not (np.isnan(value) or value > 0.99):
            return ERROR
    if np.max(c.abs) < 0.001:
        return PASS
    if c.dtype in ("FLOAT16", "BF16"):
        if not c.share(0.01) > 0.99:
            return ERROR
        return PASS if c.share(0.001) > 0.999 else WARNING
    if not c.share(0.001) > 0.999:
        return ERROR
    return PASS if c.share(0.0001) > 0.9999 else WARNING


def share_of(selected, of):
    count = np.count_nonzero(of)
    return np.count_nonzero(selected & of) / count if count else 0.0


def statistics(c):
    """small_err, max_rel, mean_rel and rmse of one device."""
    small = c.small(SMALL[c.dtype])
    normal = c.finite & ~small
    rel = c.rel[normal].astype(np.float64)
    largest, mean = (rel.max(), rel.mean()) if rel.size else (0.0, 0.0)
    m = np.where(normal, c.abs, 0).astype(np.float64)
    n, k = c.count, c.count - np.count_nonzero(normal)
    rmse = np.sqrt(np.mean(m * m) * (n / (n - k + 1e-4) + 1e-4))
    return share_of(c.abs > c.raised(BENCHMARK_ATOL[c.dtype]), small), largest, mean, rmse


def benchmark(pair, c, third):
    if third is None or c.dtype not in FLOATS or c.count == 0:
        return SKIP
    if not c.same_special:
        return ERROR
    result = PASS
    for npu, gpu, limit in zip(statistics(c), statistics(third), (2,) + LIMITS[level_of(pair)]):
        if np.isfinite(npu) and np.isfinite(gpu):
            result = worst(result, accept(npu / max(gpu, FLOOR[c.dtype]) <= limit))
        else:
            result = worst(result, accept((np.isnan(npu) and np.isnan(gpu)) or npu == gpu))
    return result


def ulps(c):
    digits, least = {"FLOAT16": (10, -14), "BF16": (7, -126), "FLOAT": (23, -126)}[c.dtype]
    exponent = np.where(c.g == 0, 0, np.frexp(c.g)[1] - 1)
    errors = np.abs(np.ldexp((c.d - c.g).astype(np.float64), digits - np.maximum(exponent, least)))
    return np.where(np.isfinite(c.g), errors, np.nan)


def ulp(pair, c, third):
    if c.dtype not in FLOATS or c.count == 0:
        return SKIP
    if not c.same_special:
        return ERROR
    limit = 32 if c.dtype == "FLOAT" else 1
    values = ulps(c)
    share = np.count_nonzero(values > limit) / c.count
    is_good = share < 0.001 if c.dtype != "FLOAT" else values.mean() < 64 or share < 0.05
    if third is not None:
        is_good = is_good or share / max(np.count_nonzero(ulps(third) > limit) / c.count, FLOOR[c.dtype]) < 1
    return accept(is_good)


def failing_specials(c, rtol):
    """Elements that are not finite on both sides, and too far apart after clipping to the range of the dtype, in which they are subtracted."""
    narrow = np.float16 if c.dtype == "FLOAT16" else np.float32
    d, g = c.d64[~c.finite], c.g[~c.finite]
    bound = LARGEST[c.dtype]
    gap = np.abs(np.clip(d, -bound, bound).astype(narrow) - np.clip(g, -bound, bound).astype(narrow)) / (np.abs(g) + c.raised(c.eps))
    return np.count_nonzero(~((gap <= rtol) | (np.isnan(d) & np.isnan(g))))


def within_bounds(c, limit, rtol, atol):
    small = c.small(limit)
    normal = c.finite & ~small
    return not (failing_specials(c, rtol) or np.any(c.rel[normal] > rtol) or np.any(c.abs[small] > c.raised(atol)))


def absolute(pair, c, third):
    if c.dtype not in FLOATS or c.count == 0:
        return SKIP
    return accept(within_bounds(c, SMALL[c.dtype], RTOL[c.dtype], ABSOLUTE_ATOL[c.dtype]))


def accumulative(pair, c, third):
    if c.dtype not in FLOATS or c.count == 0:
        return SKIP
    bound = ACCUMULATIVE[c.dtype]
    sign = np.sign(c.d64 - c.golden_in_dtype)
    balance = abs(np.count_nonzero(sign > 0) - np.count_nonzero(sign < 0)) / c.count
    return accept(within_bounds(c, 1, bound, bound) and balance <= BALANCE[c.dtype])


def binary(pair, c, third):
    if c.count == 0 or "COMPLEX" in c.dtype:
        return SKIP
    if c.is_float:
        return accept(np.array_equal(c.d, c.g))
    return accept(np.array_equal(pair.device.elements, pair.golden.elements))


def thousandth(pair, c, third):
    if c.dtype not in FLOATS or c.count == 0:
        return SKIP
    return accept(c.share(0.001) >= 0.999)


def msprobe_26(pair, c, third):
    detail = benchmark if c.is_float else binary
    return worst(quick(pair, c, third), detail(pair, c, third))


def msprobe_8(pair, c, third):
    level_0 = type(pair)(pair.device, pair.golden, pair.bound, pair.third, {**pair.settings, "level": "L0"})
    name = next((name for name, apis in LISTS.items() if api_of(pair) in apis), "benchmark") if c.is_float else "binary"
    detail = {"absolute": absolute, "binary": binary, "ulp": ulp, "thousandth": thousandth, "benchmark": benchmark}[name]
    return worst(quick(pair, c, third), SKIP if c.dtype == "DOUBLE" else detail(level_0, c, third))
