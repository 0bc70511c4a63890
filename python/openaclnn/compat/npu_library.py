# torch.ops.npu: the functions of torch_npu as PyTorch operators, which programs and compilers also call by that name.
"""openaclnn.compat.torch_npu calls install() and uninstall(). The operators are those of openaclnn.compat.npu_ops.registry."""
from typing import Any

import torch

from openaclnn.compat.npu_ops import registry

_library: Any = None


def install() -> None:
    """Defines the operators."""
    global _library
    _library = torch.library.Library("npu", "DEF")
    registry.install_operators(_library)


def uninstall() -> None:
    """Removes the operators."""
    global _library
    if _library is None:
        return
    if hasattr(_library, "_destroy"):
        _library._destroy()
    _library = None
    if "npu" in vars(torch.ops):
        del torch.ops.npu
