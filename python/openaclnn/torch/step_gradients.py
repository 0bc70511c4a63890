# Gradients that a step would reject: found before the first of its native calls writes anything.
"""A native call checks its own tensors before it writes. A step of several calls needs these checks before the first."""
from __future__ import annotations

from operator import attrgetter

from openaclnn import errors
from openaclnn.torch import kernels, options, versions

_FLOATS = frozenset(kernels.FLOATS)
_dtype_of = attrgetter("dtype")


def require_all(groups, work):
    """Checks the gradients of a step's groups: of each its options, its RepeatedSteps, and lists of parameters and gradients, or
    None if RepeatedSteps found them. The first group with gradients is left out: nothing is written before its own checks."""
    later = [parts for parts in work if parts[2] is None or parts[2]][1:]
    for group, _, parameters, grads in later:
        if parameters is None:
            _require_found(groups, group)
        else:
            require(groups, group, parameters, grads)


def _require_found(groups, group):
    """Checks dtypes only, because most steps run this: with small tensors, shapes would take several percent of a step. PyTorch
    has checked shapes when the gradients were assigned."""
    grads = [grad for parameter in group["params"] if (grad := parameter.grad) is not None]
    if not _FLOATS.issuperset(map(_dtype_of, grads)):
        for parameter in group["params"]:
            if parameter.grad is not None and parameter.grad.dtype not in _FLOATS:
                _refuse(groups, parameter, parameter.grad)


def require(groups, group, parameters, grads):
    """Checks gradients that the general step uses. groups is for error messages."""
    if versions.any_dtensor(parameters):  # whose parts a process knows only after communication
        for parameter, grad in zip(parameters, grads):
            if grad.dtype not in _FLOATS or grad.shape != parameter.shape:
                _refuse(groups, parameter, grad)
        return
    for parameter, grad in zip(parameters, grads):
        if grad.dtype not in _FLOATS or grad.get_device() != parameter.get_device() or not grad.is_same_size(parameter):
            _refuse(groups, parameter, grad)
        if grad.is_neg() and not group["offload"]:  # which copies gradients
            _refuse(groups, parameter, grad)


def renamed(error, step, parameters):
    """Returns an error of the native module with a message that starts with the name of the step. Other errors are not changed."""
    if isinstance(error, errors.AclnnError):
        return errors.renamed(error, step)
    if any(parameter.is_meta for parameter in parameters):  # rejected before a call has a name
        return ValueError(f"{step}: a parameter is on meta, a device without memory; create the parameters with to_empty() before")
    return error


def _refuse(groups, parameter, grad):
    where = f"{options.place_of(groups, parameter)}: its gradient"
    if grad.dtype not in _FLOATS:
        raise TypeError(f"{where} has dtype {grad.dtype}; it must be torch.float32, torch.float16 or torch.bfloat16")
    if grad.device != parameter.device:
        raise ValueError(f"{where} is on {grad.device}, but the parameter is on {parameter.device}; they must be on one device")
    if grad.shape != parameter.shape:
        raise ValueError(f"{where} has shape {list(grad.shape)}, but the parameter has {list(parameter.shape)}; they must be equal")
    raise TypeError(f"{where} is a negative that PyTorch has not computed yet; pass its .resolve_neg()")
