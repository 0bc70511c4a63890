# Opt-in: overrides aten's kernels so that openaclnn computes the gradient of every torch.nn.Embedding on the CPU.
"""enable_embedding_backward() and disable_embedding_backward()."""
from __future__ import annotations

import importlib
import sys
import warnings

import torch

from openaclnn.torch import kernels, versions

_override = None
_TAG = "openaclnn.embedding_backward"


def _embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse):
    """aten's operator of this name, with openaclnn's operator inside. Compilers see the latter; they would decompose aten's."""
    if sparse:
        return torch.ops.aten.embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    # Transforms of torch.func and tensors that hold others have rules only for aten's operator. Its CPU kernel is openaclnn's.
    needs_aten = _in_functorch() or _holds_tensors(grad) or _holds_tensors(indices)
    library = torch.ops.aten if needs_aten else torch.ops.openaclnn
    return library.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def _in_functorch():
    """Returns whether a transform of torch.func is active, also inside torch.compile."""
    return versions.VERSION >= (2, 1) and torch._C._are_functorch_transforms_active()


def _holds_tensors(tensor):
    """Returns whether a tensor holds others: a DTensor, a nested tensor."""
    return versions.is_dtensor(tensor) or hasattr(tensor, "__tensor_flatten__")


def _forget_compiled(tag):
    """Discards compiled functions, which contain the previous gradient. This process compiles its functions again, and files
    that PyTorch keeps get a different mark in their names. Traced facts about operators are also discarded."""
    for name in ("embedding_backward", "embedding_dense_backward"):
        getattr(getattr(torch.ops.aten, name).default, "_dispatch_cache", {}).clear()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    settings = importlib.import_module("torch.compiler.config") if versions.VERSION >= (2, 7) else None
    if hasattr(settings, "cache_key_tag"):
        settings.cache_key_tag = settings.cache_key_tag.replace(_TAG, "") + tag


def enable_embedding_backward() -> None:
    """Makes openaclnn compute the gradient of every dense embedding on the CPU, also in functions of torch.compile.

    aten::embedding_backward and aten::embedding_dense_backward are overridden. Results then have the same bits in every run and
    for any number of threads. Functions compiled before are compiled again at their next call. float64 gradients are added one
    row after the other; sparse gradients stay with aten.

    Source: the formula of aten::embedding_dense_backward.
    """
    global _override
    if _override is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library = torch.library.Library("aten", "IMPL")
            library.impl("embedding_dense_backward", kernels.embedding_dense_backward, "CPU")
            library.impl("embedding_backward", _embedding_backward, "AutogradCPU")
        _override = library
        _forget_compiled(_TAG)


def disable_embedding_backward() -> None:
    """Restores aten's own kernels. Needs PyTorch 2.1; older versions raise RuntimeError."""
    global _override
    if _override is not None:
        versions.require((2, 1), "disable_embedding_backward")
        if versions.VERSION >= (2, 2):
            _override._destroy()
        else:
            _override.m = None  # the library object that holds the kernels
        _override = None
        _forget_compiled("")
