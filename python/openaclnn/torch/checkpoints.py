# State dicts of the optimizers: what other optimizers leave out is completed, precision and hooks of users are kept.
"""The two halves of FusedEmaAdamW.load_state_dict, around that of torch.optim.Optimizer."""
from __future__ import annotations

import contextlib
from itertools import chain

import torch

from openaclnn.torch import options

STATE = ("exp_avg", "exp_avg_sq", "ema_params")


def load(optimizer, state_dict, load_as_torch):
    """load_as_torch(state_dict), which casts, between a completion before it and the saved precision after it.

    Hooks of users see what torch.optim shows them: those before the load the dict as it was given, those after it the
    loaded state, and what either changes stays. So the halves are hooks themselves, the last before and the first after.
    """
    taken = state_dict

    def complete(_, given):
        nonlocal taken
        taken = {**given, **completed(optimizer, given)}
        return taken

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


def completed(optimizer, state_dict):
    """State and groups with what other optimizers leave out or keep elsewhere; what is given stays as it is."""
    states, groups = dict(state_dict["state"]), list(state_dict["param_groups"])
    for n, (saved, group) in enumerate(zip(groups, optimizer.param_groups)):
        own = {name: group[name] for name in optimizer.defaults if name != "ema_updates"}
        # How steps are run, not what they compute.
        groups[n] = complete = {**own, **saved, "capturable": group["capturable"]}
        options.require_group({**complete, "params": group["params"]}, type(optimizer).__name__)
        step, updates = complete.pop("step", None), 0
        present = [key for key in saved["params"] if states.get(key)]
        if step is not None:  # one for all parameters
            states.update({key: {"step": torch.tensor(float(step)), **states[key]} for key in present})
            if any("ema_params" in states[key] for key in present):
                updates = int(step)  # a warm-up that began anew would give up the averages
        complete.setdefault("ema_updates", updates)
    return {"state": states, "param_groups": groups}


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
                optimizer.state[parameter][name] = values[name].detach().to(device=parameter.device, dtype=dtype, copy=True)


def exchangeable(state_dict):
    """A state dict whose counters torch.optim.AdamW can count on: it has capturable for other devices than the CPU only."""
    groups, states = [], dict(state_dict["state"])
    for group in state_dict["param_groups"]:
        for key in group["params"] if group["capturable"] else ():
            if "step" in states.get(key, {}):
                states[key] = {**states[key], "step": states[key]["step"].to(torch.float32)}
        groups.append({**group, "capturable": False})
    return {**state_dict, "state": states, "param_groups": groups}
