# Dtypes of computations, products, and the errors of wrong arguments: shared by torch_npu's functions.
"""The functions compute with float32 and round once at the end, as the tests of torch_npu's functions do. float64, which an NPU
lacks, is computed with float64, so that torch.autograd.gradcheck works."""
from __future__ import annotations

import torch

from openaclnn.torch import versions

FLOATS = "float32, float16, bfloat16, float64"
_FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def wide_dtype(*tensors: torch.Tensor) -> torch.dtype:
    """Returns the dtype that a computation with these tensors uses: float32, or float64 if one of them has it."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32


def invalid(function: str, reason: str) -> RuntimeError:
    """Returns the error of a call with wrong arguments."""
    return RuntimeError(f"{function}: {reason}")


def require_floats(function: str, **tensors: torch.Tensor) -> None:
    """Raises unless each argument is a tensor of a floating-point dtype that the functions compute with."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{function}: {name} is of type {type(tensor).__name__}; a tensor is needed")
        if tensor.dtype not in _FLOATS:
            raise invalid(function, f"{name} has dtype {short(tensor.dtype)}; accepted: {FLOATS}")


def require_integers(function: str, **tensors: torch.Tensor) -> None:
    """Raises unless each argument is a tensor of int32 or int64."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{function}: {name} is of type {type(tensor).__name__}; a tensor is needed")
        if tensor.dtype not in (torch.int32, torch.int64):
            raise invalid(function, f"{name} has dtype {short(tensor.dtype)}; accepted: int32, int64")


def require_same_dtype(function: str, **tensors: torch.Tensor) -> None:
    """Raises unless the arguments have one floating-point dtype."""
    require_floats(function, **tensors)
    (first, model), *others = tensors.items()
    for name, tensor in others:
        if tensor.dtype != model.dtype:
            raise invalid(function, f"{name} has dtype {short(tensor.dtype)} but {first} has {short(model.dtype)}; "
                                    "they must be equal")


def require_bias(function: str, name: str, bias: torch.Tensor, dtype: torch.dtype) -> None:
    """Raises unless a bias has the dtype of the factors or float32."""
    require_floats(function, **{name: bias})
    if bias.dtype not in (dtype, torch.float32):
        raise invalid(function, f"{name} has dtype {short(bias.dtype)}; accepted: {short(dtype)}, float32")


def require_shape(function: str, name: str, tensor: torch.Tensor, shape: list[int] | torch.Size, meaning: str) -> None:
    """Raises unless a tensor has a shape. `meaning` says where the shape comes from."""
    if list(tensor.shape) != list(shape):
        raise invalid(function, f"{name} has shape {list(tensor.shape)}; it must be {list(shape)}, {meaning}")


def short(dtype: torch.dtype) -> str:
    """Returns the name of a dtype without its module."""
    return str(dtype).replace("torch.", "")


def product(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Returns torch.matmul of tensors in the dtype that they have: torch.autocast does not narrow them."""
    if versions.autocast_dtype() is None:
        return torch.matmul(first, second)
    with torch.autocast("cpu", enabled=False):
        return torch.matmul(first, second)
