# torch_npu without an NPU: its functions that have an operator here, its devices, and torch.npu, on the chosen device.
"""Import openaclnn.compat.torch_npu instead of torch_npu, or before it. If the real torch_npu is loaded, it does not change
torch.

The functions npu_… have the signatures of torch_npu. torch.ops.npu has them except for npu_apply_fused_ema_adamw. The modules of
openaclnn.compat.npu_ops have those that compute with PyTorch's operators. The device "npu" is that of set_device(), by default
the CPU: see openaclnn.compat.npu_devices. torch.npu is openaclnn.compat.npu. torch_npu.testing, optim and profiler are
npu_testing, npu_optim and npu_profiler beside it, and torch_npu.contrib.transfer_to_npu is npu_transfer.
"""
import sys
from typing import TYPE_CHECKING

import torch

from openaclnn import compat
from openaclnn.compat import npu as npu
from openaclnn.compat import npu_contrib, npu_devices, npu_library, npu_optim, npu_profiler, npu_testing
from openaclnn.compat.npu_devices import set_device as set_device
from openaclnn.compat.npu_ops import layout, registry
from openaclnn.compat.npu_ops.activation import *  # noqa: F403
from openaclnn.compat.npu_ops.attention import *  # noqa: F403
from openaclnn.compat.npu_ops.attention_dropout import _npu_dropout_gen_mask as _npu_dropout_gen_mask
from openaclnn.compat.npu_ops.attention_grad import *  # noqa: F403
from openaclnn.compat.npu_ops.grouped_matmul import *  # noqa: F403
from openaclnn.compat.npu_ops.layout import *  # noqa: F403
from openaclnn.compat.npu_ops.matmul import *  # noqa: F403
from openaclnn.compat.npu_ops.moe import *  # noqa: F403
from openaclnn.compat.npu_ops.moe_routing_map import *  # noqa: F403
from openaclnn.compat.npu_ops.norm import *  # noqa: F403
from openaclnn.compat.npu_ops.nsa import *  # noqa: F403
from openaclnn.compat.npu_ops.optimizer import *  # noqa: F403
from openaclnn.compat.npu_ops.rotary import *  # noqa: F403
from openaclnn.compat.npu_ops.scaled_masked_softmax import *  # noqa: F403

__version__ = torch.__version__.partition("+")[0]  # torch_npu's version is that of its PyTorch
__path__: list[str] = []  # so that importing a missing part raises openaclnn.compat's error message


if not TYPE_CHECKING:  # type checkers would accept every name
    def __getattr__(name):
        raise registry.missing(name)


_PARTS = {"": npu, ".amp": npu.amp, ".memory": npu.memory, ".random": npu.random, ".streams": npu.streams}  # of torch.npu


def _install() -> None:
    if not compat.offer("torch_npu", sys.modules[__name__]):
        return  # the real torch_npu has changed torch itself, or will
    for name, module in _PARTS.items():
        compat.offer(f"torch_npu.npu{name}", module)
    compat.offer("torch_npu.contrib", npu_contrib)
    compat.offer("torch_npu.optim", npu_optim)
    for name in ("", ".profiler"):
        compat.offer(f"torch_npu.profiler{name}", npu_profiler)
    for name in ("", ".testcase", ".common_utils"):
        compat.offer(f"torch_npu.testing{name}", npu_testing)
    npu_devices.install()
    for method in layout.METHODS:
        npu_devices.replace(torch.Tensor, method.__name__, method)
    npu_library.install()
    if not hasattr(torch, "npu"):
        for name, module in _PARTS.items():
            compat.offer(f"torch.npu{name}", module, beside=True)


def uninstall() -> None:
    """Reverts the import: removes torch_npu and torch.npu, and "npu" is no longer translated."""
    npu_devices.uninstall()
    npu_library.uninstall()
    if getattr(torch, "npu", None) is npu:
        del torch.npu
    compat.withdraw("torch.npu", "torch_npu")


_install()
