# torch_npu.optim: its fused AdamW, which is PyTorch's here.
"""torch_npu.optim after `import openaclnn.compat.torch_npu`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from openaclnn.compat.npu_ops import registry

__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message

if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name, "torch_npu.optim")


class NpuFusedAdamW(torch.optim.AdamW):
    """torch.optim.AdamW with the arguments of torch_npu's class. Fused and plain steps differ only in speed there."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)

    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Scales all gradients so that their common norm is at most max_norm. Returns the norm before."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
