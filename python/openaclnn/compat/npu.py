# The functions of torch.npu that scripts call, on the chosen device: device numbers, options, and the parts of other modules.
"""torch.npu and torch_npu.npu after `import openaclnn.compat.torch_npu`.

Functions of streams and events, memory, random numbers and mixed precision are also here: see openaclnn.compat.npu_streams,
npu_memory, npu_random and npu_amp. Settings of an NPU's compiler and arithmetic are accepted and have no effect. Other names
raise an error that is a NotImplementedError and an AttributeError. Graphs (NPUGraph) are among them: the operators of this
package that Python calls directly would be missing in a graph.
"""
from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from openaclnn import _native
from openaclnn.compat import npu_amp as amp
from openaclnn.compat import npu_devices
from openaclnn.compat import npu_memory as memory
from openaclnn.compat import npu_random as random
from openaclnn.compat import npu_streams as streams
from openaclnn.compat.npu_devices import set_device
from openaclnn.compat.npu_memory import (empty_cache, ipc_collect, max_memory_allocated, max_memory_reserved, mem_get_info,
                                         memory_allocated, memory_reserved, memory_stats, memory_summary,
                                         reset_max_memory_allocated, reset_max_memory_reserved, reset_peak_memory_stats)
from openaclnn.compat.npu_ops import registry
from openaclnn.compat.npu_random import (default_generators, get_rng_state, get_rng_state_all, initial_seed, manual_seed,
                                         manual_seed_all, seed, seed_all, set_rng_state, set_rng_state_all)
from openaclnn.compat.npu_streams import (Event, ExternalEvent, Stream, current_stream, default_stream,
                                          is_current_stream_capturing, set_stream, stream, synchronize)

__all__ = [
    "Event", "ExternalEvent", "Stream", "amp", "can_device_access_peer", "config", "conv", "current_device", "current_stream",
    "default_generators", "default_stream", "device", "device_count", "device_of", "empty_cache", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed", "ipc_collect", "is_available",
    "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "manual_seed", "manual_seed_all", "matmul",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory", "memory_allocated", "memory_reserved",
    "memory_stats", "memory_summary", "random", "reset_max_memory_allocated", "reset_max_memory_reserved",
    "reset_peak_memory_stats", "seed", "seed_all", "set_compile_mode", "set_device", "set_option", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "streams", "synchronize"]
__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message

_Device = torch.device | str | int | None
_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()

config = types.SimpleNamespace(allow_internal_format=False)
matmul = types.SimpleNamespace(allow_hf32=False)
conv = types.SimpleNamespace(allow_hf32=False)


if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        if name.removesuffix("Tensor") in _TYPES and name.endswith("Tensor"):  # torch.npu.FloatTensor
            return getattr(torch.cuda if npu_devices.chosen().type == "cuda" else torch, name)
        raise registry.missing(name, "torch.npu")


def is_available() -> bool:
    """Returns True: operators compute, on the chosen device."""
    return True


def is_initialized() -> bool:
    """Returns True."""
    return True


def init() -> None:
    """Does nothing: there is nothing to initialise."""


_lazy_init = init


def _lazy_call(function: Callable[[], Any], **options: Any) -> None:
    """Calls the function at once, because nothing is initialised later."""
    function()


def _is_in_bad_fork() -> bool:
    """Returns False: forked processes can compute."""
    return False


def device_count() -> int:
    """Returns the number of the library's devices."""
    return _native.device_count()  # type: ignore[no-any-return]


def current_device() -> int:
    """Returns the number of the last set_device(); initially 0."""
    return npu_devices.index()


def can_device_access_peer(device_id: int, peer_device_id: int) -> bool:
    """Returns True: all numbers stand for one device."""
    return True


def get_device_name(device: _Device = None) -> str:
    """Returns the library's name of its device."""
    return _native.soc_name()  # type: ignore[no-any-return]


def get_device_properties(device: _Device = None) -> types.SimpleNamespace:
    """Returns an object with name and total_memory in bytes."""
    return types.SimpleNamespace(name=get_device_name(), total_memory=mem_get_info()[1])


def is_bf16_supported() -> bool:
    """Returns True."""
    return True


@contextlib.contextmanager
def device(device: _Device) -> Iterator[None]:
    """A context in which current_device() is another device; None does not change it."""
    before = current_device()
    if device is not None:
        set_device(device)
    try:
        yield
    finally:
        set_device(before)


@contextlib.contextmanager
def device_of(obj: torch.Tensor) -> Iterator[None]:
    """A context that does not change the device: all tensors are on the chosen one."""
    yield


def set_compile_mode(**modes: object) -> None:
    """Does nothing: operators are already compiled."""


def set_option(options: dict[str, object]) -> None:
    """Does nothing: the options are those of an NPU's compiler."""
