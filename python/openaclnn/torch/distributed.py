# Support for many processes: embeddings with a distributed table, counts of a whole batch, and pieces of sequences.
"""Operators work on the data of one process; torch.distributed communicates. DDP, ZeroRedundancyOptimizer, FSDP2 and DTensor
need nothing from this module: openaclnn.torch.FusedEmaAdamW updates the part of a parameter that a process holds."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.distributed as dist

from openaclnn import _native
from openaclnn.torch import gradients, kernels, ops, shapes

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["VocabParallelEmbedding", "global_counts", "nsa_piece", "vocab_range"]


def vocab_range(num_embeddings: int, group: dist.ProcessGroup | None = None) -> tuple[int, int]:
    """Returns the rows [start, end) of a table that this process holds: equal parts, the first ones one row longer if
    necessary.

    group: the processes; None: all.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    share, rest = divmod(num_embeddings, size)
    start = rank * share + min(rank, rest)
    return start, start + share + (rank < rest)


class _Part(NamedTuple):
    """The rows of a table that this process holds, and what a lookup needs to know of the whole table."""

    limits: dict[str, int]  # vocab_start, vocab_end, vocab_size of the native functions
    padding_idx: int


class _Rows(torch.autograd.Function):
    """Rows of this process's part, zeros for the others, without a copy of indices or a mask in Python."""

    @staticmethod
    def forward(ctx, weight, indices, counts, part):
        ctx.save_for_backward(indices, counts)
        ctx.part = part
        return _native.embedding(weight.detach(), indices, **part.limits)

    @staticmethod
    def backward(ctx, grad):
        return _RowsGrad.apply(grad, *ctx.saved_tensors, ctx.part), None, None, None


class _RowsGrad(torch.autograd.Function):
    """The gradient of _Rows for this process's part of the table. It is linear in grad: its derivative is a lookup again."""

    @staticmethod
    def forward(ctx, grad, indices, counts, part):
        ctx.save_for_backward(indices, counts)
        ctx.part = part
        rows = part.limits["vocab_end"] - part.limits["vocab_start"]
        out = grad.new_empty([rows, grad.shape[-1]], dtype=grad.dtype if counts is None else torch.float32)
        _native.embedding_dense_backward(grad.detach(), indices, rows, part.padding_idx, out=out, **part.limits)
        if counts is not None:
            out.mul_((1.0 / counts.clamp(min=1).to(torch.float32)).unsqueeze(1))
        return out.to(grad.dtype)

    @staticmethod
    def backward(ctx, to_table):
        indices, counts = ctx.saved_tensors
        if counts is not None:
            to_table = gradients.divided(to_table, counts)
        rows = _Rows.apply(to_table, indices, None, ctx.part._replace(padding_idx=-1))
        if ctx.part.padding_idx >= 0:
            rows = rows.masked_fill((indices == ctx.part.padding_idx).unsqueeze(-1), 0)
        return rows, None, None, None


class _SumOfRanks(torch.autograd.Function):
    """All-reduce whose gradient is passed on unchanged: every rank computes the same from the sum."""

    @staticmethod
    def forward(ctx, values, group):
        ctx.group = group
        values = values.contiguous().clone()
        dist.all_reduce(values, group=group)
        return values

    @staticmethod
    def backward(ctx, grad):
        return _SameOnRanks.apply(grad, ctx.group), None


class _SameOnRanks(torch.autograd.Function):
    """Passes on a tensor that all ranks have. Each rank uses it for its own part, so its gradient is a sum over ranks."""

    @staticmethod
    def forward(ctx, values, group):
        ctx.group = group
        return values.view_as(values)

    @staticmethod
    def backward(ctx, grad):
        return _SumOfRanks.apply(grad, ctx.group), None


class VocabParallelEmbedding(torch.nn.Module):
    """An embedding whose table is split by rows over the processes of a group. Every process passes the same indices.

    The result is that of torch.nn.Embedding on one process, bit by bit: one process has the value of each row, and the others
    add zeros. The same holds for the gradients of the parts.

    Parameters
    ----------
    num_embeddings, embedding_dim, padding_idx, device, dtype : of the whole table, as in torch.nn.Embedding; dtype is
        float32, float16 or bfloat16.
    group : the processes; None: all.
    scale_grad_by_freq : divide a row's gradient by how often it occurs: in `counts` of forward if given (use global_counts if
    batches differ between processes), otherwise in the indices.

    Derivatives of any order exist. A backward pass through a gradient, such as that of a gradient penalty, communicates: every
    process runs it, with the penalty of its own part of the table.

    ValueError: padding_idx is not a row. TypeError: another dtype. AclnnIndexError: an index is outside the whole table.
    Source: the formulas of aten::embedding and aten::embedding_dense_backward.
    """

    weight: torch.nn.Parameter

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 group: dist.ProcessGroup | None = None, scale_grad_by_freq: bool = False,
                 device: torch.device | str | int | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(f"padding_idx is {padding_idx}; it must be in [{-num_embeddings}, {num_embeddings}), negative ones "
                                 "counted from the end")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.group, self.scale_grad_by_freq = group, scale_grad_by_freq
        self.vocab_start, self.vocab_end = vocab_range(num_embeddings, group)
        rows = self.vocab_end - self.vocab_start
        self.weight = torch.nn.Parameter(torch.empty(rows, embedding_dim, device=device, dtype=dtype))
        self._require_dtype()
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws this process's rows as torch.nn.Embedding does, with zeros for padding_idx. Use it after to_empty()."""
        torch.nn.init.normal_(self.weight)
        if self.padding_idx is not None and self.vocab_start <= self.padding_idx < self.vocab_end:
            self.weight[self.padding_idx - self.vocab_start].zero_()

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        scale = ", scale_grad_by_freq=True" if self.scale_grad_by_freq else ""
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{scale}, rows=[{self.vocab_start}, {self.vocab_end})"

    def _require_dtype(self) -> None:
        if self.weight.dtype not in kernels.FLOATS:
            raise TypeError(f"the table is {self.weight.dtype}; VocabParallelEmbedding has gradients of float32, float16 and "
                            "bfloat16")

    @torch.no_grad()
    def load_whole(self, table: Tensor) -> None:
        """Copies this process's rows from the whole table, [num_embeddings, embedding_dim]. ValueError: it has another
        shape."""
        if tuple(table.shape) != (self.num_embeddings, self.embedding_dim):
            raise ValueError(f"table has shape {list(table.shape)}; it must be [{self.num_embeddings}, {self.embedding_dim}]")
        self.weight.copy_(table[self.vocab_start:self.vocab_end])

    def forward(self, input: Tensor, counts: Tensor | None = None) -> Tensor:
        """Returns rows of the whole table: the shape of input, int32 or int64, followed by embedding_dim.

        counts: int64 [num_embeddings], for scale_grad_by_freq. ValueError: it has another shape. TypeError: it is not a tensor
        of integers.
        """
        self._require_dtype()
        if counts is not None:
            ops.require_counts(counts, self.num_embeddings)
        if self.scale_grad_by_freq and counts is None:
            counts = _native.embedding_counts(input, self.num_embeddings)
        local_counts = counts[self.vocab_start:self.vocab_end] if self.scale_grad_by_freq else None
        padding = -1 if self.padding_idx is None else self.padding_idx
        limits = dict(vocab_start=self.vocab_start, vocab_end=self.vocab_end, vocab_size=self.num_embeddings)
        rows = _Rows.apply(self.weight, input, local_counts, _Part(limits, padding))
        whole: Tensor = _SumOfRanks.apply(rows, self.group)
        return whole


def global_counts(indices: Tensor, num_embeddings: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """Returns how often each row occurs in the indices of all processes: int64 [num_embeddings], the same on all.

    With scale_grad_by_freq and a batch that is split over processes, PyTorch divides by the counts of each process's own batch.
    Pass the global counts to embedding_dense_backward(counts=…) or VocabParallelEmbedding instead.
    """
    counts = ops.embedding_counts(indices, num_embeddings)
    dist.all_reduce(counts, group=group)
    return counts


def nsa_piece(tokens: int, compress_block_size: int, compress_stride: int,
              group: dist.ProcessGroup | None = None) -> tuple[int, int, int, int]:
    """Returns where this process's piece of one sequence of `tokens` tokens starts and ends, and its windows.

    Windows are split into equal parts. Returns (first token, token after the last, first window, window after the last). The
    pieces overlap by the block size minus the stride, the halo that a process needs from its neighbour.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    windows = shapes.count_windows(tokens, compress_block_size, compress_stride)
    first, after = windows * rank // size, windows * (rank + 1) // size
    if first == after:
        return 0, 0, first, after
    return first * compress_stride, (after - 1) * compress_stride + compress_block_size, first, after
