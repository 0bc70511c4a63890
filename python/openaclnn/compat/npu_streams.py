# Streams and events of torch.npu. Functions on the CPU have finished when they return, so nothing waits.
"""torch.npu.streams. Operations of all streams run in program order; events record the time."""
from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator

import torch

from openaclnn.compat import npu_devices

_Device = torch.device | str | int | None


def synchronize(device: _Device = None) -> None:
    """Does nothing: Python functions have waited for their results."""


class Event:
    """A point in time. With enable_timing it records its time for elapsed_time."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Records the time."""
        self._time = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Returns the milliseconds from this event to another. Both must have been recorded with enable_timing."""
        for name, event in (("this event", self), ("end", end)):
            if event._time is None or not event.enable_timing:
                raise RuntimeError(f"{name} has no time; make it with Event(enable_timing=True) and record() it")
        return (end._time - self._time) * 1e3  # type: ignore[operator]

    def query(self) -> bool:
        """Returns True: recorded work is complete."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Does nothing: recorded work is complete."""

    def synchronize(self) -> None:
        """Does nothing: recorded work is complete."""


class ExternalEvent(Event):
    """An event that programs reset, so that later waits block until the next record. Here the work before a wait is complete."""

    def __init__(self) -> None:
        super().__init__()

    def reset(self, stream: Stream | None = None) -> None:
        """Forgets the record."""
        self._time = None


class Stream:
    """An order of operations. Operations of all streams run in program order.

    npu_stream and stream_id are a number: 0 for the default stream, and another one for each further stream.
    """

    _numbers = itertools.count()

    def __init__(self, device: _Device = None, priority: int = 0) -> None:
        self.device = npu_devices.chosen()
        self.priority = priority
        self.npu_stream = self.stream_id = next(self._numbers)

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

    def wait_stream(self, stream: Stream) -> None:
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


def is_current_stream_capturing() -> bool:
    """Returns False: there are no graphs here, and NPUGraph raises an error."""
    return False
