# Memory figures of torch.npu, which are those of this process, and the machine's free and total memory.
"""torch.npu.memory. Device memory is memory of the process, so "allocated" and "reserved" are its resident set."""
from __future__ import annotations

import gc
import resource
from typing import TYPE_CHECKING

import torch

from openaclnn import _native
from openaclnn.compat.npu_ops import registry

_Device = torch.device | str | int | None


if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name, "torch.npu.memory")


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Returns free and total bytes of the machine."""
    free, total = _native.memory_info()
    return free, total


def memory_allocated(device: _Device = None) -> int:
    """Returns the bytes of memory that the process holds."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize()


def max_memory_allocated(device: _Device = None) -> int:
    """Returns the most bytes that the process held since its start or the last reset_peak_memory_stats()."""
    with open("/proc/self/status") as lines:
        peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    peak = peaks[0] if peaks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(peak * 1024, memory_allocated())


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Makes max_memory_allocated() count from now on.

    Linux counts and offers a reset in /proc/self/clear_refs. Systems that refuse it go on counting from the start.
    """
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def empty_cache() -> None:
    """Returns memory that the library keeps for its next calls to the system. Freed tensors are already returned."""
    _native.release_memory()


def ipc_collect() -> None:
    """Frees unreachable tensors."""
    gc.collect()


def memory_stats(device: _Device = None) -> dict[str, int]:
    """Returns the figures that exist here, by PyTorch's names.

    These are the current values and peaks of allocated_bytes, active_bytes and reserved_bytes for all pools, for example
    "allocated_bytes.all.peak". num_alloc_retries and num_ooms are 0: without memory the process ends.
    """
    now, peak = memory_allocated(), max_memory_allocated()
    stats = {f"{figure}.all.{kind}": value for figure in ("allocated_bytes", "active_bytes", "reserved_bytes")
             for kind, value in (("current", now), ("peak", peak))}
    return {**stats, "num_alloc_retries": 0, "num_ooms": 0}


def memory_summary(device: _Device = None, abbreviated: bool = False) -> str:
    """Returns the figures of memory_stats() and mem_get_info() in MiB, one a line."""
    free, total = mem_get_info()
    figures = {"process, now": memory_allocated(), "process, peak": max_memory_allocated(), "machine, free": free,
               "machine, total": total}
    return "\n".join(f"{name:<15}{value / 2**20:>12,.1f} MiB" for name, value in figures.items())
