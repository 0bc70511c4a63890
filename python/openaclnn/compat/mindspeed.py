# MindSpeed's optimizer FusedEmaAdamW and its operator, with their signatures.
"""import openaclnn.compat.mindspeed before a script's own imports from mindspeed."""
import sys
import types

import openaclnn.torch
from openaclnn import compat
from openaclnn.compat.torch_npu import npu_apply_fused_ema_adamw

__all__ = ["FusedEmaAdamW", "npu_apply_fused_ema_adamw"]


class FusedEmaAdamW(openaclnn.torch.FusedEmaAdamW):
    """openaclnn.torch.FusedEmaAdamW with the arguments of MindSpeed's class.

    use_num_updates is ema_warmup; adam_w_mode=False joins weight decay to the gradient; set_grad_none is what zero_grad does
    by default. As there, state has the dtype of the parameters. Other than there, the number of updates is in the state
    dict, so that the warm-up of the average goes on where a checkpoint was written. store, copy_to and restore take parameters,
    as there; without them they mean all parameters of the optimizer.
    """

    def __init__(self, params, lr=1e-3, eps=1e-8, betas=(0.9, 0.999), weight_decay=1e-2, ema_decay=0.9999, amsgrad=False, *,
                 maximize=False, use_num_updates=True, bias_correction=True, adam_w_mode=True, set_grad_none=True):
        self._mode = 1 if adam_w_mode else 0
        self.set_grad_none = set_grad_none
        super().__init__(params, lr, betas, eps, weight_decay, ema_decay, amsgrad, maximize=maximize,
                         ema_warmup=use_num_updates, bias_correction=bias_correction, state_dtype="parameter")

    def __getstate__(self):
        return {**super().__getstate__(), "_mode": self._mode, "set_grad_none": self.set_grad_none}

    def zero_grad(self, set_to_none=None):
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)


def _install():
    this = sys.modules[__name__]
    compat.offer("mindspeed.optimizer.ema_adamw", this)
    compat.offer("mindspeed.core.optimizer.fused_ema_adamw.fused_ema_adamw", this)
    operator = types.ModuleType("mindspeed.ops.npu_apply_fused_ema_adamw", "Made by openaclnn.compat.mindspeed.")
    operator.npu_apply_fused_ema_adamw = npu_apply_fused_ema_adamw
    compat.offer("mindspeed.ops.npu_apply_fused_ema_adamw", operator)


_install()
