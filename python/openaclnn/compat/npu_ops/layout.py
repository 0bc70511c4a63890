# Layouts of tensors: npu_confusion_transpose, and the formats of an NPU's memory, which are only marks here.
"""torch_npu.Format, npu_format_cast, get_npu_format and npu_confusion_transpose."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import torch

from openaclnn.compat.npu_ops.arguments import only, supported
from openaclnn.compat.npu_ops.numbers import invalid
from openaclnn.compat.npu_ops.registry import npu_function
from openaclnn.torch import versions

__all__ = ["Format", "npu_format_cast", "npu_format_cast_", "get_npu_format", "npu_confusion_transpose",
           "npu_confusion_transpose_backward"]


class Format(enum.IntEnum):
    """The formats of torch_npu, by their numbers in CANN."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47


_ANY = supported("any tensor")
_FORMAT = supported("the numbers of torch_npu.Format, or a tensor, whose format is used",
                    "the elements and their order in memory stay").but("other numbers", "RuntimeError: torch_npu has no such format")
_CUSTOM = only(None, why="it belongs to quantised weights", example=torch.int8, others="dtypes")


@npu_function("npu_format_cast(Tensor self, int acl_format, ScalarType? customize_dtype=None) -> Tensor", arguments={
    "input": _ANY, "acl_format": _FORMAT, "customize_dtype": _CUSTOM})
def npu_format_cast(input: torch.Tensor, acl_format: int | torch.Tensor,
                    customize_dtype: torch.dtype | None = None) -> torch.Tensor:
    """Returns a copy of input with the mark of a format, or input itself if it has the format.

    Values and shape do not change: a format says how an NPU arranges elements in memory, and functions here read every tensor
    as ND. get_npu_format reads the mark. The gradient is that of a copy.

    Parameters
    ----------
    input : the tensor.
    acl_format : a number of torch_npu.Format, or a tensor, whose format is used.

    Returns
    -------
    The copy, or input. Inside torch.compile nothing is marked.

    Raises
    ------
    RuntimeError : acl_format is not a format.
    NotImplementedError : customize_dtype is given.
    """
    wanted = _number("npu_format_cast", acl_format)
    if wanted == get_npu_format(input):
        return input
    return _mark(input.clone(), wanted)


@npu_function("npu_format_cast_(Tensor(a!) self, int acl_format) -> Tensor(a!)", arguments={"input": _ANY, "acl_format": _FORMAT})
def npu_format_cast_(input: torch.Tensor, acl_format: int | torch.Tensor) -> torch.Tensor:
    """Marks input with a format and returns it; see npu_format_cast."""
    return _mark(input, _number("npu_format_cast_", acl_format))


def get_npu_format(input: torch.Tensor) -> int:
    """Returns the format that npu_format_cast marked a tensor with, by default 2 (ND). Tensors that share memory share it, unless
    PyTorch is as old as 2.1."""
    if versions.is_compiling():
        return Format.ND
    return getattr(_marked(input), "_openaclnn_npu_format", Format.ND)


_AXES = supported("a permutation of the dimensions")
_SHAPE = supported("a shape with as many elements")
_ORDER = supported("True: permute, then reshape; False: reshape, then permute")


@npu_function("npu_confusion_transpose(Tensor self, int[] perm, SymInt[] shape, bool transpose_first) -> Tensor", arguments={
    "input": _ANY, "perm": _AXES, "shape": _SHAPE, "transpose_first": _ORDER})
def npu_confusion_transpose(input: torch.Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> torch.Tensor:
    """Permutes dimensions and reshapes, in one of both orders.

    Parameters
    ----------
    input : the tensor.
    perm : the dimensions in their new order: those of input if transpose_first, else those of shape.
    shape : the shape to give to input, or to the permuted tensor.
    transpose_first : whether to permute before the shape changes.

    Returns
    -------
    The tensor, of the dtype of input.

    Raises
    ------
    RuntimeError : perm is not a permutation, or shape has another number of elements.
    """
    return _confused("npu_confusion_transpose", input, perm, shape, transpose_first)


@npu_function("npu_confusion_transpose_backward(Tensor grad, int[] perm, SymInt[] shape, bool transpose_first) -> Tensor", arguments={
    "grad": _ANY, "perm": _AXES, "shape": supported("the shape of the forward call's input"),
    "transpose_first": supported("the opposite of the forward call's value")})
def npu_confusion_transpose_backward(grad: torch.Tensor, perm: Sequence[int], shape: Sequence[int],
                                     transpose_first: bool) -> torch.Tensor:
    """Returns the gradient of npu_confusion_transpose.

    Parameters
    ----------
    grad : the gradient of the result.
    perm : as in the forward call.
    shape : the shape of the forward call's input.
    transpose_first : the opposite of the forward call's value.

    Returns
    -------
    The gradient, of shape `shape`.

    Raises
    ------
    RuntimeError : the arguments do not fit together.
    """
    function = "npu_confusion_transpose_backward"
    _require_permutation(function, perm, len(perm))
    if len(perm) != (grad.dim() if transpose_first else len(shape)):
        raise invalid(function, f"perm is {list(perm)} but {'grad' if transpose_first else 'shape'} has "
                                f"{grad.dim() if transpose_first else len(shape)} dimensions")
    inverse = sorted(range(len(perm)), key=lambda place: perm[place] % len(perm))
    if transpose_first:
        return _confused(function, grad, inverse, shape, True)
    return _confused(function, grad, inverse, [shape[one] for one in perm], False)


def _confused(function: str, input: torch.Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> torch.Tensor:
    _require_permutation(function, perm, input.dim() if transpose_first else len(shape))
    try:
        if transpose_first:
            return input.permute(list(perm)).reshape(list(shape))
        return input.reshape(list(shape)).permute(list(perm))
    except RuntimeError:
        raise invalid(function, f"shape is {list(shape)} but there are {input.numel()} elements") from None


def _require_permutation(function: str, perm: Sequence[int], dimensions: int) -> None:
    if sorted(one % max(dimensions, 1) for one in perm) != list(range(dimensions)):
        raise invalid(function, f"perm is {list(perm)}; it must be a permutation of the dimensions 0 to {dimensions - 1}")


def _number(function: str, acl_format: int | torch.Tensor) -> int:
    if isinstance(acl_format, torch.Tensor):
        return get_npu_format(acl_format)
    if acl_format not in Format._value2member_map_:
        raise invalid(function, f"acl_format is {acl_format}; accepted: {', '.join(f'{one.value} ({one.name})' for one in Format)}")
    return int(acl_format)


def _storages_last() -> bool:
    """Returns whether PyTorch keeps the object of a storage, as newer versions do. PyTorch 2.1 makes a new one for each call."""
    tensor = torch.empty(1)
    if versions.VERSION < (2, 1):
        return False
    tensor.untyped_storage()._openaclnn_npu_format = Format.ND  # type: ignore[attr-defined]
    return hasattr(tensor.untyped_storage(), "_openaclnn_npu_format")


MARKS_STORAGES = _storages_last()


def _marked(tensor: torch.Tensor) -> Any:
    """Returns the object that has the mark: the storage, or the tensor if objects of storages don't last."""
    return tensor.untyped_storage() if MARKS_STORAGES else tensor


def _mark(tensor: torch.Tensor, acl_format: int) -> torch.Tensor:
    if not versions.is_compiling():
        _marked(tensor)._openaclnn_npu_format = Format(acl_format)
    return tensor


METHODS = (npu_confusion_transpose, npu_format_cast, npu_format_cast_)  # also methods of tensors
