# torch_npu without an NPU: its functions that have an operator here, its devices, and torch.npu, on the chosen device.
"""Import openaclnn.compat.torch_npu instead of torch_npu, or before it. If the real torch_npu is loaded, it does not change
torch.

The functions npu_… have the signatures of torch_npu. torch.ops.npu has them except for npu_apply_fused_ema_adamw. The modules of
openaclnn.compat.npu_ops have those that compute with PyTorch's operators. The device "npu" is that of set_device(), by default
the CPU: see openaclnn.compat.npu_devices. torch.npu is openaclnn.compat.npu. torch_npu.testing, optim and profiler are
npu_testing, npu_optim and npu_profiler beside it, and torch_npu.contrib.transfer_to_npu is npu_transfer.
"""
import sys
from typing import TYPE_CHECKING, Any

import torch

import openaclnn.torch
from openaclnn import _native, compat
from openaclnn.compat import npu as npu
from openaclnn.compat import npu_contrib, npu_devices, npu_library, npu_optim, npu_profiler, npu_testing
from openaclnn.compat.npu_devices import set_device as set_device
from openaclnn.compat.npu_ops import layout, registry
from openaclnn.compat.npu_ops.activation import *  # noqa: F403
from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.attention import *  # noqa: F403
from openaclnn.compat.npu_ops.grouped_matmul import *  # noqa: F403
from openaclnn.compat.npu_ops.layout import *  # noqa: F403
from openaclnn.compat.npu_ops.matmul import *  # noqa: F403
from openaclnn.compat.npu_ops.moe import *  # noqa: F403
from openaclnn.compat.npu_ops.moe_routing_map import *  # noqa: F403
from openaclnn.compat.npu_ops.norm import *  # noqa: F403
from openaclnn.compat.npu_ops.registry import npu_function
from openaclnn.compat.npu_ops.rotary import *  # noqa: F403
from openaclnn.errors import named_as_called
from openaclnn.torch import kernels, versions

__version__ = torch.__version__.partition("+")[0]  # torch_npu's version is that of its PyTorch
__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message


_WINDOWS = "int compress_block_size, int compress_stride"
_WINDOW_ARGUMENTS = {
    "input": supported("float32, float16, bfloat16"), "weight": supported("dtype of input"),
    "compress_block_size": supported("windows of any length"), "compress_stride": supported("any"),
    "actual_seq_len": supported("cumulative lengths: list, tuple, array, tensor or None")}
_NUMBER, _STATE = supported("any number"), supported("float32, float16, bfloat16; one dtype for all tensors")
_STEP = {**dict.fromkeys(("beta1_power", "beta2_power", "lr", "weight_decay", "beta1", "beta2", "epsilon"), _NUMBER),
         **dict.fromkeys(("grad", "var", "m", "v"), _STATE), "max_grad_norm": supported("None, or a tensor like var"),
         "amsgrad": supported("None, True, False"), "maximize": supported("None, True, False")}
_ADAM = ("float beta1_power, float beta2_power, float lr, float weight_decay, float beta1, float beta2, float epsilon, "
         "Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize")


if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name)


@npu_function(f"npu_nsa_compress(Tensor input, Tensor weight, {_WINDOWS}, *, SymInt[]? actual_seq_len=None) -> Tensor",
              arguments=_WINDOW_ARGUMENTS)
@named_as_called
def npu_nsa_compress(input: torch.Tensor, weight: torch.Tensor, compress_block_size: int, compress_stride: int, *,
                     actual_seq_len: Any = None) -> torch.Tensor:
    """Token compression of native sparse attention; with gradients. See openaclnn.nsa_compress."""
    windows: torch.Tensor = openaclnn.torch.nsa_compress(input, weight, compress_block_size, compress_stride,
                                                         actual_seq_len=actual_seq_len)
    return windows


@npu_function(f"npu_nsa_compress_grad(Tensor grad, Tensor input, Tensor weight, {_WINDOWS}, *, "
              "SymInt[]? actual_seq_len=None) -> (Tensor, Tensor)",
              arguments={"grad": supported("dtype of input"), **_WINDOW_ARGUMENTS})
@named_as_called
def npu_nsa_compress_grad(grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, compress_block_size: int,
                          compress_stride: int, *, actual_seq_len: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients of npu_nsa_compress for tokens and weights. See openaclnn.nsa_compress_grad."""
    of_tokens, of_weight = openaclnn.torch.nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride,
                                                             actual_seq_len=actual_seq_len)
    return of_tokens, of_weight


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


@npu_function(f"npu_nsa_compress_infer(Tensor input, Tensor weight, Tensor slot_mapping, {_WINDOWS}, int page_block_size, *, "
              "Tensor? block_table=None, SymInt[]? actual_seq_len=None, Tensor(a!) cache) -> Tensor(a!)",
              arguments={**_WINDOW_ARGUMENTS, "slot_mapping": supported("int32"), "page_block_size": supported("any"),
                         "block_table": supported("int32 or None"), "cache": supported("dtype of input; written in place")})
@named_as_called
def npu_nsa_compress_infer(input: torch.Tensor, weight: torch.Tensor, slot_mapping: torch.Tensor, compress_block_size: int,
                           compress_stride: int, page_block_size: int, *, block_table: torch.Tensor | None = None,
                           actual_seq_len: Any = None, cache: torch.Tensor) -> torch.Tensor:
    """Compresses the blocks that the newest tokens complete into cache; returns cache. See
    openaclnn.nsa_compress_with_cache_."""
    return openaclnn.torch.nsa_compress_with_cache_(input, weight, slot_mapping, cache, compress_block_size, compress_stride,
                                                    actual_seq_len, block_table=block_table, page_block_size=page_block_size)


@named_as_called
def npu_apply_adam_w(beta1_power: float, beta2_power: float, lr: float, weight_decay: float, beta1: float, beta2: float,
                     epsilon: float, grad: torch.Tensor, max_grad_norm: torch.Tensor | None, amsgrad: bool | None,
                     maximize: bool | None, *, out: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
                     ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Runs one step of AdamW on out, the tuple (var, m, v), in place; returns it. See aclnnApplyAdamW.

    All tensors have one dtype: float32, float16 or bfloat16. beta1_power and beta2_power are those of the previous steps,
    beta**(t - 1). With amsgrad, v becomes the larger of max_grad_norm, which does not change, and the new second moment.
    Numbers also have float32's precision for 16-bit tensors, which are widened, updated and rounded once. As 16-bit numbers,
    most values of beta2 would be 1.
    """
    if not isinstance(out, (tuple, list)) or len(out) != 3:
        raise TypeError(f"out is {_short(out)}; a tuple of three tensors (var, m, v) is needed")
    tensors = dict(zip(("var", "m", "v"), out), grad=grad, max_grad_norm=max_grad_norm)
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor) and (tensor is not None or name != "max_grad_norm"):
            raise TypeError(f"{name} is {_short(tensor)}; a tensor is needed")
        if tensor is not None and tensor.dtype != out[0].dtype:
            raise TypeError(f"{name} is {tensor.dtype} but var is {out[0].dtype}; they must be equal")
    if out[0].dtype not in kernels.FLOATS:
        raise TypeError(f"var is {out[0].dtype}; it must be float32, float16 or bfloat16")
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
            raise ValueError(f"{name} has elements that share memory; it cannot be updated")
        for other, (start, end) in ends.items():
            if other != name and other in ("var", "m", "v") and start < ends[name][1] and ends[name][0] < end:
                raise ValueError(f"{name} overlaps {other}; they must not share memory")


_PARTS = {"": npu, ".amp": npu.amp, ".memory": npu.memory, ".random": npu.random, ".streams": npu.streams}  # of torch.npu


def _install() -> None:
    if not compat.offer("torch_npu", sys.modules[__name__]):
        return  # the real torch_npu has changed torch itself, or will
    for name, module in _PARTS.items():
        compat.offer(f"torch_npu.npu{name}", module)
    compat.offer("torch_npu.contrib", npu_contrib)
    compat.offer("torch_npu.optim", npu_optim)
    for name in ("", ".profiler"):
        compat.offer(f"torch_npu.profiler{name}", npu_profiler)
    for name in ("", ".testcase", ".common_utils"):
        compat.offer(f"torch_npu.testing{name}", npu_testing)
    npu_devices.install()
    for method in layout.METHODS:
        npu_devices.replace(torch.Tensor, method.__name__, method)
    npu_library.install()
    if not hasattr(torch, "npu"):
        for name, module in _PARTS.items():
            compat.offer(f"torch.npu{name}", module, beside=True)


def uninstall() -> None:
    """Reverts the import: removes torch_npu and torch.npu, and "npu" is no longer translated."""
    npu_devices.uninstall()
    npu_library.uninstall()
    if getattr(torch, "npu", None) is npu:
        del torch.npu
    compat.withdraw("torch.npu", "torch_npu")


_install()
