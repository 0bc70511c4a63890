# Operators behind torch_npu's functions whose results depend on numbers in tensors: torch.ops.openaclnn_npu.*
"""Compilers trace an operator with its shape rule, without the data. Kernels read the data and check it.

grouped_rows and grouped_columns are derivatives of each other, so they have gradients of any order.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from openaclnn.torch import versions

library: Any = torch.library.Library("openaclnn_npu", "DEF")


def _operator(schema: str, fake: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a kernel under a schema, with a rule for tensors without data."""
    def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.partition("(")[0]
        library.define(schema)
        library.impl(name, kernel, "CompositeExplicitAutograd")
        library.impl(name, fake, "Meta")
        operator: Callable[..., Any] = getattr(torch.ops.openaclnn_npu, name)
        return operator

    return register


@_operator("group_ends(str function, Tensor group_list, int kind, SymInt total, SymInt[]? sizes) -> Tensor",
           fake=lambda function, group_list, kind, total, sizes: torch.empty_like(group_list))
def group_ends(function: str, group_list: torch.Tensor, kind: int, total: int, sizes: list[int] | None) -> torch.Tensor:
    """Returns the ends of the groups, int64 [G]. kind is 0 for a list of ends, 1 for one of sizes.

    RuntimeError: the ends decrease, the last one is not `total`, or the groups do not have `sizes`.
    """
    ends = group_list.cumsum(0) if kind == 1 else group_list.clone()
    found = ends.diff(prepend=ends.new_zeros(1)).tolist()
    if any(size < 0 for size in found):
        raise RuntimeError(f"{function}: group_list is {group_list.tolist()}; group {next(i for i, n in enumerate(found) if n < 0)} "
                           "has a negative size")
    if sum(found) != total:
        raise RuntimeError(f"{function}: the groups of group_list have {sum(found)} elements; they must have {total}")
    if sizes is not None and found != list(sizes):
        raise RuntimeError(f"{function}: the groups of group_list have the sizes {found}; the tensors have {list(sizes)}")
    return ends


@_operator("grouped_rows(Tensor x, Tensor weight, Tensor ends) -> Tensor",
           fake=lambda x, weight, ends: x.new_empty((x.shape[0], weight.shape[2])))
def grouped_rows(x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Returns x [M, K] times, for the rows of each group, its matrix of weight [G, K, N]: [M, N]."""
    result, start = x.new_empty((x.shape[0], weight.shape[2])), 0
    for group, end in enumerate(ends.tolist()):
        torch.mm(x[start:end], weight[group], out=result[start:end])
        start = end
    return result


@_operator("grouped_columns(Tensor x, Tensor weight, Tensor ends) -> Tensor",
           fake=lambda x, weight, ends: x.new_empty((ends.shape[0], x.shape[0], weight.shape[1])))
def grouped_columns(x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Returns, for each group, its columns of x [M, K] times its rows of weight [K, N]: [G, M, N]."""
    result, start = x.new_empty((ends.shape[0], x.shape[0], weight.shape[1])), 0
    for group, end in enumerate(ends.tolist()):
        torch.mm(x[:, start:end], weight[start:end], out=result[group])
        start = end
    return result


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight, ends)
        with versions.below_autograd():
            return torch.ops.openaclnn_npu.grouped_rows(x, weight, ends)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        x, weight, ends = ctx.saved_tensors
        grad, wants = grads[0], ctx.needs_input_grad
        return (grouped_rows(grad, weight.transpose(1, 2), ends) if wants[0] else None,
                grouped_columns(x.t(), grad, ends) if wants[1] else None, None)


class _Columns(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight, ends)
        with versions.below_autograd():
            return torch.ops.openaclnn_npu.grouped_columns(x, weight, ends)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        x, weight, ends = ctx.saved_tensors
        grad, wants = grads[0], ctx.needs_input_grad
        return (grouped_rows(weight, grad.transpose(1, 2), ends).t() if wants[0] else None,
                grouped_rows(x.t(), grad, ends) if wants[1] else None, None)


library.impl("grouped_rows", _Rows.apply, "Autograd")
library.impl("grouped_columns", _Columns.apply, "Autograd")


@_operator("routed_order(str function, Tensor routing_map, SymInt count, SymInt per_row) -> Tensor",
           fake=lambda function, routing_map, count, per_row: routing_map.new_empty((count,), dtype=torch.int64))
def routed_order(function: str, routing_map: torch.Tensor, count: int, per_row: int) -> torch.Tensor:
    """Returns the flat positions of the first `count` nonzero elements of a matrix, in their order: int64 [count].

    RuntimeError: there are fewer, or per_row is not negative and a row has another number of them.
    """
    chosen = routing_map != 0
    if per_row >= 0 and bool((chosen.sum(1) != per_row).any()):
        raise RuntimeError(f"{function}: routing_map has rows with {chosen.sum(1).unique().tolist()} experts; sorted_indices has "
                           f"{per_row} for each row")
    found = chosen.reshape(-1).nonzero().squeeze(1)
    if len(found) < count:
        raise RuntimeError(f"{function}: {count} rows are needed but routing_map chooses {len(found)} pairs of token and "
                           "expert")
    return found[:count].clone()
