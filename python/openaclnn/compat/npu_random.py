# Random numbers of torch.npu, which are those of PyTorch's generator for the CPU.
"""torch.npu.random. Tensors on "npu" and on the CPU draw from one generator."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from openaclnn.compat import npu_devices

_Device = torch.device | str | int | None


class _OneForAll(Sequence[torch.Generator]):
    """Generators by the numbers of devices. Each is PyTorch's own."""

    def __getitem__(self, index: Any) -> Any:
        return torch.default_generator

    def __len__(self) -> int:
        return 1


default_generators = _OneForAll()


def manual_seed(seed: int) -> None:
    """Seeds PyTorch's generator."""
    # torch.manual_seed would call this function again where transfer_to_npu has replaced torch.cuda.manual_seed_all.
    torch.default_generator.manual_seed(int(seed))
    if npu_devices.chosen().type == "cuda":
        torch.cuda.manual_seed_all(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds PyTorch's generator with a number from the system."""
    torch.default_generator.seed()


seed_all = seed


def initial_seed() -> int:
    """Returns the seed of PyTorch's generator."""
    return torch.initial_seed()


def get_rng_state(device: _Device = None) -> torch.Tensor:
    """Returns the state of PyTorch's generator."""
    return torch.get_rng_state()


def set_rng_state(new_state: torch.Tensor, device: _Device = None) -> None:
    """Sets the state of PyTorch's generator."""
    torch.set_rng_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """Returns the state of PyTorch's generator, in a list."""
    return [get_rng_state()]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the state of PyTorch's generator to the first of a list."""
    set_rng_state(next(iter(new_states)))
