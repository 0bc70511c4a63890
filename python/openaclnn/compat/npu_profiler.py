# torch_npu.profiler: PyTorch's profiler of the CPU, with the names that programs for NPUs use.
"""torch_npu.profiler after `import openaclnn.compat.torch_npu`.

profile() records functions on the CPU and writes PyTorch's trace format. Its levels and metrics are those of an NPU, so
experimental_config has no effect.
"""
from __future__ import annotations

import enum
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch.profiler
from torch.profiler import ProfilerAction, schedule

from openaclnn.compat.npu_ops import registry

__all__ = ["AiCMetrics", "ExportType", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "profile", "schedule",
           "supported_activities", "tensorboard_trace_handler"]
__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message

if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name, "torch_npu.profiler")


class ProfilerActivity(enum.Enum):
    """The activities of torch_npu. Both record the CPU."""

    CPU = "cpu"
    NPU = "npu"


def supported_activities() -> set[ProfilerActivity]:
    """Returns both activities."""
    return set(ProfilerActivity)


# Settings of an NPU's profiler; programs pass them to _ExperimentalConfig.
ProfilerLevel = enum.Enum("ProfilerLevel", "Level_none Level0 Level1 Level2")
ExportType = enum.Enum("ExportType", "Text Db")
AiCMetrics = enum.Enum("AiCMetrics", "AiCoreNone PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB "
                       "ResourceConflictRatio L2Cache MemoryAccess")


class _ExperimentalConfig(types.SimpleNamespace):
    """Settings of an NPU's profiler; they have no effect."""


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, analyse_flag: bool = True,
                              **options: Any) -> Callable[[Any], None]:
    """Returns PyTorch's handler, which writes a trace into a folder. Nothing remains to be analysed."""
    handler: Callable[[Any], None] = torch.profiler.tensorboard_trace_handler(dir_name, worker_name)
    return handler


class profile(torch.profiler.profile):  # noqa: N801
    """torch.profiler.profile of the CPU. experimental_config has no effect."""

    def __init__(self, activities: Any = None, *, experimental_config: Any = None, **options: Any) -> None:
        super().__init__(activities=[torch.profiler.ProfilerActivity.CPU], **options)
