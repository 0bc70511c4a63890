# Attention as PyTorch operators, with shapes for tracing and a gradient: torch.ops.openaclnn_npu_attention.attention and its backward.
"""The operators are private. npu_ops.attention checks arguments and brings tensors of all layouts into the shape
[batch, heads, tokens, numbers]."""
from __future__ import annotations

from typing import Any

import torch

from openaclnn.compat.npu_ops import attention_blocks, attention_masks
from openaclnn.compat.npu_ops.attention_options import SCHEMA, Options
from openaclnn.torch import versions

_TENSORS = "Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor? pse, Tensor? sink, Tensor? dropout_mask"
_COUNT = 7  # tensors of _TENSORS

library = torch.library.Library("openaclnn_npu_attention", "DEF")
library.define(f"attention({_TENSORS}, {SCHEMA}) -> (Tensor, Tensor, Tensor)")
library.define(f"attention_backward(Tensor grad, Tensor out, Tensor maxima, Tensor sums, bool gradient_of_pse, {_TENSORS}, "
               f"{SCHEMA}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")


def _attention(*inputs):
    call = attention_blocks.Call(*inputs[:_COUNT], Options(*inputs[_COUNT:]))
    attention_masks.require_compressed(call.mask, call.options)
    with torch.autocast(call.query.device.type, enabled=False):
        return attention_blocks.forward(call)


def _attention_backward(grad, out, maxima, sums, gradient_of_pse, *inputs):
    call = attention_blocks.Call(*inputs[:_COUNT], Options(*inputs[_COUNT:]))
    with torch.autocast(call.query.device.type, enabled=False):
        return attention_blocks.backward(call, grad, out, maxima, sums, gradient_of_pse)


def _fake_attention(query, key, value, *others):
    statistics = query.new_empty(query.shape[:3], dtype=attention_blocks.work_dtype(query.dtype))
    return query.new_empty([*query.shape[:3], value.shape[3]]), statistics, torch.empty_like(statistics)


def _fake_attention_backward(grad, out, maxima, sums, gradient_of_pse, query, key, value, mask, pse, sink, *others):
    empty = query.new_empty([0], dtype=attention_blocks.work_dtype(query.dtype))
    return (*(torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in (query, key, value)),
            torch.empty_like(pse, memory_format=torch.contiguous_format) if gradient_of_pse else empty,
            torch.empty_like(sink) if sink is not None else empty)


def attention(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns attention_blocks.forward(). Takes the tensors of attention_blocks.Call and the values of Options."""
    results: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = torch.ops.openaclnn_npu_attention.attention(*inputs)
    return results


def attention_backward(*inputs: Any) -> tuple[torch.Tensor, ...]:
    """Returns attention_blocks.backward(). Takes its arguments from grad on, then those of attention()."""
    results: tuple[torch.Tensor, ...] = torch.ops.openaclnn_npu_attention.attention_backward(*inputs)
    return results


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        with versions.below_autograd():
            out, maxima, sums = attention(*inputs)
        ctx.save_for_backward(*inputs[:_COUNT], out, maxima, sums)
        ctx.options = inputs[_COUNT:]
        ctx.mark_non_differentiable(maxima, sums)
        return out, maxima, sums

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, *_: Any) -> Any:
        *tensors, out, maxima, sums = ctx.saved_tensors
        of_pse = ctx.needs_input_grad[4]
        dq, dk, dv, dpse, dsink = attention_backward(grad, out, maxima, sums, of_pse, *tensors, *ctx.options)
        return (dq, dk, dv, None, dpse if of_pse else None, dsink if ctx.needs_input_grad[5] else None, None,
                *[None] * len(ctx.options))


class _AttentionBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        with versions.below_autograd():
            return attention_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError("npu_fusion_attention: the gradient has no gradient (second derivatives are not supported); "
                           "call backward() or torch.autograd.grad() without create_graph=True")


def _register(name, kernel, fake, function):
    library.impl(name, kernel, "CompositeExplicitAutograd")
    if versions.VERSION >= (2, 4):
        torch.library.register_fake(f"openaclnn_npu_attention::{name}", fake, lib=library)
    elif versions.VERSION >= (2, 2):
        torch.library.impl_abstract(f"openaclnn_npu_attention::{name}", fake, lib=library)
    else:
        library.impl(name, fake, "Meta")

    def differentiable(*inputs):
        if versions.any_derivative(inputs):
            if versions.in_functorch():
                raise RuntimeError("npu_fusion_attention has no derivatives inside transforms of torch.func; use backward()")
            return function.apply(*inputs)
        with versions.below_autograd():
            return getattr(torch.ops.openaclnn_npu_attention, name)(*inputs)

    library.impl(name, differentiable, "Autograd")


_register("attention", _attention, _fake_attention, _Attention)
_register("attention_backward", _attention_backward, _fake_attention_backward, _AttentionBackward)
