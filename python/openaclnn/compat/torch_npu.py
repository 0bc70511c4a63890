# The functions of torch_npu that have an operator here, and .npu() for tensors and modules, on the device that is chosen.
"""import openaclnn.compat.torch_npu in place of (or before) import torch_npu. Beside the real torch_npu it changes nothing of torch.

npu_nsa_compress, npu_nsa_compress_grad and npu_apply_fused_ema_adamw have the signatures of torch_npu. Tensor.npu() and
Module.npu() go to the device of set_device(): the CPU, unless another one is chosen. torch.npu has the few functions that
scripts call around their work.
"""
import sys
import types

import torch

import openaclnn.torch
from openaclnn import _native, compat
from openaclnn.torch import versions

_device = torch.device("cpu")


def set_device(device):
    """Chooses what .npu() means: a torch.device, its name, or an "npu:0" of a script, which keeps the choice."""
    global _device
    if isinstance(device, int) or str(device).startswith("npu"):
        return
    _device = torch.device(device)


def npu_nsa_compress(input, weight, compress_block_size, compress_stride, *, actual_seq_len=None):
    """Token compression of native sparse attention; with gradients. See openaclnn.nsa_compress."""
    return openaclnn.torch.nsa_compress(input, weight, compress_block_size, compress_stride, actual_seq_len=actual_seq_len)


def npu_nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride, *, actual_seq_len=None):
    """Its gradients for tokens and weights. See openaclnn.nsa_compress_grad."""
    return openaclnn.torch.nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride,
                                             actual_seq_len=actual_seq_len)


def npu_apply_fused_ema_adamw(grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, mode=1,
                              bias_correction=True, weight_decay=0.0):
    """One optimizer step in place; returns (var, m, v, s). See openaclnn.apply_fused_ema_adam_."""
    with torch.no_grad():
        _native.apply_fused_ema_adam_(grad, var, m, v, s, step, lr, ema_decay, beta1, beta2, eps, mode, bias_correction,
                                      weight_decay)
        versions.increment_versions([var, m, v, s])
    return var, m, v, s


def _npu(self, device=None, non_blocking=False):
    return self.to(_device)


def _install():
    if not compat.offer("torch_npu", sys.modules[__name__]):
        return  # the real one has changed torch itself, or will
    torch.Tensor.npu = _npu
    torch.nn.Module.npu = lambda self, device=None: self.to(_device)
    if not hasattr(torch, "npu"):
        npu = types.ModuleType("torch.npu", "What scripts call around their work; by openaclnn.compat.torch_npu.")
        npu.is_available = lambda: True
        npu.device_count = _native.device_count
        npu.current_device = lambda: 0
        npu.set_device = set_device
        npu.synchronize = lambda device=None: None  # operators wait before they return
        npu.empty_cache = lambda: None
        npu.manual_seed = npu.manual_seed_all = lambda seed: torch.manual_seed(seed)
        torch.npu = npu
        sys.modules["torch.npu"] = npu


_install()
