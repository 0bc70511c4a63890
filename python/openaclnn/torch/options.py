# The options of a group of parameters: ranges of numbers, dtypes, and options that exclude each other.
"""They are checked when a group is made or loaded, never in a step."""
from __future__ import annotations

import warnings

import torch

from openaclnn.torch import kernels, offload, versions

_is_warned_about_frozen_averages = False


def state_dtype(parameter, group):
    """Returns the dtype of moments and average of a parameter."""
    if group["state_dtype"] == "parameter":
        return parameter.dtype
    return group["state_dtype"] or torch.float32


def require_numbers(group):
    """Raises ValueError if a number is out of range. Schedulers may later write other numbers."""
    for name, high in (("lr", float("inf")), ("eps", float("inf")), ("weight_decay", float("inf")), ("ema_decay", 1)):
        if not 0 <= float(group[name]) <= high:
            raise ValueError(f"{name} is {group[name]}; it must be in [0, {high}]")
    if len(group["betas"]) != 2:
        raise ValueError(f"betas is {group['betas']}; it must be two numbers in [0, 1)")
    for n, value in enumerate(group["betas"]):
        if not 0 <= float(value) < 1:
            raise ValueError(f"betas[{n}] is {value}; it must be in [0, 1)")


def require_group(group, name, is_decoupled):
    """Raises ValueError or TypeError for a group that the optimizer `name` cannot update. Warns of averages that do not
    change."""
    require_numbers(group)
    if group["amsgrad"]:
        raise ValueError(f"{name} has no amsgrad; use torch.optim.AdamW for it")
    if group["differentiable"]:
        raise ValueError(f"{name} is not differentiable: it writes parameters and state in place, without a derivative; use "
                         "torch.optim.AdamW for it")
    if group["decoupled_weight_decay"] != is_decoupled:
        other = "FusedEmaAdam" if is_decoupled else "FusedEmaAdamW"
        raise ValueError(f"decoupled_weight_decay is {group['decoupled_weight_decay']!r}; it is always {is_decoupled} in {name}, use "
                         f"{other} for the other mode")
    if group["fused"] and group["foreach"]:
        raise ValueError("fused=True and foreach=True exclude each other, as in torch.optim.AdamW; the update is one native call "
                         "without either")
    if group["capturable"] and group["ema_warmup"]:
        raise ValueError("capturable=True needs ema_warmup=False: the warm-up is computed by Python in every step")
    if group["offload"] not in tuple(offload.NAMES_OF):
        raise ValueError(f'offload is {group["offload"]!r}; it must be None, "average" or "state"')
    if group["offload"] and group["capturable"]:
        raise ValueError("offload and capturable=True exclude each other: a step with offloaded state is not captured into a graph")
    chosen = group["state_dtype"]
    if chosen not in (None, "parameter", *kernels.FLOATS):
        raise ValueError(f'state_dtype is {chosen!r}; it must be None, "parameter", torch.float32, or the 16-bit dtype of the '
                         "group's parameters")
    for parameter in group["params"]:
        if parameter.dtype not in kernels.FLOATS:
            raise TypeError(f"{name} updates float32, float16 and bfloat16 parameters; one is {parameter.dtype}")
        if state_dtype(parameter, group) not in (torch.float32, parameter.dtype):
            raise TypeError(f"state_dtype is {chosen}, but a parameter is {parameter.dtype}; it must be torch.float32 or the "
                            "parameter's")
        if group["offload"]:
            _require_offloadable(parameter)
    if group["ema_decay"] >= 0.99 and any(state_dtype(parameter, group) != torch.float32 for parameter in group["params"]):
        _warn_about_frozen_averages(group["ema_decay"])


def _warn_about_frozen_averages(decay):
    global _is_warned_about_frozen_averages
    if not _is_warned_about_frozen_averages:
        _is_warned_about_frozen_averages = True
        warnings.warn(f"an average in 16 bits with decay {decay} doesn't change: its steps are smaller than half a step of the "
                      "format; state_dtype=None keeps it in float32", stacklevel=5)


def _require_offloadable(parameter):
    if versions.is_dtensor(parameter):
        raise TypeError("offload needs parameters that are not sharded; FSDP2 offloads shards itself (CPUOffloadPolicy)")
    offload.require_dense(parameter)
