# Activations: npu_swiglu, npu_gelu, npu_fast_gelu, and their gradients.
"""The functions of torch_npu with these names. Each computes with float32 and rounds once."""
from __future__ import annotations

import torch
import torch.nn.functional

from openaclnn.compat.npu_ops.arguments import only, supported
from openaclnn.compat.npu_ops.numbers import FLOATS, invalid, require_floats, require_shape, wide_dtype
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_swiglu", "npu_swiglu_backward", "npu_gelu", "npu_gelu_backward", "npu_fast_gelu", "fast_gelu",
           "npu_fast_gelu_backward"]

_INPUT = supported(FLOATS)
_GRAD = supported("shape of the result")
_DIM = supported("a dimension of input with an even number of elements")
_APPROXIMATE = only("none", "tanh", why="GELU has these two forms", example="erf", kind=RuntimeError)
_SLOPE = 1.702  # of the sigmoid that approximates the error function


@npu_function("npu_swiglu(Tensor self, int dim=-1) -> Tensor", arguments={"input": _INPUT, "dim": _DIM})
def npu_swiglu(input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Returns silu(A) * B, where A and B are the first and the second half of input.

    Parameters
    ----------
    input : the tensor.
    dim : the dimension that is halved; it has an even number of elements.

    Returns
    -------
    The dtype of input, and its shape with half the elements in dim.

    Raises
    ------
    RuntimeError : dim is not a dimension of input, its number of elements is odd, or the dtype is not supported.
    """
    gate, value = _halves("npu_swiglu", input, dim)
    return (torch.nn.functional.silu(gate) * value).to(input.dtype)


@npu_function("npu_swiglu_backward(Tensor grad_output, Tensor self, int dim=-1) -> Tensor",
              arguments={"grad_output": _GRAD, "input": _INPUT, "dim": _DIM})
def npu_swiglu_backward(grad_output: torch.Tensor, input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Returns the gradient of npu_swiglu for input, in its shape and dtype.

    RuntimeError: grad_output does not have the shape of the result, or an argument that npu_swiglu refuses.
    """
    gate, value = _halves("npu_swiglu_backward", input, dim)
    require_floats("npu_swiglu_backward", grad_output=grad_output)
    require_shape("npu_swiglu_backward", "grad_output", grad_output, gate.shape, "that of the result")
    grad, sigmoid = grad_output.to(gate.dtype), torch.sigmoid(gate)
    of_gate = grad * value * (sigmoid + gate * sigmoid * (1 - sigmoid))
    return torch.cat((of_gate, grad * gate * sigmoid), dim).to(input.dtype)


@npu_function("npu_gelu(Tensor self, *, str approximate='none') -> Tensor",
              arguments={"input": _INPUT, "approximate": _APPROXIMATE})
def npu_gelu(input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Returns GELU of input in its dtype: with the error function ("none"), or its approximation by tanh ("tanh").

    RuntimeError: another value of approximate, or a dtype that is not supported.
    """
    require_floats("npu_gelu", input=input)
    return torch.nn.functional.gelu(input.to(wide_dtype(input)), approximate=approximate).to(input.dtype)


@npu_function("npu_gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
              arguments={"grad_output": _GRAD, "input": _INPUT, "approximate": _APPROXIMATE})
def npu_gelu_backward(grad_output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Returns the gradient of npu_gelu for input, in its dtype.

    RuntimeError: grad_output does not have the shape of input, or an argument that npu_gelu refuses.
    """
    grad, x = _with_grad("npu_gelu_backward", "grad_output", grad_output, input)
    of_input: torch.Tensor = torch.ops.aten.gelu_backward(grad, x, approximate=approximate)
    return of_input.to(input.dtype)


def _fast_gelu(input: torch.Tensor) -> torch.Tensor:
    require_floats("npu_fast_gelu", input=input)
    x = input.to(wide_dtype(input))
    return (x * torch.sigmoid(_SLOPE * x)).to(input.dtype)


@npu_function("npu_fast_gelu(Tensor self) -> Tensor", arguments={"input": _INPUT})
def npu_fast_gelu(input: torch.Tensor) -> torch.Tensor:
    """Returns x * sigmoid(1.702 * x) in the dtype of input. RuntimeError: the dtype is not supported."""
    return _fast_gelu(input)


@npu_function("fast_gelu(Tensor self) -> Tensor", arguments={"input": _INPUT})
def fast_gelu(input: torch.Tensor) -> torch.Tensor:
    """npu_fast_gelu under its older name."""
    return _fast_gelu(input)


@npu_function("npu_fast_gelu_backward(Tensor grad, Tensor self) -> Tensor", arguments={"grad": _GRAD, "input": _INPUT})
def npu_fast_gelu_backward(grad: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """Returns the gradient of npu_fast_gelu for input, in its dtype.

    RuntimeError: grad does not have the shape of input, or a dtype is not supported.
    """
    wide, x = _with_grad("npu_fast_gelu_backward", "grad", grad, input)
    sigmoid = torch.sigmoid(_SLOPE * x)
    return (wide * (sigmoid + _SLOPE * x * sigmoid * (1 - sigmoid))).to(input.dtype)


def _halves(function: str, input: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns both halves of input in the dtype of the computation."""
    require_floats(function, input=input)
    if not -input.dim() <= dim < input.dim():
        raise invalid(function, f"dim is {dim} but input has {input.dim()} dimensions; accepted: {-input.dim()} to "
                                f"{input.dim() - 1}")
    if input.shape[dim] % 2 != 0:
        raise invalid(function, f"input has shape {list(input.shape)}; the number of elements in dimension {dim} must be even")
    half = input.shape[dim] // 2
    wide = input.to(wide_dtype(input))
    return wide.narrow(dim, 0, half), wide.narrow(dim, half, half)


def _with_grad(function: str, name: str, grad: torch.Tensor, input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns gradient and input in the dtype of the computation."""
    require_floats(function, **{name: grad}, input=input)
    require_shape(function, name, grad, input.shape, "that of input")
    dtype = wide_dtype(input)
    return grad.to(dtype), input.to(dtype)
