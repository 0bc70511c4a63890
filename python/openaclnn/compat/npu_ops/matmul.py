# Matrix products: npu_linear and npu_bmmV2, with their gradients.
"""The functions of torch_npu with these names. Products are float32 and rounded once; torch.autocast does not change them."""
from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import (FLOATS, invalid, product, require_bias, require_floats, require_same_dtype,
                                              require_shape, wide_dtype)
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_linear", "npu_linear_backward", "npu_bmmV2", "npu_bmm_v2_mat1_backward", "npu_bmm_v2_mat2_backward"]

_MATRIX, _SECOND = supported(FLOATS), supported("dtype of the first tensor")
_FACTORS = {"mat1": _MATRIX, "mat2": _SECOND}


@npu_function("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", arguments={
    "input": supported(f"{FLOATS}; [M, K]"), "weight": supported("dtype of input; [N, K]"),
    "bias": supported("None, or [N]; dtype of input, or float32")})
def npu_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns input @ weight.T + bias, as torch.nn.functional.linear.

    Parameters
    ----------
    input : [M, K].
    weight : [N, K], of the same dtype.
    bias : [N], or None.

    Returns
    -------
    [M, N], of the dtype of input.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above, or the tensors are on different devices.
    """
    _require_matrices("npu_linear", input, weight)
    result = product(input.to(wide_dtype(input)), weight.to(wide_dtype(input)).t())
    if bias is not None:
        require_bias("npu_linear", "bias", bias, input.dtype)
        require_shape("npu_linear", "bias", bias, [weight.shape[0]], "a number per row of weight")
        result = result + bias.to(result.dtype)
    return result.to(input.dtype)


@npu_function("npu_linear_backward(Tensor grad, Tensor input, Tensor weight) -> (Tensor, Tensor)", arguments={
    "grad": supported("dtype of input; [M, N]"), "input": supported(f"{FLOATS}; [M, K]"),
    "weight": supported("dtype of input; [N, K]")})
def npu_linear_backward(grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients of npu_linear for input and weight, in their dtype. That of bias is grad.sum(0).

    RuntimeError: grad is not [M, N], or an argument that npu_linear refuses.
    """
    _require_matrices("npu_linear_backward", input, weight)
    require_same_dtype("npu_linear_backward", input=input, grad=grad)
    require_shape("npu_linear_backward", "grad", grad, [input.shape[0], weight.shape[0]], "that of the result")
    g, x, w = (tensor.to(wide_dtype(input)) for tensor in (grad, input, weight))
    return product(g, w).to(input.dtype), product(g.t(), x).to(weight.dtype)


@npu_function("npu_bmmV2(Tensor self, Tensor mat2, SymInt[] output_sizes) -> Tensor", arguments={
    "input": _MATRIX, "mat2": _SECOND, "output_sizes": supported("[] for the shape of the product, or another shape")})
def npu_bmmV2(input: torch.Tensor, mat2: torch.Tensor, output_sizes: Sequence[int]) -> torch.Tensor:  # noqa: N802
    """Returns the product of torch.matmul: vectors become matrices and dimensions of batches are expanded.

    Parameters
    ----------
    input, mat2 : the factors, of one dtype.
    output_sizes : the shape of the result; empty: that of the product.

    Returns
    -------
    The dtype of input.

    Raises
    ------
    RuntimeError : the shapes do not fit, or the dtypes differ.
    """
    require_same_dtype("npu_bmmV2", input=input, mat2=mat2)
    _product_shape("npu_bmmV2", input, mat2)
    result = product(input.to(wide_dtype(input)), mat2.to(wide_dtype(input))).to(input.dtype)
    return result if len(output_sizes) == 0 else _reshaped("npu_bmmV2", "output_sizes", result, output_sizes)


@npu_function("npu_bmm_v2_mat1_backward(Tensor grad, Tensor mat1, Tensor mat2, SymInt[] size) -> Tensor", arguments={
    "grad": supported("elements of the product"), **_FACTORS, "size": supported("the shape of the result")})
def npu_bmm_v2_mat1_backward(grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Returns the gradient of npu_bmmV2 for its first factor, in the shape `size`.

    RuntimeError: grad does not have the elements of the product, or factors that npu_bmmV2 refuses.
    """
    g, first, second = _matrices("npu_bmm_v2_mat1_backward", grad, mat1, mat2)
    of_first = product(g, second.transpose(-1, -2)).sum_to_size(first.shape).to(mat1.dtype)
    return _reshaped("npu_bmm_v2_mat1_backward", "size", of_first, size)


@npu_function("npu_bmm_v2_mat2_backward(Tensor grad, Tensor mat1, Tensor mat2, SymInt[] size) -> Tensor", arguments={
    "grad": supported("elements of the product"), **_FACTORS, "size": supported("the shape of the result")})
def npu_bmm_v2_mat2_backward(grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Returns the gradient of npu_bmmV2 for its second factor, in the shape `size`.

    RuntimeError: grad does not have the elements of the product, or factors that npu_bmmV2 refuses.
    """
    g, first, second = _matrices("npu_bmm_v2_mat2_backward", grad, mat1, mat2)
    of_second = product(first.transpose(-1, -2), g).sum_to_size(second.shape).to(mat2.dtype)
    return _reshaped("npu_bmm_v2_mat2_backward", "size", of_second, size)


def _require_matrices(function: str, input: torch.Tensor, weight: torch.Tensor) -> None:
    require_same_dtype(function, input=input, weight=weight)
    for name, tensor in (("input", input), ("weight", weight)):
        if tensor.dim() != 2:
            raise invalid(function, f"{name} has {tensor.dim()} dimensions; accepted: 2")
    if input.device != weight.device:
        raise invalid(function, f"input is on {input.device} but weight is on {weight.device}; they must be on one device")
    if input.shape[1] != weight.shape[1]:
        raise invalid(function, f"weight has shape {list(weight.shape)} but input has {list(input.shape)}; their second dimensions "
                                "must be equal")


def _product_shape(function: str, first: torch.Tensor, second: torch.Tensor) -> list[int]:
    """Returns the shape of a product of matrices or batches of them. A vector counts as a matrix of one row or column."""
    shapes = [[1] * (2 - first.dim()) + list(first.shape), list(second.shape) + [1] * (2 - second.dim())]
    refusal = invalid(function, f"the factors have the shapes {list(first.shape)} and {list(second.shape)}, which have no product")
    if min(first.dim(), second.dim()) == 0 or shapes[0][-1] != shapes[1][-2]:
        raise refusal
    try:
        batch = torch.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    except RuntimeError:
        raise refusal from None
    return [*batch, shapes[0][-2], shapes[1][-1]]


def _matrices(function: str, grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor,
              ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the gradient and the factors as matrices or batches of them, in the dtype of the computation."""
    require_same_dtype(function, mat1=mat1, mat2=mat2)
    require_floats(function, grad=grad)
    shape, dtype = _product_shape(function, mat1, mat2), wide_dtype(mat1)
    if grad.numel() != math.prod(shape):
        raise invalid(function, f"grad has shape {list(grad.shape)}; it must have {math.prod(shape)} elements, as the product")
    first, second = (mat1 if mat1.dim() > 1 else mat1.unsqueeze(0)), (mat2 if mat2.dim() > 1 else mat2.unsqueeze(1))
    return grad.reshape(shape).to(dtype), first.to(dtype), second.to(dtype)


def _reshaped(function: str, name: str, tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    if tensor.numel() != math.prod(shape):
        raise invalid(function, f"{name} is {list(shape)}; it must be a shape of {tensor.numel()} elements")
    return tensor.reshape(list(shape))
