# Rotary position embedding: npu_rotary_mul and its gradient.
"""The functions of torch_npu with these names: input * r1 + rot(input) * r2, with r1 a cosine and r2 a sine."""
from __future__ import annotations

import torch

from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import FLOATS, invalid, product, require_floats, require_shape, wide_dtype
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_rotary_mul", "npu_rotary_mul_backward"]

_INPUT = supported(f"{FLOATS}; 3 or 4 dimensions, the last even", "more than the 896 elements of an NPU are accepted")
_ANGLE = supported("input's shape, with 1 in any dimension but the last")
_MODE = supported("'half', 'interleave'").but("other values", "RuntimeError: they have no rotation")


@npu_function("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor", arguments={
    "input": _INPUT, "r1": _ANGLE, "r2": _ANGLE,
    "rotary_mode": _MODE.unused("any accepted value with rotate", "the matrix then defines the rotation"),
    "rotate": supported("None, or a matrix [D, D]", "it gets no gradient")})
def npu_rotary_mul(input: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor, rotary_mode: str = "half",
                   rotate: torch.Tensor | None = None) -> torch.Tensor:
    """Rotates pairs of elements of the last dimension: input * r1 + rot(input) * r2.

    Parameters
    ----------
    input : the tensor, of 3 or 4 dimensions; the last has an even number D of elements.
    r1, r2 : cosines and sines. Their shapes are that of input, or have 1 in dimensions before the last.
    rotary_mode : "half" pairs the element t with t + D / 2, "interleave" the element 2 t with 2 t + 1. The first element of
        a pair gets the negative second one, and the second the first one.
    rotate : a matrix [D, D]; rot(input) is then input @ rotate, whatever rotary_mode says. It gets no gradient.

    Returns
    -------
    The shape and dtype of input.

    Raises
    ------
    RuntimeError : a shape, dtype or mode is not as above.
    """
    _require("npu_rotary_mul", input, r1, r2, rotary_mode, rotate)
    dtype = wide_dtype(input, r1, r2)
    x = input.to(dtype)
    turned = _rotated(x, rotary_mode) if rotate is None else product(x, rotate.detach().to(dtype))
    return (x * r1.to(dtype) + turned * r2.to(dtype)).to(input.dtype)


@npu_function("npu_rotary_mul_backward(Tensor grad, Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') "
              "-> (Tensor, Tensor, Tensor)",
              arguments={"grad": supported("shape of input"), "input": _INPUT, "r1": _ANGLE, "r2": _ANGLE, "rotary_mode": _MODE})
def npu_rotary_mul_backward(grad: torch.Tensor, input: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor,
                            rotary_mode: str = "half") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the gradients of npu_rotary_mul for input, r1 and r2, all in the dtype of input.

    RuntimeError: grad does not have the shape of input, or an argument that npu_rotary_mul refuses.
    """
    _require("npu_rotary_mul_backward", input, r1, r2, rotary_mode, None)
    require_floats("npu_rotary_mul_backward", grad=grad)
    require_shape("npu_rotary_mul_backward", "grad", grad, input.shape, "that of input")
    dtype = wide_dtype(input, r1, r2)
    g, x = grad.to(dtype), input.to(dtype)
    of_input = g * r1.to(dtype) - _rotated(g * r2.to(dtype), rotary_mode)  # the transposed rotation is the opposite one
    of_angles = (g * x).sum_to_size(r1.shape), (g * _rotated(x, rotary_mode)).sum_to_size(r2.shape)
    return of_input.to(input.dtype), of_angles[0].to(input.dtype), of_angles[1].to(input.dtype)


def _rotated(x: torch.Tensor, mode: str) -> torch.Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)


def _require(function: str, input: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor, mode: str,
             rotate: torch.Tensor | None) -> None:
    if mode not in ("half", "interleave"):
        raise invalid(function, f"The rotary_mode of npu_rotary_mul should be half or interleave, but got {mode}")
    require_floats(function, input=input, r1=r1, r2=r2)
    if input.dim() not in (3, 4):
        raise invalid(function, f"input has {input.dim()} dimensions; accepted: 3, 4")
    size = input.shape[-1]
    if size % 2 != 0 or size == 0:
        raise invalid(function, f"input has shape {list(input.shape)}; the last dimension must have an even number of elements")
    for name, angle in (("r1", r1), ("r2", r2)):
        fits = angle.dim() == input.dim() and angle.shape[-1] == size
        if not fits or any(one not in (1, whole) for one, whole in zip(angle.shape, input.shape)):
            raise invalid(function, f"{name} has shape {list(angle.shape)} but input has {list(input.shape)}; {name} must have "
                                    "that shape, or 1 in dimensions before the last")
    if rotate is not None:
        require_floats(function, rotate=rotate)
        require_shape(function, "rotate", rotate, [size, size], "a matrix for the last dimension of input")
