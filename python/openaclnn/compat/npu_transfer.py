# transfer_to_npu of torch_npu: programs written for GPUs run on the device that "npu" stands for.
"""torch_npu.contrib.transfer_to_npu calls install(). openaclnn.compat.torch_npu.uninstall() reverts it."""
from __future__ import annotations

import importlib
import importlib.util
import types

import torch

from openaclnn.compat import npu, npu_amp, npu_devices

_SETTINGS = types.ModuleType, types.SimpleNamespace
_NAMES = [name for name in npu.__all__ if not isinstance(getattr(npu, name), _SETTINGS)]
_TYPES = [f"{name}Tensor" for name in "BFloat16 Bool Byte Char Float Half Int Long Short".split()]


def _replace_in(module: str, names: list[str], source: types.ModuleType) -> None:
    where = importlib.import_module(module)
    for name in names:
        if hasattr(where, name) and hasattr(source, name):
            npu_devices.replace(where, name, getattr(source, name))


def install() -> None:
    """Gives "cuda" and torch.cuda the meaning of "npu" and torch.npu.

    "cuda" in device arguments, and the backend "nccl", are translated as "npu" and "hccl" are. Tensor.cuda(), Tensor.is_cuda and
    Module.cuda() are npu(), is_npu and npu(). torch.cuda.DoubleTensor makes float32, as torch_npu does.

    The functions that torch.npu has replace those of torch.cuda, torch.cuda.amp, torch.cuda.memory and torch.cuda.random. Other
    functions keep PyTorch's own behavior. If a GPU is the chosen device, nothing changes.
    """
    if npu_devices.chosen().type == "cuda" or npu_devices.is_npu("cuda"):
        return
    npu_devices.translate_cuda()
    _replace_in("torch.cuda", [*_NAMES, "_lazy_call", "_lazy_init", "_is_in_bad_fork"], npu)
    _replace_in("torch.cuda.memory", _NAMES, npu)
    _replace_in("torch.cuda.random", _NAMES, npu)
    for module in ("amp", "amp.autocast_mode", "amp.grad_scaler"):
        _replace_in(f"torch.cuda.{module}", ["autocast", "GradScaler", "custom_fwd", "custom_bwd"], npu_amp)
    for name in _TYPES:
        npu_devices.replace(torch.cuda, name, getattr(npu, name))
    npu_devices.replace(torch.cuda, "DoubleTensor", torch.FloatTensor)
    _hide_gpus()


def _hide_gpus() -> None:
    """Keeps PyTorch's own code from a GPU that torch.cuda.is_available() now reports but that does not exist."""
    if hasattr(torch, "accelerator"):
        npu_devices.replace(torch.accelerator, "is_available", lambda: False)
        npu_devices.replace(torch.accelerator, "device_count", lambda: 0)
        npu_devices.replace(torch.accelerator, "current_accelerator", lambda check_available=False: None)
    if importlib.util.find_spec("torch.utils._triton") is not None:
        triton = importlib.import_module("torch.utils._triton")
        for name in [name for name in vars(triton) if name.startswith("has_triton") and name != "has_triton_package"]:
            npu_devices.replace(triton, name, lambda **options: False)
