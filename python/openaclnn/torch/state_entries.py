# The entries of a model's state dict that are its parameters, also where hooks of the model give them other names.
"""Wrappers such as those of activation checkpoints rename entries in hooks of state_dict()."""
from __future__ import annotations

import inspect
from typing import Any, Iterator

import torch
from torch import Tensor

from openaclnn.torch import versions


def named_parameters(model: torch.nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yields names and parameters of a model. Tied parameters appear under each of their names."""
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{prefix}.{name}" if prefix else name, parameter


def _memory(tensor: Tensor) -> tuple[Any, ...] | None:
    """Returns a value that tensors share if they are the same elements of the same memory, or None for tensors without memory."""
    own = versions.local(tensor)
    try:
        address = own.data_ptr()
    except RuntimeError:  # a subclass without memory of its own
        return None
    return (address, own.dtype, own.shape, own.stride()) if address else None


class StateEntries:
    """The state dict of a model, `values`, and which entries are parameters.

    A hook may have replaced a parameter by a tensor in the same memory, or by a copy under the same name. A copy under another name
    can't be recognized.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        # A model's own state_dict() may lack the argument.
        accepted = inspect.signature(model.state_dict).parameters
        is_kept = "keep_vars" in accepted or any(one.kind == one.VAR_KEYWORD for one in accepted.values())
        self.values: dict[str, Any] = model.state_dict(keep_vars=True) if is_kept else model.state_dict()
        # After state_dict(), before which FSDP2 replaces parameters by their shards.
        self.named = dict(named_parameters(model))
        parameters = {id(parameter): parameter for parameter in self.named.values()}
        buffers = set(map(id, model.buffers()))
        tensors = {name: value for name, value in self.values.items() if isinstance(value, Tensor)}
        self.parameters = {name: parameters[id(value)] for name, value in tensors.items() if id(value) in parameters}
        others = {name: value for name, value in tensors.items() if id(value) not in parameters and id(value) not in buffers}
        by_memory = {_memory(parameter): parameter for parameter in parameters.values() if others}
        by_memory.pop(None, None)
        found = {name: by_memory.get(_memory(value), self.named.get(name)) for name, value in others.items()}
        self.parameters.update((name, parameter) for name, parameter in found.items() if parameter is not None)
        self.unknown = [name for name, parameter in found.items() if parameter is None]

    def lost(self) -> Iterator[tuple[str, Tensor]]:
        """Yields the names and parameters of the model without an entry, if they may be entries that aren't recognized."""
        present = set(map(id, self.parameters.values()))
        if self.unknown:
            yield from ((name, parameter) for name, parameter in self.named.items() if id(parameter) not in present)
