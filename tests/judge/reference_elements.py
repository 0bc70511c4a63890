"""Numbers of a pair for rules_reference.py: rounding, and one device against the golden. d is the device, g the golden."""

import functools

import numpy as np

SKIP, PASS, WARNING, ERROR = "skip", "pass", "warning", "error"
ORDER = [SKIP, PASS, WARNING, ERROR]
FLOATS = ("FLOAT", "FLOAT16", "BF16")
EPS64 = 2.0 ** -52


def worst(*results):
    return max(results, key=ORDER.index)


def accept(condition):
    return PASS if condition else ERROR


def bf16_values(bits):
    return (bits.ravel().astype(np.uint32) << 16).view(np.float32).reshape(bits.shape)


def bf16_bits(values):
    """Rounds FLOAT to nearest even. NaN becomes the canonical one."""
    bits = values.ravel().astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).reshape(values.shape)
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def doubles(tensor):
    elements = bf16_values(tensor.elements) if tensor.dtype == "BF16" else tensor.elements
    with np.errstate(invalid="ignore"):  # of signaling NaNs
        return elements.astype(np.float64)


def round_once(values, dtype):
    """Rounds DOUBLE to the nearest number of a dtype, ties to even, and widens it again."""
    precision, low, high = {"FLOAT": (24, -126, 127), "FLOAT16": (11, -14, 15), "BF16": (8, -126, 127)}[dtype]
    _, exponent = np.frexp(values)
    step = np.ldexp(1.0, np.maximum(exponent - 1, low) - (precision - 1))
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.where(np.isfinite(values), np.rint(values / step) * step, values)
    return np.where(np.abs(rounded) >= 2.0 ** (high + 1), np.copysign(np.inf, rounded), rounded)


class Compared:
    """One device against the golden, with what several rules need."""

    def __init__(self, pair, device):
        self.dtype, self.shape = device.dtype, device.elements.shape
        self.is_float = self.dtype in FLOATS or self.dtype == "DOUBLE"
        self.count = device.elements.size
        if not self.is_float:
            return
        # msprobe raises goldens of FLOAT16 and BF16 to FLOAT, and of FLOAT to DOUBLE. Differences have the golden's precision.
        self.raised = np.float64 if self.dtype == "DOUBLE" or (self.dtype, pair.golden.dtype) == ("FLOAT", "DOUBLE") else np.float32
        self.d64, self.g64 = doubles(device).ravel(), doubles(pair.golden).ravel()
        self.d, self.g = self.d64.astype(self.raised), self.g64.astype(self.raised)
        self.abs = np.abs(self.d - self.g)
        self.eps = 2.0 ** -8 if self.dtype == "BF16" else float(np.finfo(self.raised).eps)
        self.rel = self.abs / (np.abs(self.g) + self.raised(self.eps))

    @functools.cached_property
    def golden_in_dtype(self):
        """BF16 devices are raised to FLOAT, which is then their dtype."""
        return round_once(self.g.astype(np.float64), "FLOAT" if self.dtype == "BF16" else self.dtype)

    @functools.cached_property
    def finite(self):
        return np.isfinite(self.d64) & np.isfinite(self.golden_in_dtype)

    def small(self, limit):
        return self.finite & (np.abs(self.g) <= limit)

    def share(self, limit):
        return np.count_nonzero(self.rel < self.raised(limit)) / self.count

    @functools.cached_property
    def same_special(self):
        """False if one side has a NaN or infinity that the other does not have."""
        d, g = self.d64, round_once(self.g.astype(np.float64), self.dtype)
        return bool(np.all((np.isfinite(d) & np.isfinite(g)) | (d == g) | (np.isnan(d) & np.isnan(g))))
