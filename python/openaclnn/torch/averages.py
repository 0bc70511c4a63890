# Averages of an optimizer's parameters: swapped in and out, stored and restored, exchanged with other programs.
"""The part of FusedEmaAdamW that programs use outside of steps."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence, TypeVar

import torch

from openaclnn.torch import options, state_entries, versions, warm_up

if TYPE_CHECKING:
    from torch import Tensor

_Self = TypeVar("_Self", bound="KeepsAverages")


class KeepsAverages(torch.optim.Optimizer):
    """An optimizer with an average "ema_params" in the state of each parameter, and "ema_updates" in each group."""

    _swapped: list[tuple[Tensor, Tensor]] | None = None

    def _complete(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        """Adds missing entries to the state of a parameter."""
        raise NotImplementedError

    def _read_counters(self) -> None:
        """Reads counters that a load replaced."""
        raise NotImplementedError

    def _require_own_parameters(self, what: str) -> None:
        if self._swapped is not None:
            raise RuntimeError(f"{what} between store() and restore(), as inside swap_ema(), would lose the parameters that are "
                               "stored; restore() first")

    def _settle(self) -> None:
        """Waits until state that is not on the parameters' device can be read."""

    def _averages(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields pairs of a parameter and its average. A parameter that never had a gradient is its own average."""
        self._settle()
        for group in self.param_groups:
            for parameter in group["params"]:
                yield parameter, self.state[parameter].get("ema_params", parameter) if parameter in self.state else parameter

    @contextlib.contextmanager
    def swap_ema(self: _Self) -> Iterator[_Self]:
        """Use it as `with optimizer.swap_ema():`. Inside, the parameters hold their averages; afterwards they hold their own
        values again.

        Inside, step(), state_dict(), load_state_dict(), copies of the optimizer and another swap raise RuntimeError.
        """
        self.store()
        try:
            self.copy_to()
            yield self
        finally:
            self.restore()

    @torch.no_grad()
    def store(self, parameters: Iterable[Tensor] | None = None) -> None:
        """Copies the parameters, all or those given, for restore(). RuntimeError: a copy already exists."""
        if self._swapped is not None:
            raise RuntimeError("the parameters are stored already; restore() first")
        if parameters is None:
            parameters = (parameter for parameter, _ in self._averages())
        self._swapped = [(parameter, parameter.detach().clone()) for parameter in parameters]

    @torch.no_grad()
    def copy_to(self, parameters: Iterable[Tensor] | None = None) -> None:
        """Writes the averages into the parameters, all or those given.

        ValueError: a given parameter is not one of this optimizer's, or an average has another shape. RuntimeError: store() copied
        some parameters but not one of these, which restore() could not bring back. Without store() the averages replace the
        parameters permanently.
        """
        averages = dict(self._averages())
        chosen = list(averages if parameters is None else parameters)
        for n, parameter in enumerate(chosen):
            if parameter not in averages:
                raise ValueError(f"parameters[{n}] isn't a parameter of this optimizer, so it has no average")
            # copy_() would broadcast it. A lazy module's parameter may have no shape yet.
            if averages[parameter] is not parameter and averages[parameter].shape != parameter.shape:
                raise ValueError(f"parameters[{n}] has shape {list(parameter.shape)}, but its average has "
                                 f"{list(averages[parameter].shape)}; they must be equal")
        chosen = [parameter for parameter in chosen if averages[parameter] is not parameter]
        if self._swapped is not None:
            kept = {parameter for parameter, _ in self._swapped}
            lost = sum(parameter not in kept for parameter in chosen)
            if lost:
                raise RuntimeError(f"copy_to() would overwrite {lost} parameters that store() did not keep and restore() could "
                                   "not bring back; store() them, or give copy_to() those that are kept")
        for parameter in chosen:
            parameter.copy_(averages[parameter])

    @torch.no_grad()
    def restore(self, parameters: Iterable[Tensor] | None = None) -> None:
        """Writes the copies of store() back into those parameters, or into the same number of others in the same order.

        RuntimeError: nothing is stored. ValueError: the number of parameters differs from that of store().
        """
        if self._swapped is None:
            raise RuntimeError("there is nothing to restore; store() first")
        stored, copies = zip(*self._swapped) if self._swapped else ((), ())
        targets = stored if parameters is None else list(parameters)
        if len(targets) != len(copies):
            raise ValueError(f"parameters has {len(targets)} entries, but store() kept {len(copies)}; the counts must be equal")
        for parameter, kept in zip(targets, copies):
            parameter.copy_(kept)
        self._swapped = None

    def ema_state_dict(self, model: torch.nn.Module) -> dict[str, Any]:
        """Returns model.state_dict() with the averages instead of the parameters, in the averages' dtype. Tied parameters
        appear under each of their names. Buffers, and parameters that this optimizer doesn't update, are the model's.

        Hooks of the model may give parameters other names.

        ValueError: the optimizer updates no parameter of the model, for example because it is a copy; or a hook of the model
        replaced a parameter by a copy under another name.
        """
        entries, averages = state_entries.StateEntries(model), dict(self._averages())
        if all(parameter not in averages for parameter in entries.named.values()):
            raise ValueError(f"model is a {type(model).__name__} without any parameter of this optimizer; pass the model that "
                             "the optimizer updates, not a copy")
        for name, parameter in entries.lost():
            if parameter in averages:
                raise ValueError(f"model.state_dict() has no entry for the parameter {name}, but it has {entries.unknown[0]!r}, which is "
                                 "neither a parameter nor a buffer; a hook of state_dict() must not copy a parameter that it renames")
        result = entries.values
        for name, value in result.items():
            parameter = entries.parameters.get(name)
            if parameter is not None and parameter in averages:
                result[name] = averages[parameter].detach().clone()
            elif isinstance(value, torch.Tensor):
                result[name] = value.detach()
        return result

    @torch.no_grad()
    def load_ema_state_dict(self, averages: Mapping[str, Tensor] | Sequence[Tensor], model: torch.nn.Module | None = None, *,
                            updates: int | Tensor | None = None) -> None:
        """Continues averages that another program kept. They are copied in the averages' dtype.

        Parameters
        ----------
        averages : the average of every parameter: a dict by the model's names, such as averaged.module.state_dict(), whose
            buffers are ignored; or a sequence in the order of the parameters, such as shadow_params.
        model : gives the names or the order. None: the optimizer's names, if it was made from named_parameters(); otherwise
            the order of its parameters, which for a dict must be one group without other entries.
        updates : how often a program with this warm-up updated the averages before, such as num_updates of torch_ema. The
            warm-up continues from there. None: the warm-up is over, and the next step uses ema_decay.

        Load the state of the optimizer before: load_state_dict() replaces averages.

        ValueError: a name, a tensor or the model is missing, a shape differs, or updates is out of range. TypeError: an average is
        not a tensor. Then nothing is loaded.
        """
        count = None if updates is None else options.whole_number("updates", updates)
        self._settle()
        known = dict(self._matched(averages, model))
        for group in self.param_groups:
            for n, parameter in enumerate(group["params"]):
                if parameter not in known:
                    raise ValueError(f"parameters[{n}] of a group, of shape {list(parameter.shape)}, has no average; every "
                                     "parameter of the optimizer must have one")
                name, value = known[parameter]
                if not isinstance(value, torch.Tensor):
                    raise TypeError(f"the average {name} is of type {type(value).__name__}; a tensor is needed, for NumPy's arrays "
                                    "torch.from_numpy(…)")
                if value.shape != parameter.shape:
                    raise ValueError(f"the average {name} has shape {list(value.shape)}, but its parameter has "
                                     f"{list(parameter.shape)}; they must be equal")
        for group in self.param_groups:
            for parameter in group["params"]:
                value = versions.distributed_as(known[parameter][1].detach(), parameter)
                state = self.state[parameter]
                state["ema_params"] = value.to(device=parameter.device, dtype=options.state_dtype(parameter, group), copy=True)
                self._complete(state, parameter, group)
            group["ema_updates"] = warm_up.updates_until_over(group["ema_decay"]) if count is None else count
        self._read_counters()

    def _matched(self, averages: Mapping[str, Tensor] | Sequence[Tensor],
                 model: torch.nn.Module | None) -> Iterator[tuple[Tensor, tuple[str, Tensor]]]:
        """Yields parameters, each with the name and the value of its average."""
        own = [parameter for group in self.param_groups for parameter in group["params"]]
        if not isinstance(averages, Mapping):
            ordered, entries = own if model is None else list(model.parameters()), list(enumerate(averages))
            if len(entries) != len(ordered):
                raise ValueError(f"there are {len(entries)} averages for {len(ordered)} parameters; the counts must be equal")
            yield from ((parameter, (f"[{n}]", value)) for parameter, (n, value) in zip(ordered, entries))
        elif model is not None:
            entries = state_entries.StateEntries(model)
            yield from self._matched_by_name(averages, [*entries.named.items(), *entries.parameters.items()],
                                             {*entries.values, *entries.named})
        elif all("param_names" in group for group in self.param_groups):
            names = [name for group in self.param_groups for name in group["param_names"]]
            yield from self._matched_by_name(averages, zip(names, own), set(averages))
        elif len(self.param_groups) == 1 and len(averages) == len(own):
            yield from zip(own, averages.items())
        else:
            raise ValueError(f"the optimizer does not know the names of its {len(own)} parameters in {len(self.param_groups)} "
                             f"groups, and there are {len(averages)} averages; pass the model whose names they have")

    @staticmethod
    def _matched_by_name(averages: Mapping[str, Tensor], parameters: Iterable[tuple[str, Tensor]],
                         accepted: set[str]) -> Iterator[tuple[Tensor, tuple[str, Tensor]]]:
        unknown = [name for name in averages if name not in accepted]
        if unknown:
            raise ValueError(f"the model has no {unknown[0]!r}; averages have the names of model.state_dict(), without a prefix")
        for name, parameter in parameters:
            if name in averages:
                yield parameter, (name, averages[name])
