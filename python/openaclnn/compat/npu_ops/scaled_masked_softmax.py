# Softmax of attention scores with a scale and a mask: npu_scaled_masked_softmax and its gradient.
"""The functions of torch_npu with these names. Both compute with float32 and round once."""
from __future__ import annotations

import torch

from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import FLOATS, invalid, require_floats, require_shape, wide_dtype
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_scaled_masked_softmax", "npu_scaled_masked_softmax_backward"]

_HIDDEN = -10000.0  # the score of a hidden element: a row of hidden elements only has equal weights
_MASK = supported("bool, broadcastable to x").unused("with fixed_triu_mask", "the mask is triu(ones, diagonal=1)")
_SCALE, _TRIU = supported("any number"), supported("True, False")


@npu_function("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor", arguments={
    "x": supported(FLOATS, "four dimensions of any sizes"), "mask": _MASK, "scale": _SCALE, "fixed_triu_mask": _TRIU})
def npu_scaled_masked_softmax(x: torch.Tensor, mask: torch.Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> torch.Tensor:
    """Returns softmax(where(mask, -10000, x * scale), -1).

    Parameters
    ----------
    x : scores, four dimensions.
    mask : bool, broadcastable to x; True hides the element.
    scale : factor of x.
    fixed_triu_mask : use torch.triu(torch.ones(H, W), diagonal=1) of the last two dimensions instead of mask.

    Returns
    -------
    Shape and dtype of x.

    Raises
    ------
    RuntimeError : x does not have four dimensions or a supported dtype, or mask is not bool or not broadcastable to x.
    """
    require_floats("npu_scaled_masked_softmax", x=x)
    hidden = _hidden("npu_scaled_masked_softmax", "x", x, mask, fixed_triu_mask)
    scores = torch.where(hidden, _HIDDEN, x.to(wide_dtype(x)) * scale)
    return torch.softmax(scores, -1).to(x.dtype)


@npu_function(
    "npu_scaled_masked_softmax_backward(Tensor y_grad, Tensor y, Tensor mask, Scalar scale, bool fixed_triu_mask) -> Tensor",
    arguments={"y_grad": supported(FLOATS, "the shape of y"), "y": supported("the result of npu_scaled_masked_softmax"), "mask": _MASK,
               "scale": _SCALE, "fixed_triu_mask": _TRIU})
def npu_scaled_masked_softmax_backward(y_grad: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, scale: float,
                                       fixed_triu_mask: bool) -> torch.Tensor:
    """Returns the gradient of npu_scaled_masked_softmax for x, in the dtype of y_grad.

    It is scale * y * (y_grad - sum(y_grad * y)), and 0 where the mask hides elements. RuntimeError: y_grad does not have the
    shape of y, or an argument that npu_scaled_masked_softmax refuses.
    """
    name = "npu_scaled_masked_softmax_backward"
    require_floats(name, y_grad=y_grad, y=y)
    require_shape(name, "y_grad", y_grad, y.shape, "that of y")
    hidden = _hidden(name, "y", y, mask, fixed_triu_mask)
    grad, weights = y_grad.to(wide_dtype(y_grad, y)), y.to(wide_dtype(y_grad, y))
    of_scores = weights * (grad - (grad * weights).sum(-1, keepdim=True)) * scale
    return of_scores.masked_fill(hidden, 0).to(y_grad.dtype)


def _hidden(function: str, name: str, x: torch.Tensor, mask: torch.Tensor, fixed_triu_mask: bool) -> torch.Tensor:
    """Returns which elements are hidden: the mask, or the triangle."""
    if x.dim() != 4:
        raise invalid(function, f"{name} has shape {list(x.shape)}; it must have four dimensions")
    if fixed_triu_mask:
        return torch.ones(x.shape[2:], dtype=torch.bool, device=x.device).triu(1)
    if mask.dtype != torch.bool:
        raise invalid(function, f"mask has dtype {mask.dtype}; it must be bool")
    if mask.dim() > 4 or any(size not in (1, whole) for size, whole in zip(reversed(mask.shape), reversed(x.shape))):
        raise invalid(function, f"mask has shape {list(mask.shape)}; it must be broadcastable to {list(x.shape)}")
    return mask
