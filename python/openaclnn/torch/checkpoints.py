# State dicts of the optimizers: completes states of other optimizers, and keeps precision and the users' hooks.
"""The two halves of FusedEmaAdamW.load_state_dict, before and after that of torch.optim.Optimizer."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from itertools import chain

import torch

from openaclnn.torch import offload, options, versions, warm_up

STATE = offload.NAMES


def load(optimizer, state_dict, load_as_torch):
    """Runs load_as_torch(state_dict), which casts, between completing the state before it and restoring the saved precision
    after it.

    Hooks of users see the same values as in torch.optim: before the load the dict as given, after it the loaded state. Their
    changes are kept. Both halves are therefore hooks themselves, the last one before and the first one after the load.
    """
    given_groups, taken = (), state_dict
    had_averages = _has_averages(optimizer.state)

    def complete(_, given):
        nonlocal given_groups, taken
        taken = {**given, **completed(optimizer, given)}
        given_groups = given["param_groups"]
        return _without_offloaded(optimizer, taken)

    def restore_precision(_):
        _copy_state(optimizer, taken)

    with contextlib.ExitStack() as hooks:
        has_hooks = hasattr(optimizer, "register_load_state_dict_pre_hook")  # 2.1
        if has_hooks:
            hooks.callback(optimizer.register_load_state_dict_pre_hook(complete).remove)
            hooks.callback(optimizer.register_load_state_dict_post_hook(restore_precision, prepend=True).remove)
        load_as_torch(state_dict if has_hooks else complete(optimizer, state_dict))
        if not has_hooks:
            restore_precision(optimizer)
    if had_averages and not _has_averages(taken["state"]):
        warnings.warn("the checkpoint has no averages; they start at the parameters again; call load_ema_state_dict() after "
                      "load_state_dict()", stacklevel=3)
    if any(_has_other_decay(*pair) for pair in zip(given_groups, optimizer.param_groups)):
        modes = "L2 (decoupled_weight_decay=False)", "decoupled (decoupled_weight_decay=True)"
        warnings.warn(f"weight decay of the checkpoint is {modes[1 - optimizer._mode]}, but that of {type(optimizer).__name__} is "
                      f"{modes[optimizer._mode]} and stays so; use {('FusedEmaAdamW', 'FusedEmaAdam')[optimizer._mode]} for the "
                      "checkpoint's", stacklevel=3)


def _has_other_decay(saved, group):
    own = group["decoupled_weight_decay"]
    return float(group["weight_decay"]) != 0 and bool(saved.get("decoupled_weight_decay", own)) != own


def _has_averages(states):
    return any("ema_params" in state for state in states.values())


def _require_form(state_dict):
    """Raises ValueError or TypeError unless a state dict is one of an optimizer, with a dict for each state and group."""
    if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= state_dict.keys():
        raise ValueError("the state dict has no 'state' and 'param_groups', so it isn't one of an optimizer; a model loads its own")
    if not isinstance(state_dict["state"], Mapping):
        raise TypeError(f"state is of type {type(state_dict['state']).__name__}; a dict is needed")
    for n, group in enumerate(state_dict["param_groups"]):
        if not isinstance(group, Mapping) or "params" not in group:
            raise ValueError(f"param_groups[{n}] has no 'params'; a state dict of an optimizer has them in every group")
    for key, state in state_dict["state"].items():
        if not isinstance(state, Mapping):
            raise TypeError(f"state[{key!r}] is of type {type(state).__name__}; a dict such as of step, exp_avg and exp_avg_sq is needed")


def _require_adam(key, state):
    """Raises ValueError for a state of an optimizer with other moments, such as SGD, from which a step would start at zero."""
    if not {"step", *STATE} & state.keys():
        raise ValueError(f"state[{key!r}] has {', '.join(map(repr, state))}, but none of 'step', {', '.join(map(repr, STATE))}, so it isn't "
                         "one of Adam; to take only the options of the groups, remove the whole entry")


def _require_state(key, state):
    """Raises ValueError or TypeError for a state from which steps would go wrong, at once or without a word."""
    for name in STATE:
        if state.get(name) is not None and not isinstance(state[name], torch.Tensor):
            raise TypeError(f"state[{key!r}][{name!r}] is of type {type(state[name]).__name__}; a tensor is needed")
    if "step" not in state:
        return
    step = options.number(f"state[{key!r}]['step']", state["step"], "[0, inf)")
    if not 0 <= step < float("inf"):
        raise ValueError(f"state[{key!r}]['step'] is {step}; it must be in [0, inf)")
    for name in ("exp_avg", "exp_avg_sq"):
        if step > 0 and state.get(name) is None:
            raise ValueError(f"state[{key!r}] has taken {step:.0f} steps but has no {name!r}, and zeros would be wrong; to start again, "
                             "remove the whole entry")


def _of_other_shape(state, parameter):
    """Returns the name of a moment or average with another shape than its parameter, or None. Copies would broadcast some."""
    if torch.nn.parameter.is_lazy(parameter):  # has its shape later
        return None
    for name in STATE:
        value = state.get(name)
        if value is None or value.shape == parameter.shape:
            continue
        # Shapes of sharded tensors are those of the whole. A process may also have its part only.
        if versions.is_dtensor(value) or value.shape != versions.local(parameter).shape:
            return name
    return None


def complete(optimizer, state, parameter, group):
    """Adds missing entries to the state of a parameter, and converts those of other programs. Returns its counter, and a value that
    parameters with the same step count share."""
    kind = torch.int64 if group["capturable"] else torch.float32
    count = object()  # of a counter that is not read, no other parameter has it
    wrong = _of_other_shape(state, parameter)
    if wrong is not None:
        raise ValueError(f"{wrong} of {options.place_of(optimizer.param_groups, parameter)} has shape {list(state[wrong].shape)}, but the "
                         f"parameter has {list(parameter.shape)}; they must be equal")
    is_brought = "ema_params" in state and ("step" not in state or int(state["step"]) > 0)  # from another program
    if is_brought and group["ema_updates"] == 0:  # a warm-up would discard it
        group["ema_updates"] = warm_up.updates_until_over(group["ema_decay"])
    if "step" not in state:
        state["step"], count = torch.zeros((), dtype=kind, device="cpu"), 0
    elif not isinstance(state["step"], torch.Tensor) or state["step"].dtype != kind:
        state["step"] = options.as_tensor(state["step"]).to(kind)
    dtype = options.state_dtype(parameter, group)
    for name in ("exp_avg", "exp_avg_sq"):
        if name not in state:
            state[name] = torch.zeros_like(parameter, dtype=dtype, memory_format=torch.preserve_format)
    if "ema_params" not in state:
        state["ema_params"] = parameter.detach().to(dtype, copy=True)
    for name in STATE:
        if state[name].dtype != dtype:
            state[name] = state[name].to(dtype)
    if group["offload"]:
        optimizer._offloaded.place(group, state, parameter, dtype)
    return state["step"], count


def completed(optimizer, state_dict):
    """Returns state and groups, completed where other optimizers omit values or keep them elsewhere. Given values do not
    change."""
    _require_form(state_dict)
    states, groups = dict(state_dict["state"]), list(state_dict["param_groups"])
    for n, (saved, group) in enumerate(zip(groups, optimizer.param_groups)):
        own = {name: group[name] for name in optimizer.defaults if name != "ema_updates"}
        # These options say how steps run, not what they compute.
        how = {name: group[name] for name in ("capturable", "differentiable", "foreach", "fused", "offload")}
        # The class has the mode of weight decay, as torch.optim.AdamW has.
        how["decoupled_weight_decay"] = optimizer._mode == 1
        groups[n] = complete = {**own, **saved, **how}
        options.require_group({**complete, "params": group["params"]}, type(optimizer).__name__, optimizer._mode == 1)
        step = complete.pop("step", None)
        present = [key for key in saved["params"] if states.get(key)]
        for key in present:
            _require_adam(key, states[key])
        if step is not None:  # one counter for all parameters
            # The default dtype may have 16 bits, and the default device no memory.
            count = torch.tensor(options.number(f"param_groups[{n}]['step']", step, "[0, inf)"), dtype=torch.float32, device="cpu")
            states.update({key: {"step": count.clone(), **states[key]} for key in present})
        for key in present:
            _require_state(key, states[key])
        if len(saved["params"]) == len(group["params"]):  # torch.optim rejects other counts
            for k, (key, parameter) in enumerate(zip(saved["params"], group["params"])):
                wrong = _of_other_shape(states.get(key) or {}, parameter)
                if wrong is not None:
                    raise ValueError(f"state[{key!r}][{wrong!r}] has shape {list(states[key][wrong].shape)}, but param_groups[{n}][\"params\"]"
                                     f"[{k}] has {list(parameter.shape)}; they must be equal")
        for key in present:
            states[key] = {name: value for name, value in states[key].items() if name not in STATE or value is not None}
        updates = 0
        if any("ema_params" in states[key] for key in present):  # a warm-up that starts again would discard the averages
            updates = int(max(states[key].get("step", 0) for key in present))
            updates = updates or warm_up.updates_until_over(complete["ema_decay"])
        complete["ema_updates"] = options.whole_number("ema_updates", complete.get("ema_updates", updates))
    return {"state": states, "param_groups": groups}


def _without_offloaded(optimizer, state_dict):
    """Returns a state dict without the tensors that torch.optim would copy to a GPU, which may not have the memory."""
    states = dict(state_dict["state"])
    for saved, group in zip(state_dict["param_groups"], optimizer.param_groups):
        names = offload.offloaded(group)
        for key in saved["params"] if names else ():
            if key in states:
                states[key] = {name: value for name, value in states[key].items() if name not in names}
    return {**state_dict, "state": states}


def _copy_state(optimizer, state_dict):
    saved = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
    present = ((parameter, group) for group in optimizer.param_groups for parameter in group["params"])
    for key, (parameter, group) in zip(saved, present):
        values = state_dict["state"].get(key, {})
        if isinstance(values.get("step"), torch.Tensor):
            optimizer.state[parameter]["step"] = values["step"].detach().clone()
        for name in STATE:
            if values.get(name) is not None:
                dtype = options.state_dtype(parameter, group)
                device = "cpu" if name in offload.offloaded(group) else parameter.device
                optimizer.state[parameter][name] = values[name].detach().to(device=device, dtype=dtype, copy=True)


def exchangeable(state_dict):
    """Returns a state dict with counters for torch.optim.AdamW, which supports capturable only on devices other than the
    CPU."""
    groups, states = [], dict(state_dict["state"])
    for group in state_dict["param_groups"]:
        for key in group["params"] if group["capturable"] else ():
            if "step" in states.get(key, {}):
                states[key] = {**states[key], "step": states[key]["step"].to(torch.float32)}
        groups.append({**group, "capturable": False})
    return {**state_dict, "state": states, "param_groups": groups}
