# MindSpeed's optimizer FusedEmaAdamW and its operator, with their signatures.
"""Import openaclnn.compat.mindspeed before a script's imports from mindspeed."""
import sys
import types
from collections.abc import Iterable
from typing import Any

import torch

import openaclnn.torch
from openaclnn import compat
from openaclnn.compat.torch_npu import npu_apply_fused_ema_adamw

__all__ = ["FusedEmaAdamW", "npu_apply_fused_ema_adamw"]


class FusedEmaAdamW(openaclnn.torch.FusedEmaAdamW):
    """openaclnn.torch.FusedEmaAdamW with the arguments of MindSpeed's class.

    use_num_updates is ema_warmup. adam_w_mode=False adds weight decay to the gradient. set_grad_none is the default of
    zero_grad. As in MindSpeed, state has the dtype of the parameters. Unlike there, the state dict contains the number of
    updates, so that the warm-up of the average continues after a checkpoint is loaded. store and restore take groups of
    parameters, such as optimizer.param_groups, as there. They also take parameters, and without an argument they use all
    parameters of the optimizer. copy_to takes no argument, as there.
    """

    def __init__(self, params: Any, lr: float | torch.Tensor = 1e-3, eps: float = 1e-8,
                 betas: tuple[float, float] = (0.9, 0.999), weight_decay: float = 1e-2, ema_decay: float = 0.9999,
                 amsgrad: bool = False, *, maximize: bool = False, use_num_updates: bool = True, bias_correction: bool = True,
                 adam_w_mode: bool = True, set_grad_none: bool = True) -> None:
        self._mode = 1 if adam_w_mode else 0
        self.set_grad_none = set_grad_none
        super().__init__(params, lr, betas, eps, weight_decay, ema_decay, amsgrad, maximize=maximize,
                         ema_warmup=use_num_updates, bias_correction=bias_correction, state_dtype="parameter")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_mode": self._mode, "set_grad_none": self.set_grad_none}

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Clears gradients. Without the argument, set_grad_none of the constructor applies."""
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    def store(self, parameters: "Iterable[dict[str, Any]] | Iterable[torch.Tensor] | None" = None) -> None:
        """Copies the parameters, all or those given, for restore()."""
        super().store(_flat(parameters))

    def restore(self, parameters: "Iterable[dict[str, Any]] | Iterable[torch.Tensor] | None" = None) -> None:
        """Writes the copies of store() back into those parameters, or into the same number of others in the same order."""
        super().restore(_flat(parameters))


def _flat(parameters: Any) -> list[torch.Tensor] | None:
    """Returns the parameters of groups, or those given."""
    if parameters is None:
        return None
    return [one for entry in parameters for one in (entry["params"] if isinstance(entry, dict) else [entry])]


def _install() -> None:
    this = sys.modules[__name__]
    compat.offer("mindspeed.optimizer.ema_adamw", this)
    compat.offer("mindspeed.core.optimizer.fused_ema_adamw.fused_ema_adamw", this)
    operator = types.ModuleType("mindspeed.ops.npu_apply_fused_ema_adamw", "Made by openaclnn.compat.mindspeed.")
    operator.npu_apply_fused_ema_adamw = npu_apply_fused_ema_adamw
    compat.offer("mindspeed.ops.npu_apply_fused_ema_adamw", operator)


_install()
