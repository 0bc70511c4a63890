# Steps of optimizers: torch_npu's and MindSpeed's names for operators of this library.
"""npu_apply_adam_w, npu_apply_adam_w_out and npu_apply_fused_ema_adamw."""
from typing import Any

import torch

from openaclnn import _native
from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import invalid
from openaclnn.compat.npu_ops.registry import npu_function
from openaclnn.errors import named_as_called
from openaclnn.torch import kernels, versions

__all__ = ["npu_apply_adam_w", "npu_apply_adam_w_out", "npu_apply_fused_ema_adamw"]

_NUMBER, _STATE = supported("any number"), supported("float32, float16, bfloat16; one dtype for all tensors")
_STEP = {**dict.fromkeys(("beta1_power", "beta2_power", "lr", "weight_decay", "beta1", "beta2", "epsilon"), _NUMBER),
         **dict.fromkeys(("grad", "var", "m", "v"), _STATE), "max_grad_norm": supported("None, or a tensor like var"),
         "amsgrad": supported("None, True, False"), "maximize": supported("None, True, False")}
_STEP_WITH_OUT = {**{key: argument for key, argument in _STEP.items() if key not in ("var", "m", "v")},
                  "out": supported("(var, m, v), updated in place").but("None", "RuntimeError: the step needs the state")}
_ADAM = ("float beta1_power, float beta2_power, float lr, float weight_decay, float beta1, float beta2, float epsilon, "
         "Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize")


@npu_function("npu_apply_fused_ema_adamw", arguments={
    **dict.fromkeys(("grad", "var", "m", "v", "s"), supported("float32, float16, bfloat16")),
    "step": supported("an int, or an int64 tensor with one element"), "mode": supported("0 (Adam), 1 (AdamW)"),
    "bias_correction": supported("True, False"),
    **dict.fromkeys(("lr", "ema_decay", "beta1", "beta2", "eps", "weight_decay"), _NUMBER)})
@named_as_called
def npu_apply_fused_ema_adamw(grad: torch.Tensor, var: torch.Tensor, m: torch.Tensor, v: torch.Tensor, s: torch.Tensor,
                              step: torch.Tensor | int, lr: float = 1e-3, ema_decay: float = 0.9999, beta1: float = 0.9,
                              beta2: float = 0.999, eps: float = 1e-8, mode: int = 1, bias_correction: bool = True,
                              weight_decay: float = 0.0,
                              ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """One optimizer step in place; returns (var, m, v, s). See openaclnn.apply_fused_ema_adam_."""
    with torch.no_grad():
        _native.apply_fused_ema_adam_(grad, var, m, v, s, step, lr, ema_decay, beta1, beta2, eps, mode, bias_correction,
                                      weight_decay)
        versions.increment_versions([var, m, v, s])
    return var, m, v, s


@npu_function("npu_apply_adam_w", arguments=_STEP_WITH_OUT)
@named_as_called
def npu_apply_adam_w(beta1_power: float, beta2_power: float, lr: float, weight_decay: float, beta1: float, beta2: float,
                     epsilon: float, grad: torch.Tensor, max_grad_norm: torch.Tensor | None, amsgrad: bool | None,
                     maximize: bool | None, *,
                     out: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
                     ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Runs one step of AdamW on out, the tuple (var, m, v), in place; returns it. See aclnnApplyAdamW.

    Parameters
    ----------
    beta1_power, beta2_power : the powers of the previous steps, beta**(t - 1).
    lr, weight_decay, beta1, beta2, epsilon : as in torch.optim.AdamW. They have float32's precision, also for 16-bit tensors.
    grad : the gradient.
    max_grad_norm : with amsgrad, v becomes the larger of this tensor and the new second moment. It does not change.
    amsgrad, maximize : None is False.
    out : (var, m, v). All tensors have one dtype: float32, float16 or bfloat16. 16-bit tensors are widened, updated and
        rounded once.

    Returns
    -------
    (var, m, v)

    Raises
    ------
    RuntimeError : out is None, or the operator refuses the tensors.
    TypeError : an argument has another type or dtype.
    ValueError : tensors share memory.
    """
    if out is None:
        raise invalid("npu_apply_adam_w", "out is None; it must be (var, m, v), which the step updates")
    if not isinstance(out, (tuple, list)) or len(out) != 3:
        raise TypeError(f"npu_apply_adam_w: out is {_short(out)}; a tuple of three tensors (var, m, v) is needed")
    tensors = dict(zip(("var", "m", "v"), out), grad=grad, max_grad_norm=max_grad_norm)
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor) and (tensor is not None or name != "max_grad_norm"):
            raise TypeError(f"npu_apply_adam_w: {name} is {_short(tensor)}; a tensor is needed")
        if tensor is not None and tensor.dtype != out[0].dtype:
            raise TypeError(f"npu_apply_adam_w: {name} is {tensor.dtype} but var is {out[0].dtype}; they must be equal")
    if out[0].dtype not in kernels.FLOATS:
        raise TypeError(f"npu_apply_adam_w: var is {out[0].dtype}; it must be float32, float16 or bfloat16")
    narrow = out[0].dtype != torch.float32
    with torch.no_grad():
        if narrow:
            _require_apart(tensors)
        used = [tensor.float() if narrow and tensor is not None else tensor for tensor in tensors.values()]
        _native.apply_adam_w_by_powers_(*used[:3], beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon, *used[3:],
                                        False if amsgrad is None else amsgrad, False if maximize is None else maximize)
        if narrow:
            for tensor, updated in zip(out, used):
                tensor.copy_(updated)
        else:
            versions.increment_versions(list(out))
    return out[0], out[1], out[2]


@npu_function(f"npu_apply_adam_w.out({_ADAM}, *, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) "
              "-> (Tensor(a!), Tensor(b!), Tensor(c!))", arguments=_STEP, fake=lambda *args, var, m, v: (var, m, v))
def npu_apply_adam_w_out(beta1_power: float, beta2_power: float, lr: float, weight_decay: float, beta1: float, beta2: float,
                         epsilon: float, grad: torch.Tensor, max_grad_norm: torch.Tensor | None, amsgrad: bool | None,
                         maximize: bool | None, var: torch.Tensor, m: torch.Tensor, v: torch.Tensor,
                         ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """npu_apply_adam_w with out=(var, m, v)."""
    return npu_apply_adam_w(beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon, grad, max_grad_norm, amsgrad,
                            maximize, out=(var, m, v))


npu_function("npu_apply_adam_w_out", arguments=_STEP)(npu_apply_adam_w_out)


def _short(value: object) -> str:
    return f"of type {type(value).__name__}" + (f" with {len(value)} entries" if isinstance(value, (tuple, list)) else "")


def _require_apart(tensors: dict[str, Any]) -> None:
    """Rejects states that share memory with themselves or others, as the operator does with its tensors."""
    ends = {}
    for name, tensor in tensors.items():
        if tensor is None or tensor.numel() == 0:
            continue
        reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        ends[name] = tensor.data_ptr(), tensor.data_ptr() + (reach + 1) * tensor.element_size()
        if name in ("var", "m", "v") and any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride())):
            raise ValueError(f"npu_apply_adam_w: {name} has elements that share memory; it cannot be updated")
        for other, (start, end) in ends.items():
            if other != name and other in ("var", "m", "v") and start < ends[name][1] and ends[name][0] < end:
                raise ValueError(f"npu_apply_adam_w: {name} overlaps {other}; they must not share memory")
