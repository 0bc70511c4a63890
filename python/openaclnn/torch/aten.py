# Opt-in: the gradient of every torch.nn.Embedding on the CPU computed by openaclnn, by overriding aten's kernels.
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
    """aten's operator of this name with openaclnn's in it. Compilers see the latter; aten's they would take apart."""
    if sparse:
        return torch.ops.aten.embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    return torch.ops.openaclnn.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def _forget_compiled(tag):
    """Compiled functions hold the gradient that there was: those of this process are made anew, and those that PyTorch keeps in
    files have a mark in their names. What tracing found out about operators is forgotten, too."""
    for name in ("embedding_backward", "embedding_dense_backward"):
        getattr(getattr(torch.ops.aten, name).default, "_dispatch_cache", {}).clear()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    settings = importlib.import_module("torch.compiler.config") if versions.VERSION >= (2, 7) else None
    if hasattr(settings, "cache_key_tag"):
        settings.cache_key_tag = settings.cache_key_tag.replace(_TAG, "") + tag


def enable_embedding_backward() -> None:
    """From now on openaclnn computes the gradient of every dense embedding on the CPU, also in functions of torch.compile.

    aten::embedding_backward and aten::embedding_dense_backward are overridden. Results then have the same bits in every run
    and for any number of threads. Functions that were compiled before are compiled again when they are called next. float64
    gradients are added one row after the other; sparse ones stay aten's.

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
    """Gives aten its own kernels back. Needs PyTorch 2.1; older versions raise RuntimeError."""
    global _override
    if _override is not None:
        versions.require((2, 1), "disable_embedding_backward")
        if versions.VERSION >= (2, 2):
            _override._destroy()
        else:
            _override.m = None  # what holds the kernels
        _override = None
        _forget_compiled("")
