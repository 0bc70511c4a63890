# torch_npu.testing: the test case, its comparisons, and tensors for tests, on the chosen device.
"""torch_npu.testing, .testcase and .common_utils after `import openaclnn.compat.torch_npu`."""
from __future__ import annotations

import functools
import os
import random
import unittest
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from openaclnn.compat import npu, npu_devices
from openaclnn.compat.npu_ops.layout import npu_format_cast

_Method = TypeVar("_Method", bound=Callable[..., Any])
_HALF_MINIMUM, _MINIMUM = 6e-8, 1e-9  # added to the divisors of relative differences


def get_npu_device() -> str:
    """Returns "npu:" and the number in the environment variable SET_NPU_DEVICE, by default 0."""
    return f"npu:{os.environ.get('SET_NPU_DEVICE', '0')}"


def set_npu_device() -> str:
    """Selects the device of get_npu_device() and returns it."""
    npu_devices.set_device(get_npu_device())
    return get_npu_device()


def create_common_tensor(item: Sequence[Any], minValue: float, maxValue: float,  # noqa: N803
                         device: str | torch.device | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns a tensor of uniform random numbers twice: on the CPU and on the NPU that is chosen.

    item is [dtype of NumPy, format, shape]. The formats are -1, no cast, and 2, ND: see npu_format_cast.
    """
    dtype, acl_format, shape = item
    on_cpu = torch.from_numpy(np.random.uniform(minValue, maxValue, tuple(shape)).astype(dtype))
    on_npu = on_cpu.clone().to(npu_devices.meant(get_npu_device() if device is None else device))
    return on_cpu, on_npu if acl_format == -1 else npu_format_cast(on_npu, acl_format)


def create_dtype_tensor(shape: Sequence[int], dtype: torch.dtype, npu_format: int = -1, min_value: float = -5,
                        max_value: float = 5, no_zero: bool = False,
                        device: str | torch.device | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for a dtype of PyTorch. no_zero replaces zeros by ones."""
    if dtype == torch.bool:
        on_cpu = torch.randint(0, 2, tuple(shape)).bool()
    else:
        on_cpu = torch.from_numpy(np.random.uniform(min_value, max_value, tuple(shape))).to(dtype)
    if no_zero:
        on_cpu = torch.where(on_cpu == 0, torch.ones_like(on_cpu), on_cpu)
    on_npu = on_cpu.clone().to(npu_devices.meant(get_npu_device() if device is None else device))
    return on_cpu, on_npu if npu_format == -1 else npu_format_cast(on_npu, npu_format)


def _skipping(reason: Callable[[], str | None]) -> Callable[[_Method], _Method]:
    """Makes a decorator that skips a test if reason() is a text."""
    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def test(*args: Any, **kwargs: Any) -> Any:
            text = reason()
            if text is not None:
                raise unittest.SkipTest(text)
            return method(*args, **kwargs)

        return test  # type: ignore[return-value]

    return decorate


def SupportedDevices(supported_devices: Sequence[str]) -> Callable[[_Method], _Method]:  # noqa: N802
    """Skips a test unless the name of the device starts like one of these, in its first ten letters."""
    if not isinstance(supported_devices, (list, tuple)):
        raise TypeError(f"supported_devices is of type {type(supported_devices).__name__}; a list of names is needed")

    def reason() -> str | None:
        name = npu.get_device_name(0)
        return None if name[:10] in supported_devices else f"the device is {name}; the test is for {', '.join(supported_devices)}"

    return _skipping(reason)


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable[[_Method], _Method]:  # noqa: N802
    """Skips a test unless there are that many devices."""
    return _skipping(lambda: None if npu.device_count() >= npu_number_needed else
                     f"there are {npu.device_count()} devices; the test needs {npu_number_needed}")


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


class TestCase(unittest.TestCase):
    """unittest.TestCase with comparisons of tensors. Before each test random and PyTorch are seeded with SEED, default 666."""

    npu_device: str
    precision = 1e-5

    @classmethod
    def setUpClass(cls) -> None:
        """Selects the device."""
        super().setUpClass()
        cls.npu_device = set_npu_device()

    def setUp(self) -> None:
        """Seeds the generators of random numbers."""
        seed = int(os.environ.get("SEED", "666"))
        torch.manual_seed(seed)
        random.seed(seed)

    def assertRtolEqual(self, x: Any, y: Any, prec: float = 1e-4, prec16: float = 1e-3,  # noqa: N802
                        auto_trans_dtype: bool = False, message: str | None = None) -> None:
        """Fails unless two arrays, or sequences of arrays in pairs, are equal within a tolerance.

        Dtype, shape and places of NaNs must be equal; auto_trans_dtype first gives x the dtype of y. The tolerance, prec or for
        float16 prec16, is both absolute and relative, and a share of the elements of that size may exceed it. Two tensors of
        bfloat16 must be close in every element.
        """
        if isinstance(x, Sequence) and isinstance(y, Sequence) and not isinstance(x, str):
            self.assertEqual(len(x), len(y), message or "length error")
            for one, other in zip(x, y):
                self.assertRtolEqual(one, other, prec, prec16, auto_trans_dtype, message)
            return
        if all(isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16 for value in (x, y)):
            self._require(x.shape == y.shape, "shape error", message)
            close = torch.allclose(x.detach().cpu().float(), y.detach().cpu().float(), rtol=prec16, atol=prec16, equal_nan=True)
            self._require(close, f"bfloat16 tensors differ by more than {prec16}", message)
            return
        for value in (x, y):
            if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
                self.fail(message or "dtype error: only one of the tensors is bfloat16")
        first, second = _as_array(x), _as_array(y)
        self._require(first.shape == second.shape, f"shape error: {first.shape} and {second.shape}", message)
        if auto_trans_dtype:
            first = first.astype(second.dtype)
        self._require(first.dtype == second.dtype, f"dtype error: {first.dtype} and {second.dtype}", message)
        self._compare(first, second, prec16 if first.dtype == np.float16 else prec, message)

    def _require(self, condition: bool, reason: str, message: str | None) -> None:
        if not condition:
            self.fail(message or reason)

    def _compare(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], tolerance: float, message: str | None) -> None:
        if x.dtype == np.bool_ or x.size == 0:
            self._require(bool(np.array_equal(x, y)), "result error: the arrays differ", message)
            return
        minimum = _HALF_MINIMUM if x.dtype == np.float16 else _MINIMUM
        if np.issubdtype(x.dtype, np.inexact):
            self._require(bool(np.array_equal(np.isnan(x), np.isnan(y))), "result error: NaNs at different places", message)
            keep = ~np.isnan(x) & ~(np.isinf(x) & (x == y))
            x, y = x[keep], y[keep]
        wide = np.complex128 if np.issubdtype(x.dtype, np.complexfloating) else np.float64
        distance = np.abs(x.astype(wide) - y.astype(wide))
        with np.errstate(invalid="ignore"):
            relative = distance / (np.maximum(np.abs(x.astype(wide)), np.abs(y.astype(wide))) + minimum)
        for errors in (distance, relative):
            if np.count_nonzero(~(errors <= tolerance)) <= errors.size * tolerance:
                return
        worst = int(np.argmax(distance))
        self.fail(message or f"result error: element {worst} is {x.flat[worst]} and {y.flat[worst]}; tolerance {tolerance}")

    def assertEqual(self, x: Any, y: Any, prec: float | str | None = None, message: str = "",  # type: ignore[override] # noqa: N802
                    allow_inf: bool = False, exact_dtype: bool | None = None, msg: str | None = None) -> None:
        """Fails unless values are equal; tensors, and numbers beside tensors, up to prec, by default the class's precision."""
        if isinstance(prec, str):  # as the third argument, unittest has the message
            prec, message = None, prec
        text, bound = msg or message or None, self.precision if prec is None else prec
        if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            a, b = torch.as_tensor(x).detach().cpu(), torch.as_tensor(y).detach().cpu()
            self._require(not exact_dtype or a.dtype == b.dtype, f"dtypes differ: {a.dtype} and {b.dtype}", text)
            self._require(a.shape == b.shape, f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}", text)
            self._compare_absolutely(a, b.to(a.dtype), bound, text)
        elif isinstance(x, Mapping) and isinstance(y, Mapping):
            super().assertEqual(set(x), set(y), text)
            for key in x:
                self.assertEqual(x[key], y[key], prec, message, allow_inf, exact_dtype, msg)
        elif isinstance(x, Iterable) and isinstance(y, Iterable) and not isinstance(x, (str, bytes, set, frozenset)):
            first, second = list(x), list(y)
            super().assertEqual(len(first), len(second), text)
            for one, other in zip(first, second):
                self.assertEqual(one, other, prec, message, allow_inf, exact_dtype, msg)
        elif all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (x, y)):
            self._compare_absolutely(torch.tensor(float(x)).double(), torch.tensor(float(y)).double(), bound, text)
        else:
            super().assertEqual(x, y, text)

    def _compare_absolutely(self, a: torch.Tensor, b: torch.Tensor, bound: float, text: str | None) -> None:
        if a.numel() == 0:
            return
        if not (a.is_floating_point() or a.is_complex()):
            worst = (a.double() - b.double()).abs().max().item()
        else:
            self._require(torch.equal(a.isnan(), b.isnan()), "NaNs at different places", text)
            same = a.isnan() | (a == b)
            difference = torch.where(same, torch.zeros_like(a), a - b).abs().double()
            worst = difference.max().item()
        self._require(worst <= bound, f"tensors differ by {worst}; at most {bound} is accepted", text)


    def assertNotEqual(self, x: Any, y: Any, prec: float | str | None = None, message: str = "",  # type: ignore[override] # noqa: N802
                       msg: str | None = None) -> None:
        """Fails if values are equal as in assertEqual."""
        try:
            self.assertEqual(x, y, prec)
        except self.failureException:
            return
        text = prec if isinstance(prec, str) else msg or message or None
        self.fail(text or f"the values are equal: {x!r} and {y!r}")

    def assertAlmostEqual(self, x: Any, y: Any, places: int | None = None, msg: str | None = None,  # type: ignore[override] # noqa: N802
                          delta: float | None = None, allow_inf: bool = False) -> None:
        """Fails unless values are equal up to delta, or to 10 to the power of -places; by default up to the class's precision."""
        bound = delta if delta is not None else None if places is None else 10.0 ** -places
        self.assertEqual(x, y, bound, msg or "", allow_inf)

    def assertTensorsSlowEqual(self, x: torch.Tensor, y: torch.Tensor, prec: float | None = None,  # noqa: N802
                               message: str = "") -> None:
        """Fails unless two tensors are equal as in assertEqual."""
        self.assertEqual(x, y, prec, message)

    def assertObjectIn(self, obj: Any, iterable: Iterable[Any]) -> None:  # noqa: N802
        """Fails unless the object itself, not an equal one, is in the iterable."""
        self._require(any(one is obj for one in iterable), f"object {obj!r} is not in the iterable", None)

    def assertWarns(self, callable: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override] # noqa: N802
        """assertWarns(callable, msg="") fails unless callable() warns. With a class of warnings it is unittest's own method."""
        if isinstance(callable, (type, tuple)):
            return super().assertWarns(callable, *args, **kwargs)
        message = args[0] if args else kwargs.get("msg")
        self._require(bool(_warnings_of(callable)), "the function did not warn", message or None)

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> None:  # noqa: N802
        """Fails if callable() warns."""
        found = _warnings_of(callable)
        self._require(not found, f"the function warned: {', '.join(map(str, found))}", msg or None)


def _warnings_of(function: Callable[[], Any]) -> list[Warning | str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [one.message for one in found]


def run_tests() -> None:
    """Runs the tests of the main module."""
    unittest.main()
