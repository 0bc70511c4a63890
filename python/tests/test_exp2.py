# Tests the powers of two of attention's weights, openaclnn._native.exp2_rows.
import zlib

import numpy as np
import pytest

from openaclnn import _native

ULP = 2.0 ** -23


def exp2_rows(values, want_sums=True):
    """Returns the powers of a matrix, and the sums of its rows."""
    powers = np.array(values, np.float32, ndmin=2)
    sums = np.zeros(len(powers), np.float32)
    _native.exp2_rows(powers.ctypes.data, *powers.shape, sums.ctypes.data if want_sums else 0)
    return powers, sums


def test_powers_are_right_to_an_ulp():
    values = np.concatenate([np.linspace(-125, 127.9999, 200_003), np.linspace(-2, 2, 100_003), np.arange(-125, 128)]).astype(np.float32)
    powers, _ = exp2_rows(values)
    right = np.exp2(values.astype(np.float64))
    assert np.max(np.abs(powers[0] - right) / right) <= ULP


def test_whole_numbers_are_exact():
    values = np.arange(-125, 128, dtype=np.float32)
    assert np.array_equal(exp2_rows(values)[0][0], np.exp2(values.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("value, power", [(-np.inf, 0), (-3e38, 0), (-1e9, 0), (-125.00001, 0), (-0.0, 1), (1e-45, 1), (128, np.inf), (3e38, np.inf),
                                          (np.inf, np.inf), (np.nan, np.nan)], ids=str)
def test_limits(value, power):
    found, sums = exp2_rows([[value, -np.inf]])
    assert np.array_equal(found, [[power, 0]], equal_nan=True)
    assert np.array_equal(sums, [power], equal_nan=True)


@pytest.mark.parametrize("columns", [0, 1, 15, 16, 17, 32, 100, 513])
def test_sums_are_those_of_the_rows(columns):
    values = np.random.default_rng(columns).uniform(-20, 3, (7, columns)).astype(np.float32)
    powers, sums = exp2_rows(values)
    np.testing.assert_allclose(powers, np.exp2(values.astype(np.float64)), rtol=ULP)
    np.testing.assert_allclose(sums, powers.astype(np.float64).sum(1), rtol=2e-6)
    without, untouched = exp2_rows(values, want_sums=False)
    assert np.array_equal(without, powers) and not untouched.any()


def test_bits_are_the_same_on_every_processor():
    values = np.linspace(-130, 129, 16 * 4099 + 5, dtype=np.float64).astype(np.float32).reshape(1, -1)
    powers, sums = exp2_rows(np.minimum(values, 20))
    assert (zlib.crc32(powers.tobytes()), sums.tobytes().hex()) == (2583294757, "0781da50")
