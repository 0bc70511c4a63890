# Mixed precision of torch.npu: PyTorch's own classes for the chosen device.
"""torch.npu.amp: autocast, GradScaler and, from PyTorch 2.4 on, custom_fwd and custom_bwd."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from openaclnn.compat import npu_devices
from openaclnn.compat.npu_ops import registry

if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name, "torch.npu.amp")


class autocast(torch.autocast):  # noqa: N801
    """torch.autocast of the chosen device. Without a dtype it uses that device's default: bfloat16 on the CPU."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__(npu_devices.chosen().type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


if hasattr(torch.amp, "GradScaler"):
    class GradScaler(torch.amp.GradScaler):
        """torch.amp.GradScaler of the chosen device."""

        def __init__(self, *numbers: Any, enabled: bool = True, **more: Any) -> None:
            super().__init__(npu_devices.chosen().type, *numbers, enabled=enabled, **more)  # type: ignore[misc]
else:
    class GradScaler(torch.cuda.amp.GradScaler):  # type: ignore[no-redef]
        """PyTorch's scaler. Before 2.3 it supports only GPUs: elsewhere it does not scale."""

        def __init__(self, *numbers: Any, enabled: bool = True, **more: Any) -> None:
            super().__init__(*numbers, enabled=enabled and npu_devices.chosen().type == "cuda", **more)


if hasattr(torch.amp, "custom_fwd"):
    def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
        """torch.amp.custom_fwd of the chosen device: decorates forward() of an autograd function."""
        return torch.amp.custom_fwd(fwd, device_type=npu_devices.chosen().type, cast_inputs=cast_inputs)

    def custom_bwd(bwd: Callable[..., Any] | None = None) -> Any:
        """torch.amp.custom_bwd of the chosen device: decorates backward() of an autograd function."""
        return torch.amp.custom_bwd(bwd, device_type=npu_devices.chosen().type)
