# The options of a group of parameters: ranges of numbers, dtypes, and options that exclude each other.
"""They are checked when a group is made or loaded, never in a step."""
from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy
import torch

from openaclnn.torch import kernels, offload, versions

_is_warned_about_frozen_averages = False


def state_dtype(parameter, group):
    """Returns the dtype of moments and average of a parameter."""
    if group["state_dtype"] == "parameter":
        return parameter.dtype
    return group["state_dtype"] or torch.float32


def number(name, value, accepted):
    """Returns the value of an option that is a number, or a tensor of one number."""
    # A string has no __float__, although float() reads it.
    shown = f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) and value.numel() != 1 else repr(value)
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {shown}; it must be a number in {accepted}")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} is {shown}; it must be one number in {accepted}") from None


def as_tensor(value):
    """Returns a tensor of a number, in the host's memory whatever the default device is. Tensors stay where they are."""
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(value, device="cpu")


def require_flag(name, value, may_be_none=False):
    """Raises TypeError unless value is a bool, one of NumPy's, or 0 or 1: a string such as "false" would count as True."""
    is_integer = isinstance(value, (int, numpy.bool_, numpy.integer))
    if not (is_integer and value in (0, 1) or value is None and may_be_none):
        raise TypeError(f"{name} is {value!r}; it must be True{', False or None' if may_be_none else ' or False'}")


def require_values(group):
    """Raises ValueError if a number is out of range, and TypeError if an option has another type. Schedulers may later write
    other numbers."""
    for name, high in (("lr", float("inf")), ("eps", float("inf")), ("weight_decay", float("inf")), ("ema_decay", 1)):
        if not 0 <= number(name, group[name], f"[0, {high}]") <= high:
            raise ValueError(f"{name} is {group[name]}; it must be in [0, {high}]")
    _require_betas(group["betas"])
    for name in ("amsgrad", "maximize", "capturable", "ema_warmup", "bias_correction", "differentiable"):
        require_flag(name, group[name])
    for name in ("foreach", "fused"):
        require_flag(name, group[name], may_be_none=True)


def _require_betas(betas):
    if not isinstance(betas, (Sequence, numpy.ndarray, torch.Tensor)) or isinstance(betas, (str, bytes)):
        raise TypeError(f"betas is {betas!r}; it must be two numbers in [0, 1)")
    if getattr(betas, "shape", (len(betas),) if isinstance(betas, Sequence) else ()) != (2,):
        raise ValueError(f"betas is {betas}; it must be two numbers in [0, 1)")
    for n, value in enumerate(betas):
        if not 0 <= number(f"betas[{n}]", value, "[0, 1)") < 1:
            raise ValueError(f"betas[{n}] is {value}; it must be in [0, 1)")


def whole_number(name, value):
    """Returns a count, such as of updates. A tensor of one whole number is also one."""
    found = number(name, value, "[0, inf)")
    if not 0 <= found < float("inf") or found != int(found):
        raise ValueError(f"{name} is {value!r}; it must be an int of at least 0")
    return int(value)


def require_group(group, name, is_decoupled):
    """Raises ValueError or TypeError for a group that the optimizer `name` cannot update. Warns of averages that do not
    change."""
    require_values(group)
    whole_number("ema_updates", group.get("ema_updates", 0))
    _require_plain(group, name)
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
    if len(set(map(id, group["params"]))) < len(group["params"]):
        _refuse_duplicate(group["params"])
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


def _require_plain(group, name):
    if group["amsgrad"]:
        raise ValueError(f"{name} has no amsgrad; use torch.optim.AdamW for it")
    if group["differentiable"]:
        raise ValueError(f"{name} is not differentiable: it writes parameters and state in place, without a derivative; use "
                         "torch.optim.AdamW for it")


def _refuse_duplicate(parameters):
    places = {}
    for n, parameter in enumerate(parameters):
        if (first := places.setdefault(id(parameter), n)) != n:
            raise ValueError(f"params[{n}] of a group is the same parameter as params[{first}]; pass each parameter once")


def place_of(groups, parameter):
    """Returns where a parameter is in the groups, for error messages."""
    return next(f'param_groups[{n}]["params"][{k}]' for n, group in enumerate(groups)
                for k, one in enumerate(group["params"]) if one is parameter)


def require_numbers(groups, group):
    """Raises ValueError or TypeError for a number of a group that a step cannot read. groups is for error messages."""
    place = f"param_groups[{next(n for n, one in enumerate(groups) if one is group)}]"
    for name in ("lr", "eps", "weight_decay", "ema_decay"):
        number(f'{place}["{name}"]', group[name], f"[0, {1 if name == 'ema_decay' else 'inf'}]")
    for n, value in enumerate(group["betas"]):
        number(f'{place}["betas"][{n}]', value, "[0, 1)")


def require_available(groups, name):
    """Raises ValueError or TypeError if a program has written an option to a group that a step would ignore or misread."""
    for group in groups:
        if group["amsgrad"] or group["differentiable"]:
            _require_plain(group, name)
        betas = group["betas"]
        if not hasattr(betas, "__len__") or len(betas) != 2:
            _require_betas(betas)


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
