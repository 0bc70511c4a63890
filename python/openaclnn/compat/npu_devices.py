# The device "npu" without an NPU: PyTorch's functions that take a device get the chosen one, the CPU by default.
"""openaclnn.compat.torch_npu calls install() and uninstall().

No backend is registered. "npu", "npu:0" or a bare number, as scripts for torch_npu write them, are replaced in device
arguments: in torch.device and torch.Generator, in the functions that make tensors, in Tensor.to and Module.to, in autocast and
GradScaler, and when a file is loaded. In torch.distributed the backend "hccl" becomes "gloo".
"""
import functools
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.jit import _builtins  # TorchScript's table of functions; it has no public name

from openaclnn._platform import computes_on_gpu
from openaclnn.torch import versions

_DEVICE = torch.device
_chosen = torch.device("cuda" if computes_on_gpu else "cpu")
_index = 0
_replaced: list[tuple[Any, str, Any]] = []  # object, name, original value; None: the attribute was inherited
_is_registered = False

_MAKERS = """arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye
from_file full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like randint
randint_like randn randn_like randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros zeros_like""".split()
_METHODS = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros".split()


def is_npu(device: object) -> bool:
    """Returns whether an argument names an NPU."""
    if isinstance(device, str):
        return re.fullmatch(r"npu(:\d+)?", device) is not None
    return isinstance(device, int) and not isinstance(device, bool)


def meant(device: Any) -> Any:
    """Returns the chosen device in place of an NPU, or any other value unchanged."""
    return _chosen if is_npu(device) else device


def chosen() -> torch.device:
    """Returns the device that "npu" stands for."""
    return _chosen


def index() -> int:
    """Returns the NPU number of the last set_device()."""
    return _index


def set_device(device: torch.device | str | int) -> None:
    """Chooses the device that "npu" stands for: a torch.device or its name. If it names an NPU, only its number is kept."""
    global _chosen, _index
    if not is_npu(device):
        _chosen = torch.device(device)
    elif isinstance(device, int):
        _index = device if device >= 0 else _index  # as in PyTorch, a negative number changes nothing
    else:
        _index = int(str(device).partition(":")[2] or _index)


def _type_meant(device: Any) -> Any:
    return _chosen.type if is_npu(device) else device


def _backend_meant(backend: Any) -> Any:
    return "gloo" if isinstance(backend, str) and "hccl" in backend.lower() else backend


class _StandIn(type):
    """The type of classes that replace C classes, which cannot be derived from. They make objects of the C class, or return
    the chosen device. They are equal to the C class in isinstance, == and keys of dictionaries."""

    original: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        device = args[0] if args else kwargs.get("type", kwargs.get("device"))
        if not is_npu(device):
            return cls.original(*args, **kwargs)
        return _chosen if cls.original is _DEVICE else cls.original(_chosen)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(getattr(subclass, "original", subclass), cls.original)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)


def _replace(where: Any, name: str, value: Any) -> None:
    before = vars(where).get(name)
    in_scripts = _builtins._find_builtin(before) if before is not None else None
    if in_scripts:
        _builtins._register_builtin(value, in_scripts)
    _replaced.append((where, name, before))
    setattr(where, name, value)


def add_method(where: Any, name: str, function: Callable[..., Any]) -> None:
    """Adds a method to a class of PyTorch until uninstall()."""
    _replace(where, name, function)


def _translating(function: Callable[..., Any], at: int | None, keyword: str,
                 by: Callable[[Any], Any] = meant) -> Callable[..., Any]:
    """Wraps a function so that one argument is translated: the one with this keyword or at this position."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if keyword in kwargs:
            kwargs[keyword] = by(kwargs[keyword])
        elif at is not None and len(args) > at:
            args = (*args[:at], by(args[at]), *args[at + 1:])
        return function(*args, **kwargs)

    return call


def _translate(where: Any, name: str, at: int | None, keyword: str = "device", by: Callable[[Any], Any] = meant) -> None:
    """Replaces a function by one that translates one argument."""
    function = getattr(where, name, None)
    if function is None:  # missing in this version of PyTorch
        return
    call = _translating(function, at, keyword, by)
    # Pickles hold a function's name; the name of PyTorch's own function may not lead to its replacement.
    is_class = isinstance(where, type)
    call.__module__, call.__qualname__ = (where.__module__, f"{where.__qualname__}.{name}") if is_class else (where.__name__, name)
    _replace(where, name, call)


def _stand_in_for(name: str) -> None:
    original = getattr(torch, name)
    _replace(torch, name, _StandIn(name, (), {"original": original, "__module__": "torch", "__doc__": original.__doc__}))


def _translate_processes() -> None:
    """Replaces hccl by gloo, and the device list of modules on the CPU by None."""
    for name in ("init_process_group", "new_group"):
        _translate(torch.distributed, name, 0 if name == "init_process_group" else None, "backend", _backend_meant)
    original = torch.nn.parallel.DistributedDataParallel.__init__

    @functools.wraps(original)
    def initialize(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any) -> None:
        if _chosen.type == "cpu":
            device_ids = output_device = None
        original(self, module, device_ids, output_device, *args, **kwargs)

    _replace(torch.nn.parallel.DistributedDataParallel, "__init__", initialize)


def _stored(storage: Any, location: str) -> Any:
    """Loads a storage that was saved on an NPU, or that is wanted there."""
    return torch.serialization.default_restore_location(storage, str(_chosen)) if _replaced and is_npu(location) else None


def install() -> None:
    """Translates devices from now on, and adds npu() and is_npu to tensors and modules."""
    global _is_registered
    if versions.VERSION >= (2, 0):
        # A device context applies to a set of functions that PyTorch makes once. The set must hold PyTorch's own functions,
        # with which the context is called, so it is made before they are replaced.
        from torch.utils import _device

        _device._device_constructors()
    for name in ("device", "Generator"):
        _stand_in_for(name)
    for name in _MAKERS:
        _translate(torch, name, None)
    for name in ("fftfreq", "rfftfreq"):
        _translate(torch.fft, name, None)
    for name in _METHODS:
        _translate(torch.Tensor, name, None)
    for where in (torch.Tensor, torch.nn.Module):
        _translate(where, "to", 1)
        _replace(where, "npu", lambda self, device=None, non_blocking=False: self.to(_chosen, non_blocking=non_blocking))
    _translate(torch.nn.Module, "to_empty", None)
    _replace(torch.Tensor, "is_npu", property(lambda self: self.device.type == _chosen.type))
    _translate(torch.autocast, "__init__", 1, "device_type", _type_meant)
    if hasattr(torch.amp, "GradScaler"):
        _translate(torch.amp.GradScaler, "__init__", 1, "device", _type_meant)
    if torch.distributed.is_available():
        _translate_processes()
    if not _is_registered:
        torch.serialization.register_package(19, lambda storage: None, _stored)
        _is_registered = True


def uninstall() -> None:
    """Restores the functions that install() replaced."""
    while _replaced:
        where, name, before = _replaced.pop()
        _builtins._get_builtin_table().pop(id(vars(where)[name]), None)
        if before is None:
            delattr(where, name)
        else:
            setattr(where, name, before)
