# MindSpeed's optimizer FusedEmaAdamW, its function and its operator, with their signatures.
"""Import openaclnn.compat.mindspeed before a script's imports from mindspeed."""
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any

import torch

import openaclnn.torch
from openaclnn import _native, compat
from openaclnn.compat.torch_npu import npu_apply_fused_ema_adamw
from openaclnn.errors import named_as_called
from openaclnn.torch import versions

__all__ = ["FusedEmaAdamW", "fused_ema_adamw", "npu_apply_fused_ema_adamw"]


class FusedEmaAdamW(openaclnn.torch.FusedEmaAdamW):
    """openaclnn.torch.FusedEmaAdamW with the arguments of MindSpeed's class.

    use_num_updates is ema_warmup. adam_w_mode=False adds weight decay to the gradient. set_grad_none is the default of
    zero_grad. As in MindSpeed, state has the dtype of the parameters. Unlike there, the state dict contains the number of
    updates, so that the warm-up of the average continues after a checkpoint is loaded. store and restore take groups of
    parameters, such as optimizer.param_groups, as there. They also take parameters, and without an argument they use all
    parameters of the optimizer. copy_to takes no argument, as there.

    The attributes ema_decay, num_updates and adam_w_mode can be read and written at any time; the next step uses them.

    RuntimeError: amsgrad or maximize is True, in the constructor, in a group or in a state dict.
    """

    def __init__(self, params: Any, lr: float | torch.Tensor = 1e-3, eps: float = 1e-8,
                 betas: tuple[float, float] = (0.9, 0.999), weight_decay: float = 1e-2, ema_decay: float = 0.9999,
                 amsgrad: bool = False, *, maximize: bool = False, use_num_updates: bool = True, bias_correction: bool = True,
                 adam_w_mode: bool = True, set_grad_none: bool = True) -> None:
        _require_available({"amsgrad": amsgrad, "maximize": maximize})
        self.adam_w_mode = adam_w_mode
        self.set_grad_none = set_grad_none
        super().__init__(params, lr, betas, eps, weight_decay, ema_decay, amsgrad, maximize=maximize,
                         ema_warmup=use_num_updates, bias_correction=bias_correction, state_dtype="parameter")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with their own options. RuntimeError: amsgrad or maximize is True."""
        _require_available(param_group)
        super().add_param_group(param_group)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state of this class, of torch.optim.AdamW, or of MindSpeed's class. RuntimeError: amsgrad or maximize is True
        in a group; then nothing is loaded."""
        for group in state_dict["param_groups"]:
            _require_available(group)
        super().load_state_dict(state_dict)

    @property
    def ema_decay(self) -> float:
        """The decay of the averages: that of the first group; setting it sets that of all groups."""
        return float(self.param_groups[0]["ema_decay"])

    @ema_decay.setter
    def ema_decay(self, decay: float) -> None:
        if not 0 <= float(decay) <= 1:
            raise ValueError(f"ema_decay is {decay}; it must be in [0, 1]")
        self.defaults["ema_decay"] = decay
        for group in self.param_groups:
            group["ema_decay"] = decay

    @property
    def num_updates(self) -> int:
        """How many updates the averages had, which their warm-up depends on; setting it sets that of all groups."""
        return int(self.param_groups[0]["ema_updates"])

    @num_updates.setter
    def num_updates(self, updates: int) -> None:
        if int(updates) < 0:
            raise ValueError(f"num_updates is {updates}; it must be at least 0")
        for group in self.param_groups:
            group["ema_updates"] = int(updates)

    @property
    def adam_w_mode(self) -> bool:
        """True: weight decay is part of the update. False: it is added to the gradient."""
        return self._mode == 1

    @adam_w_mode.setter
    def adam_w_mode(self, adam_w_mode: bool) -> None:
        self._mode = 1 if adam_w_mode else 0
        # Groups say the mode, and new ones are compared with it. The constructor sets it before there are groups.
        for options in [self.defaults, *self.param_groups] if hasattr(self, "param_groups") else ():
            options["decoupled_weight_decay"] = self._mode == 1

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


@named_as_called
@torch.no_grad()
def fused_ema_adamw(params: Sequence[torch.Tensor], grads: Sequence[torch.Tensor], exp_avgs: Sequence[torch.Tensor],
                    exp_avg_sqs: Sequence[torch.Tensor], ema_params: Sequence[torch.Tensor], state_steps: int | torch.Tensor, *,
                    lr: float = 1e-3, ema_decay: float = 0.9999, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                    weight_decay: float = 1e-2, bias_correction: bool = True, adam_w_mode: bool = True, amsgrad: bool = False,
                    maximize: bool = False) -> None:
    """Takes one step for lists of tensors, in place, without an optimizer object: the function form of FusedEmaAdamW.

    Arguments follow the functions of torch.optim, such as torch.optim.adamw.adamw. state_steps is the number of this step, 1 in
    the first. RuntimeError: amsgrad or maximize is True. See openaclnn.apply_fused_ema_adam_.
    """
    _require_available({"amsgrad": amsgrad, "maximize": maximize}, "fused_ema_adamw")
    step = int(state_steps)
    numbers = lr, ema_decay, beta1, beta2, eps, int(adam_w_mode), bias_correction, weight_decay
    lists = [list(tensors) for tensors in (grads, params, exp_avgs, exp_avg_sqs, ema_params)]
    if lists[0]:
        _native.apply_fused_ema_adam_(*lists, step, *numbers)
        versions.increment_versions([tensor for tensors in lists[1:] for tensor in tensors])


def _require_available(options: dict[str, Any], name: str = "FusedEmaAdamW") -> None:
    """Raises RuntimeError for options that MindSpeed's optimizer has in its signature only."""
    for option in ("amsgrad", "maximize"):
        if options.get(option):
            raise RuntimeError(f"{name} has no {option}; openaclnn.torch.FusedEmaAdamW has maximize, and torch.optim.AdamW has "
                               "both")


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
