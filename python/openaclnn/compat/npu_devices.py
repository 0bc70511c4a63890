# The device "npu" without an NPU: PyTorch's functions that take a device get the chosen one, the CPU by default.
"""openaclnn.compat.torch_npu calls install() and uninstall().

No backend is registered. "npu", "npu:0" or a bare number, as scripts for torch_npu write them, are replaced in device
arguments: in torch.device and torch.Generator, in the functions that make tensors, in Tensor.to and Module.to, in autocast and
GradScaler, and when a file is loaded. In torch.distributed the backend "hccl" becomes "gloo". Memory of the CPU counts as
pinned: pin_memory() returns the tensor. After translate_cuda() the same applies to "cuda" and "nccl".
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
_kinds: tuple[str, ...] = ("npu",)  # types of devices that stand for the chosen one
_backends: tuple[str, ...] = ("hccl",)  # of torch.distributed, which gloo stands for
_replaced: list[tuple[Any, str, Any]] = []  # object, name, original value; None: the attribute was inherited
_is_registered = False

_MAKERS = """arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye
from_file full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like randint
randint_like randn randn_like randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros zeros_like""".split()
_METHODS = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros".split()


_Argument = tuple[int | None, str, Callable[[Any], Any]]  # position, keyword, translation


def is_npu(device: object) -> bool:
    """Returns whether an argument names an NPU, or after translate_cuda() a GPU."""
    if isinstance(device, str):
        return device.partition(":")[0] in _kinds and re.fullmatch(r"\w+(:\d+)?", device) is not None
    if isinstance(device, _DEVICE):
        return device.type in _kinds and device.type != _chosen.type
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
    is_meant = isinstance(backend, str) and any(name in backend.lower() for name in _backends)
    return "gloo" if is_meant else backend


def _bound_meant(device: Any) -> Any:
    """Returns the device that a process group may be bound to: none on the CPU."""
    return None if meant(device) == torch.device("cpu") else device


def _type_name_meant(name: Any) -> Any:
    """Returns "torch.FloatTensor" for "torch.npu.FloatTensor"."""
    if not isinstance(name, str) or not name.startswith(tuple(f"torch.{kind}." for kind in _kinds)):
        return name
    return f"torch.{'' if _chosen.type == 'cpu' else _chosen.type + '.'}{name.split('.', 2)[2]}"


def _pinning_meant(pin_memory: Any) -> Any:
    return pin_memory and _chosen.type != "cpu"


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


def replace(where: Any, name: str, value: Any) -> None:
    """Replaces or adds an attribute of a module or class until uninstall()."""
    before = vars(where).get(name)
    in_scripts = _builtins._find_builtin(before) if before is not None else None
    if in_scripts:
        _builtins._register_builtin(value, in_scripts)
    _replaced.append((where, name, before))
    setattr(where, name, value)


def _translating(function: Callable[..., Any], arguments: tuple[_Argument, ...]) -> Callable[..., Any]:
    """Wraps a function so that arguments are translated: those with these keywords or at these positions."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for at, keyword, by in arguments:
            if keyword in kwargs:
                kwargs[keyword] = by(kwargs[keyword])
            elif at is not None and len(args) > at:
                args = (*args[:at], by(args[at]), *args[at + 1:])
        return function(*args, **kwargs)

    return call


def _translate(where: Any, name: str, *arguments: _Argument) -> None:
    """Replaces a function by one that translates arguments."""
    function = getattr(where, name, None)
    if function is None:  # missing in this version of PyTorch
        return
    call = _translating(function, arguments)
    # Pickles hold a function's name; the name of PyTorch's own function may not lead to its replacement.
    is_class = isinstance(where, type)
    call.__module__, call.__qualname__ = (where.__module__, f"{where.__qualname__}.{name}") if is_class else (where.__name__, name)
    replace(where, name, call)


_DEVICE_KEYWORD: _Argument = (None, "device", meant)
_PINNED: _Argument = (None, "pin_memory", _pinning_meant)


def _stand_in_for(name: str) -> None:
    original = getattr(torch, name)
    replace(torch, name, _StandIn(name, (), {"original": original, "__module__": "torch", "__doc__": original.__doc__}))


def _translate_processes() -> None:
    """Replaces hccl by gloo, and the devices of groups, meshes and parallel modules on the CPU by the CPU or None."""
    distributed = torch.distributed
    for name, at in (("init_process_group", 0), ("new_group", None)):
        _translate(distributed, name, (at, "backend", _backend_meant), (None, "device_id", _bound_meant))
    replace(distributed, "is_hccl_available", distributed.is_available)
    if hasattr(distributed, "device_mesh"):
        for where in (distributed, distributed.device_mesh):
            _translate(where, "init_device_mesh", (0, "device_type", _type_meant))
        _translate(distributed.device_mesh.DeviceMesh, "__init__", (1, "device_type", _type_meant))
    original = torch.nn.parallel.DistributedDataParallel.__init__

    @functools.wraps(original)
    def initialize(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any) -> None:
        if _chosen.type == "cpu":
            device_ids = output_device = None
        original(self, module, device_ids, output_device, *args, **kwargs)

    replace(torch.nn.parallel.DistributedDataParallel, "__init__", initialize)


def _moved(self: Any, device: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    return self.to(_chosen, non_blocking=non_blocking, **options)


def _pin_on_the_cpu() -> None:
    """Makes all memory of the CPU pinned memory: the chosen device reads it directly. PyTorch pins for other devices."""
    pin, is_pinned = torch.Tensor.pin_memory, torch.Tensor.is_pinned

    @functools.wraps(pin)
    def pin_memory(self: torch.Tensor, *device: Any, **named: Any) -> torch.Tensor:
        return self if _chosen.type == self.device.type == "cpu" else pin(self, *device, **named)

    @functools.wraps(is_pinned)
    def has_pinned_memory(self: torch.Tensor, *device: Any, **named: Any) -> bool:
        return _chosen.type == self.device.type == "cpu" or is_pinned(self, *device, **named)

    replace(torch.Tensor, "pin_memory", pin_memory)
    replace(torch.Tensor, "is_pinned", has_pinned_memory)


def _fork_on_the_cpu() -> None:
    """Makes fork_rng() keep the CPU's generator, which is that of the chosen device, and no others."""
    original = torch.random.fork_rng

    @functools.wraps(original)
    def fork_rng(devices: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original(() if _chosen.type == "cpu" else devices, *args, **kwargs)

    replace(torch.random, "fork_rng", fork_rng)


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
        _translate(torch, name, _DEVICE_KEYWORD, _PINNED)
    for name in ("fftfreq", "rfftfreq"):
        _translate(torch.fft, name, _DEVICE_KEYWORD)
    for name in _METHODS:
        _translate(torch.Tensor, name, _DEVICE_KEYWORD, _PINNED)
    for where in (torch.Tensor, torch.nn.Module):
        _translate(where, "to", (1, "device", meant))
        replace(where, "npu", _moved)
    _translate(torch.nn.Module, "to_empty", _DEVICE_KEYWORD)
    _translate(torch.Tensor, "type", (1, "dtype", _type_name_meant))
    _translate(torch, "set_default_tensor_type", (0, "t", _type_name_meant))
    replace(torch.Tensor, "is_npu", property(lambda self: self.device.type == _chosen.type))
    _pin_on_the_cpu()
    _fork_on_the_cpu()
    _translate(torch.autocast, "__init__", (1, "device_type", _type_meant))
    if hasattr(torch.amp, "GradScaler"):
        _translate(torch.amp.GradScaler, "__init__", (1, "device", _type_meant))
    if torch.distributed.is_available():
        _translate_processes()
    if not _is_registered:
        torch.serialization.register_package(19, lambda storage: None, _stored)
        _is_registered = True


def translate_cuda() -> None:
    """Makes "cuda" and "nccl" mean the same as "npu" and "hccl", for transfer_to_npu, until uninstall()."""
    global _kinds, _backends
    _kinds, _backends = ("npu", "cuda"), ("hccl", "nccl")
    for where in (torch.Tensor, torch.nn.Module):
        replace(where, "cuda", _moved)
    replace(torch.Tensor, "is_cuda", property(lambda self: self.device.type == _chosen.type))
    if torch.distributed.is_available():
        replace(torch.distributed, "is_nccl_available", torch.distributed.is_available)


def uninstall() -> None:
    """Restores the functions that install() and translate_cuda() replaced."""
    global _kinds, _backends
    _kinds, _backends = ("npu",), ("hccl",)
    while _replaced:
        where, name, before = _replaced.pop()
        _builtins._get_builtin_table().pop(id(vars(where)[name]), None)
        if before is None:
            delattr(where, name)
        else:
            setattr(where, name, before)
