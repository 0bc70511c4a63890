# The functions of torch.npu that scripts call, on the chosen device: device numbers, streams, events, memory, random numbers,
# autocast.
"""torch.npu and torch_npu.npu after `import openaclnn.compat.torch_npu`.

Python functions wait for their results, so operations are always in order, and events record the time. Memory is that of the
process. Settings of an NPU's compiler and arithmetic are accepted and have no effect.
"""
import contextlib
import resource
import time
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from openaclnn import _native
from openaclnn.compat import npu_devices
from openaclnn.compat.npu_devices import set_device as set_device

__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message

_Device = torch.device | str | int | None

config = types.SimpleNamespace(allow_internal_format=False)
matmul = types.SimpleNamespace(allow_hf32=False)
conv = types.SimpleNamespace(allow_hf32=False)


if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise AttributeError(f"torch.npu.{name} isn't supported: openaclnn.compat.torch_npu stands in for torch_npu and has the "
                             "parts that docs/from_torch_npu.md lists", name=name)


# ---- devices


def is_available() -> bool:
    """Returns True: operators compute, on the chosen device."""
    return True


def is_initialized() -> bool:
    """Returns True."""
    return True


def init() -> None:
    """Does nothing: there is nothing to initialise."""


def device_count() -> int:
    """Returns the number of the library's devices."""
    return _native.device_count()  # type: ignore[no-any-return]


def current_device() -> int:
    """Returns the number of the last set_device(); initially 0."""
    return npu_devices.index()


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


def set_compile_mode(**modes: object) -> None:
    """Does nothing: operators are already compiled."""


def set_option(options: dict[str, object]) -> None:
    """Does nothing: the options are those of an NPU's compiler."""


# ---- streams and events


def synchronize(device: _Device = None) -> None:
    """Does nothing: Python functions have waited for their results."""


class Event:
    """A point in the order of operations. With enable_timing it records its time for elapsed_time."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: "Stream | None" = None) -> None:
        """Records the time."""
        self._time = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        """Returns the milliseconds from this event to another. Both must have been recorded with enable_timing."""
        for name, event in (("this event", self), ("end", end)):
            if event._time is None or not event.enable_timing:
                raise RuntimeError(f"{name} has no time; make it with Event(enable_timing=True) and record() it")
        return (end._time - self._time) * 1e3  # type: ignore[operator]

    def query(self) -> bool:
        """Returns True: recorded work is complete."""
        return True

    def wait(self, stream: "Stream | None" = None) -> None:
        """Does nothing: recorded work is complete."""

    def synchronize(self) -> None:
        """Does nothing: recorded work is complete."""


class Stream:
    """An order of operations. Operations of all streams run in program order."""

    def __init__(self, device: _Device = None, priority: int = 0) -> None:
        self.device = npu_devices.chosen()

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event, or a new one if none is given. Returns it."""
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Returns True: all work is complete."""
        return True

    def wait_event(self, event: Event) -> None:
        """Does nothing: recorded work is complete."""

    def wait_stream(self, stream: "Stream") -> None:
        """Does nothing: all work is complete."""

    def synchronize(self) -> None:
        """Does nothing: all work is complete."""


_default_stream = Stream()
_current_stream = _default_stream


def default_stream(device: _Device = None) -> Stream:
    """Returns the stream that is current unless another one was set."""
    return _default_stream


def current_stream(device: _Device = None) -> Stream:
    """Returns the stream that set_stream() or stream() chose."""
    return _current_stream


def set_stream(stream: Stream) -> None:
    """Makes a stream the current one."""
    global _current_stream
    _current_stream = stream


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A context in which another stream is current; None does not change it."""
    before = _current_stream
    set_stream(stream or before)
    try:
        yield
    finally:
        set_stream(before)


# ---- memory


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Returns free and total bytes of the machine."""
    free, total = _native.memory_info()
    return free, total


def memory_allocated(device: _Device = None) -> int:
    """Returns the bytes of memory that the process holds."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize()


def max_memory_allocated(device: _Device = None) -> int:
    """Returns the most bytes that the process held since its start."""
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, memory_allocated())


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Does nothing: the system counts from the start of the process."""


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Returns memory that the library keeps for its next calls to the system. Freed tensors are already returned."""
    _native.release_memory()


# ---- random numbers, which are those of the CPU


def manual_seed(seed: int) -> None:
    """Seeds PyTorch's generator."""
    torch.manual_seed(seed)


manual_seed_all = manual_seed


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


# ---- mixed precision


class _Autocast(torch.autocast):
    """torch.autocast of the chosen device. Without a dtype it uses that device's default: bfloat16 on the CPU."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__(npu_devices.chosen().type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


if hasattr(torch.amp, "GradScaler"):
    class _GradScaler(torch.amp.GradScaler):
        """torch.amp.GradScaler of the chosen device."""

        def __init__(self, *numbers: float, enabled: bool = True, **more: Any) -> None:
            super().__init__(npu_devices.chosen().type, *numbers, enabled=enabled, **more)
else:
    class _GradScaler(torch.cuda.amp.GradScaler):  # type: ignore[no-redef]
        """PyTorch's scaler. Before 2.3 it supports only GPUs: elsewhere it does not scale."""

        def __init__(self, *numbers: float, enabled: bool = True, **more: Any) -> None:
            super().__init__(*numbers, enabled=enabled and npu_devices.chosen().type == "cuda", **more)


amp = types.ModuleType("torch.npu.amp", "autocast and GradScaler, by openaclnn.compat.npu.")
amp.autocast, amp.GradScaler = _Autocast, _GradScaler  # type: ignore[attr-defined]
