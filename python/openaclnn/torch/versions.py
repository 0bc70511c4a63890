# Differences between versions of PyTorch, from 1.13 up, and the error message for functions that a version lacks.
"""Everything else in openaclnn.torch is written for all versions."""
from __future__ import annotations

import contextlib
import sys

import torch


def _numbers(text):
    digits = text.split("+")[0].split("a")[0].split("rc")[0]
    return tuple(int(part) for part in digits.split(".")[:2])


VERSION = _numbers(torch.__version__)


def require(version, feature):
    """Raises an error if this PyTorch is older than `version`, a pair of numbers."""
    if VERSION < version:
        wanted = ".".join(map(str, version))
        raise RuntimeError(f"{feature} needs PyTorch {wanted} or newer; this is {torch.__version__}")


def increment_versions(tensors):
    """Tells autograd that tensors were written, so that a backward pass that saved them fails instead of using new values."""
    if VERSION >= (2, 5):
        torch.autograd.graph.increment_version(tensors)
    elif VERSION >= (2, 1):
        for tensor in tensors:
            torch.autograd.graph.increment_version(tensor)
    else:  # an in-place operation on none of its elements
        for tensor in tensors:
            tensor.unsqueeze(0)[:0].zero_()


def count_up(steps, found_inf=None):
    """Adds 1 to every counter, unless a gradient scaler skipped the step. It does not read found_inf, which says so.

    Newer versions are three times as fast with a tensor, because they convert a number each time."""
    if found_inf is not None:
        torch._foreach_add_(steps, [(found_inf == 0).to(steps[0].dtype).reshape(())] * len(steps))
    elif VERSION >= (2, 3) and steps[0].dtype == torch.float32:
        torch._foreach_add_(steps, torch.ones((), dtype=torch.float32, device="cpu"), alpha=1.0)
    else:
        torch._foreach_add_(steps, 1)


@contextlib.contextmanager
def _older_below_autograd():
    guard = torch._C._AutoDispatchBelowAutograd()  # a guard that works as long as it lives
    try:
        yield
    finally:
        del guard


# Inside, operators go directly to their kernels: autograd has already run.
below_autograd = torch._C._AutoDispatchBelowAutograd
if not hasattr(below_autograd, "__enter__"):
    below_autograd = _older_below_autograd


def is_compiling():
    """Returns whether torch.compile traces the program, which PyTorch reports reliably since 2.4."""
    return VERSION >= (2, 4) and torch.compiler.is_compiling()


def in_functorch():
    """Returns whether a transform of torch.func is active, which PyTorch reports since 2.1. A compiler traces only
    operators."""
    if VERSION < (2, 1) or is_compiling():
        return False
    return torch._C._are_functorch_transforms_active()


def any_derivative(values):
    """Returns whether one of the tensors among values has a gradient or a tangent to pass on."""
    if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in values):
        return True
    forward = torch.autograd.forward_ad
    return forward._current_level >= 0 and any(isinstance(value, torch.Tensor) and forward.unpack_dual(value).tangent is not None
                                               for value in values)


def sym_max(a, b):
    """Returns the larger of two ints, which may be symbols in a compiler."""
    return torch.sym_max(a, b) if VERSION >= (2, 1) else max(a, b)


def autocast_dtype():
    """Returns the dtype that torch.autocast casts operands of products to, or None if it is off."""
    if VERSION >= (2, 4):
        return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def as_autocast(input, weight, dtypes, dtype=None):
    """Casts operands of a product as torch.autocast casts those of PyTorch, or to another dtype. Only operands with one of
    dtypes are cast, and only where autocast is on."""
    on = autocast_dtype()
    if on is None:
        return input, weight
    return tuple(tensor.to(dtype or on) if tensor.dtype in dtypes else tensor for tensor in (input, weight))


def processes():
    """Returns the number of processes of torch.distributed, 1 without it."""
    is_used = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if is_used else 1


def is_dtensor(tensor):
    """Returns whether a tensor is sharded over processes (FSDP2, tensor parallelism)."""
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter) and hasattr(tensor, "to_local")


def any_dtensor(tensors):
    """Returns whether any of many tensors is sharded. It checks types, of which there are few."""
    return any(hasattr(kind, "to_local") for kind in set(map(type, tensors)))


def placed_as(tensor, model):
    """Returns a tensor distributed over processes like another one, which may need communication: sequence parallelism
    leaves gradients of replicated parameters as parts of a sum."""
    if is_dtensor(tensor) and is_dtensor(model) and tuple(tensor.placements) != tuple(model.placements):
        return tensor.redistribute(placements=model.placements)
    return tensor


def distributed_as(tensor, model):
    """Returns a tensor that all processes have, distributed over them like another one. A tensor distributed already may be
    distributed differently."""
    if is_dtensor(model) and not is_dtensor(tensor):
        from torch.distributed.tensor import distribute_tensor

        return distribute_tensor(tensor, model.device_mesh, model.placements)
    return placed_as(tensor, model)


def local(tensor):
    """Returns the part of a tensor that this process holds, or the tensor itself if it is not sharded. It shares memory."""
    return tensor.to_local() if is_dtensor(tensor) else tensor


def is_fake(tensor):
    """Returns whether a tensor has no numbers because FakeTensorMode made it, as programs do that estimate memory."""
    module = sys.modules.get("torch._subclasses.fake_tensor")  # not all versions import it
    return module is not None and isinstance(local(tensor), module.FakeTensor)
