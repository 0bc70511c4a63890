# RMS normalisation: npu_rms_norm, its gradient, and the forms that first add a residual.
"""The functions of torch_npu with these names. y = x * rstd * gamma with rstd = 1 / sqrt(mean(x**2) + epsilon)."""
from __future__ import annotations

import torch

from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import (FLOATS, invalid, require_floats, require_same_dtype, require_shape, short,
                                              wide_dtype)
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_rms_norm", "npu_rms_norm_backward", "npu_add_rms_norm", "npu_add_rms_norm_v2",
           "npu_add_rms_norm_v2_functional"]

_INPUT = supported(FLOATS)
_GAMMA = supported("the last dimensions of the input; its dtype, or float32 with float16 and bfloat16")
_EPSILON = supported("any number")
_RESIDUALS = {"x1": _INPUT, "x2": supported("shape and dtype of x1"), "gamma": _GAMMA, "epsilon": _EPSILON}


@npu_function("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)",
              arguments={"input": _INPUT, "gamma": _GAMMA, "epsilon": _EPSILON})
def npu_rms_norm(input: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-06) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the normalised input, and 1 / RMS. Only the first result has a gradient.

    Parameters
    ----------
    input : the tensor, of any number of dimensions.
    gamma : a factor per element; its shape is that of the last dimensions of input, over which the mean is taken.
    epsilon : added to the mean of squares.

    Returns
    -------
    y : the shape and dtype of input.
    rstd : float32 (float64 for float64), the shape of input with 1 in the dimensions of gamma.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    """
    _require_gamma("npu_rms_norm", "input", input, gamma)
    y, rstd = _normalized(input, gamma, epsilon)
    return y, rstd.detach()


@npu_function("npu_rms_norm_backward(Tensor dy, Tensor self, Tensor gamma, Tensor rstd) -> (Tensor, Tensor)",
              arguments={"dy": supported("shape of input"), "input": _INPUT, "gamma": _GAMMA,
                         "rstd": supported("the second result of npu_rms_norm")})
def npu_rms_norm_backward(dy: torch.Tensor, input: torch.Tensor, gamma: torch.Tensor, rstd: torch.Tensor,
                          ) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients of npu_rms_norm for input and gamma.

    Parameters
    ----------
    dy : the gradient of y.
    input, gamma : as in the forward call.
    rstd : the second result of the forward call. The gradients use these values.

    Returns
    -------
    The gradient of input in its dtype, and that of gamma in float32 (float64 for float64).

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    """
    function = "npu_rms_norm_backward"
    _require_gamma(function, "input", input, gamma)
    require_floats(function, dy=dy, rstd=rstd)
    require_shape(function, "dy", dy, input.shape, "that of input")
    statistics = [*input.shape[:input.dim() - gamma.dim()], *[1] * gamma.dim()]
    require_shape(function, "rstd", rstd, statistics, "that of input with 1 in the dimensions of gamma")
    dtype = wide_dtype(input, gamma)
    dy, x, scale, rstd = (tensor.to(dtype) for tensor in (dy, input, gamma, rstd))
    dims = _dims(input, gamma)
    scaled = dy * scale
    inner = (rstd ** 3 * scaled * x).sum(dims, keepdim=True) / gamma.numel()
    return (scaled * rstd - x * inner).to(input.dtype), (dy * x * rstd).sum_to_size(gamma.shape)


@npu_function("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)",
              arguments=_RESIDUALS)
def npu_add_rms_norm(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-06,
                     ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Adds two tensors and normalises the sum. The sum is rounded to the dtype of x1 before it is normalised.

    Parameters
    ----------
    x1, x2 : the addends, of one shape and dtype.
    gamma, epsilon : as in npu_rms_norm.

    Returns
    -------
    (y, rstd, x) : y and rstd of npu_rms_norm for the sum, and x, the sum. y and x have gradients, which torch_npu does not
    register.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    """
    total = _sum("npu_add_rms_norm", x1, x2, gamma)
    y, rstd = _normalized(total, gamma, epsilon)
    return y, rstd.detach(), total


@npu_function("npu_add_rms_norm_v2(Tensor(a!) x1, Tensor(b!) x2, Tensor gamma, float epsilon=1e-06) -> Tensor",
              arguments=_RESIDUALS)
def npu_add_rms_norm_v2(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-06) -> torch.Tensor:
    """npu_add_rms_norm in place: x1 becomes y and x2 the sum. Returns rstd."""
    y, rstd, total = npu_add_rms_norm(x1, x2, gamma, epsilon)
    x1.copy_(y)
    x2.copy_(total)
    return rstd


@npu_function("npu_add_rms_norm_v2_functional(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) "
              "-> (Tensor, Tensor, Tensor)", arguments=_RESIDUALS)
def npu_add_rms_norm_v2_functional(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-06,
                                   ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the results of npu_add_rms_norm in the order (rstd, y, x)."""
    y, rstd, total = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return rstd, y, total


def _dims(x: torch.Tensor, gamma: torch.Tensor) -> list[int]:
    return list(range(x.dim() - gamma.dim(), x.dim()))


def _normalized(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    wide = x.to(wide_dtype(x, gamma))
    rstd = torch.rsqrt(wide.square().mean(_dims(x, gamma), keepdim=True) + epsilon)
    return (wide * rstd * gamma.to(wide.dtype)).to(x.dtype), rstd


def _sum(function: str, x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    require_same_dtype(function, x1=x1, x2=x2)
    require_shape(function, "x2", x2, x1.shape, "that of x1")
    _require_gamma(function, "x1", x1, gamma)
    return x1 + x2


def _require_gamma(function: str, name: str, x: torch.Tensor, gamma: torch.Tensor) -> None:
    require_floats(function, **{name: x}, gamma=gamma)
    if gamma.dim() == 0 or list(gamma.shape) != list(x.shape[-gamma.dim():]):
        raise invalid(function, f"gamma has shape {list(gamma.shape)} but {name} has {list(x.shape)}; gamma must have the shape "
                                f"of the last dimensions of {name}")
    narrow = x.dtype in (torch.float16, torch.bfloat16)
    if gamma.dtype != x.dtype and not (narrow and gamma.dtype == torch.float32):
        raise invalid(function, f"gamma has dtype {short(gamma.dtype)} but {name} has {short(x.dtype)}; accepted: "
                                f"{short(x.dtype)}{', float32' * narrow}")
