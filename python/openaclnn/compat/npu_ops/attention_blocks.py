# Attention in blocks of queries and keys: running maxima and sums forward, recomputed weights backward.
"""Memory is linear in the number of tokens: each thread has memory for at most two blocks of scores.

Scores, weights and sums are float32, or float64 for float64 tensors. Tensors are [batch, heads, tokens, numbers of a head]. The
query heads of a group share a head of keys: their rows are rows of one matrix.
"""
from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Iterator

import torch

from openaclnn.compat.npu_ops import attention_threads
from openaclnn.compat.npu_ops.attention_bias import bias
from openaclnn.compat.npu_ops.attention_dropout import Dropout
from openaclnn.compat.npu_ops.attention_exp2 import exp2_, exp2_sums_
from openaclnn.compat.npu_ops.attention_masks import KnownTiles, Mask
from openaclnn.compat.npu_ops.attention_options import Options, Segment, segments

# Smaller blocks cost more calls of PyTorch, and larger ones skip less.
ROWS, COLUMNS = 512, 512
# Scores of a block. If all threads work on one block it is larger: a product then takes about a millisecond, which hides the
# cost of starting threads.
BLOCK, SHARED_BLOCK = 1 << 19, 1 << 20

# The base of weights moves only if scores exceed it by so many bits: moving it costs a pass over the block, and FLOAT has 127 bits.
FAR = 32

# Scores have the unit ln(2): 2**x takes half the time of e**x, and a tenth if weights are tiny.
LOG2_E = math.log2(math.e)


def work_dtype(dtype: torch.dtype) -> torch.dtype:
    """Returns the dtype of scores and statistics for tensors of a dtype."""
    return torch.float64 if dtype == torch.float64 else torch.float32


@dataclasses.dataclass
class Call:
    """The tensors and numbers of a call. Optional tensors have four axes, or the shape that their name's class documents."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    pse: torch.Tensor | None
    sink: torch.Tensor | None
    dropout_mask: torch.Tensor | None
    options: Options

    def __post_init__(self) -> None:
        self.dtype = work_dtype(self.query.dtype)
        batches, heads, rows, _ = self.query.shape
        self.keys, self.values = (tensor.to(self.dtype).contiguous() for tensor in (self.key, self.value))
        scores = self.keys.new_empty(0)
        self.bias = bias(self.pse, self.options, rows, scores)
        self.dropout = Dropout(self.options, self.dropout_mask, scores) if self.options.keep_prob < 1 else None
        self.known = KnownTiles()
        self.group = heads // max(1, self.key.shape[1])
        self.segments = list(segments(self.options, batches, heads, rows, self.key.shape[2], self.mask is not None))

    def pieces(self) -> list[tuple[Segment, slice, int]]:
        """Returns the arguments of parts: segments, cut at heads so that blocks are small. No two have a head of keys of one
        sequence."""
        threads, heads = torch.get_num_threads(), self.key.shape[1]
        pieces = self._pieces(BLOCK, heads * len(self.segments) // (2 * threads))  # two for each thread, if there are as many
        return pieces if len(pieces) >= threads else self._pieces(SHARED_BLOCK, heads)

    def _pieces(self, most: int, most_heads: int) -> list[tuple[Segment, slice, int]]:
        rows = max(1, ROWS // self.group)
        heads = self.key.shape[1]
        pieces = []
        for segment in self.segments:
            block = self.group * max(1, min(rows, segment.lengths[0])) * max(1, min(COLUMNS, segment.lengths[1]))
            step = max(1, min(most // block, most_heads))
            pieces += [(segment, slice(first, min(first + step, heads)), rows) for first in range(0, heads, step)]
        return pieces


class Part:
    """Some heads of a segment."""

    def __init__(self, call: Call, segment: Segment, kv_heads: slice, row_step: int) -> None:
        self.call, self.segment, self.kv_heads, self.row_step = call, segment, kv_heads, row_step
        self.heads = slice(kv_heads.start * call.group, kv_heads.stop * call.group)
        self.matrices = kv_heads.stop - kv_heads.start
        self.mask = Mask(segment, call.mask, call.options, call.known)
        self.keys, self.values = (self.columns_of(tensor) for tensor in (call.keys, call.values))
        self._buffers: list[torch.Tensor] = []

    def rows_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the rows of the part in a tensor [batch, heads, rows, …]."""
        return tensor[self.segment.batch, self.heads, self.segment.rows]

    def columns_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the columns of the part in a tensor [batch, key heads, columns, …]."""
        return tensor[self.segment.batch, self.kv_heads, self.segment.columns]

    def stacked(self, tensor: torch.Tensor, i0: int, i1: int) -> torch.Tensor:
        """Returns rows i0 to i1 of a tensor from rows_of() as scores need them: [matrices, rows of a group, numbers]."""
        rows = tensor[:, i0:i1].to(self.call.dtype)
        return rows.reshape(self.matrices, self.call.group * (i1 - i0), -1)

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Yields the first and the last row + 1 of each block of rows."""
        rows = self.segment.lengths[0]
        for first in range(0, rows, self.row_step):
            yield first, min(first + self.row_step, rows)

    def blocks(self, i0: int, i1: int) -> Iterator[tuple[int, int]]:
        """Yields the first column and the last + 1 of each block of which the rows see a part."""
        start, stop = self.mask.columns(i0, i1)
        for j0 in range(start, stop, COLUMNS):
            j1 = min(j0 + COLUMNS, stop)
            if not self.mask.hides_all(self.heads, i0, i1, j0, j1):
                yield j0, j1

    def buffer(self, number: int, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns memory for a block of scores, [matrices, rows of a group, columns]. The next block uses it again."""
        shape = self.matrices, self.call.group * (i1 - i0), j1 - j0
        count = shape[0] * shape[1] * shape[2]
        while len(self._buffers) <= number:
            self._buffers.append(self.keys.new_empty(0))
        if self._buffers[number].numel() < count:
            self._buffers[number] = self.keys.new_empty(count)
        return self._buffers[number][:count].view(shape)

    def by_head(self, scores: torch.Tensor, i0: int, i1: int) -> torch.Tensor:
        """Returns a block as [heads, rows, columns]; it shares memory."""
        return scores.view(-1, i1 - i0, scores.shape[-1])

    def scores(self, q: torch.Tensor, shift: torch.Tensor, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns a block of scores, whose unit is ln(2), in buffer 0, plus `shift`, a number of each row.

        The block has the position encoding. Hidden keys have scores so small that their weights are 0.
        """
        scores, keys = self.buffer(0, i0, i1, j0, j1), self.keys[:, j0:j1].mT
        tiles = self.mask.tiles(scores, self.heads, i0, i1, j0, j1)
        by_head = self.by_head(scores, i0, i1)
        # A sum with the product of matrices takes no longer than the product.
        if tiles:
            torch.add(tiles.pop(), self.by_head(shift, i0, i1), out=by_head)
            scores.baddbmm_(q, keys)
        else:
            torch.baddbmm(shift.expand(scores.shape), q, keys, out=scores)
        if self.call.bias is not None:
            by_head.add_(self.call.bias.tile(self.segment, self.heads, i0, i1, j0, j1), alpha=LOG2_E)
        for tile in tiles:
            by_head.add_(tile)
        return scores


def forward(call: Call) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the output, the maxima of the scores and the sums of their exponentials, both [batch, heads, rows].

    A sink is one more score. Rows that see no key have the output 0, the smallest number as maximum and 1 as sum.
    """
    query, dtype = call.query, call.dtype
    least = torch.finfo(dtype).min
    out = query.new_zeros([*query.shape[:3], call.value.shape[3]])
    maxima = torch.full(query.shape[:3], least, dtype=dtype, device=query.device)
    sums = torch.ones_like(maxima)

    def compute(piece: tuple[Segment, slice, int]) -> None:
        part = Part(call, *piece)
        queries = part.rows_of(query)
        for i0, i1 in part.row_blocks():
            q = part.stacked(queries, i0, i1) * (call.options.scale * LOG2_E)
            top = torch.full([*q.shape[:2], 1], least, dtype=dtype, device=q.device)
            total = torch.zeros_like(top)
            base = torch.zeros_like(top)  # weights are 2**(score - base)
            if call.sink is not None:
                part.by_head(top, i0, i1).copy_(call.sink[part.heads].view(-1, 1, 1)).mul_(LOG2_E)
                base.copy_(top)
                total.fill_(1)
            weighted = q.new_zeros([*q.shape[:2], call.value.shape[3]])
            settled = False  # whether the base of every row is the maximum of some of its scores
            for j0, j1 in part.blocks(i0, i1):
                scores = part.scores(q, base.neg(), i0, i1, j0, j1)
                rise = scores.amax(-1, keepdim=True)
                top = torch.maximum(top, base + rise)
                if not settled or rise.max() > FAR:
                    before, base = base, top.masked_fill(top <= least / 2, 0)
                    settled = bool((top > least / 2).all())
                    scores.add_(before.sub_(base))
                    shrink = before.clamp_(max=0).exp2_()  # a base moves down only where nothing was added yet
                    total.mul_(shrink)
                    weighted.mul_(shrink)
                total.add_(exp2_sums_(scores))
                if call.dropout is not None:
                    part.by_head(scores, i0, i1).mul_(call.dropout.tile(part.segment, part.heads, i0, i1, j0, j1))
                weighted.baddbmm_(scores, part.values[:, j0:j1])
            empty = top <= least / 2  # no key, or hidden keys only
            weighted.div_(total).masked_fill_(empty, 0)
            total.mul_(base.sub_(top).exp2_()).masked_fill_(empty, 1)
            top.mul_(1 / LOG2_E).masked_fill_(empty, least)
            part.rows_of(out)[:, i0:i1] = part.by_head(weighted, i0, i1)
            part.rows_of(maxima)[:, i0:i1] = part.by_head(top, i0, i1).squeeze(-1)
            part.rows_of(sums)[:, i0:i1] = part.by_head(total, i0, i1).squeeze(-1)

    attention_threads.for_each(compute, call.pieces())
    return out, maxima, sums


def backward(call: Call, grad: torch.Tensor, out: torch.Tensor, maxima: torch.Tensor, sums: torch.Tensor,
             gradient_of_pse: bool) -> tuple[torch.Tensor, ...]:
    """Returns the gradients of query, key, value, pse and sink; the last two are empty if there is none.

    The weights come from the given maxima and sums, which may cover more keys than those of the call.
    """
    dtype, scale = call.dtype, call.options.scale
    maxima, sums = maxima.to(dtype), sums.to(dtype)
    dq = torch.zeros_like(call.query, memory_format=torch.contiguous_format)
    # Transposed: adding to their rows takes four fifths of the time that adding to columns takes.
    dk, dv = (torch.zeros_like(tensor.mT, memory_format=torch.contiguous_format) for tensor in (call.keys, call.values))
    # Each row's weights are exp(score - maximum) / sum. The division is in the rows of grad instead.
    empty = maxima <= torch.finfo(dtype).min / 2
    inverse = sums.reciprocal().masked_fill_(empty, 0).unsqueeze(-1)
    tops = (maxima * LOG2_E).masked_fill_(empty, 0).unsqueeze(-1)
    dot = (grad.to(dtype) * out.to(dtype)).sum(-1, keepdim=True) * inverse
    if call.bias is not None and gradient_of_pse:
        call.bias.start_gradient()
    lock = threading.Lock()

    def compute(piece: tuple[Segment, slice, int]) -> None:
        part = Part(call, *piece)
        queries, grads = part.rows_of(call.query), part.rows_of(grad)
        keys_gradient, values_gradient = part.columns_of(dk.mT).mT, part.columns_of(dv.mT).mT
        for i0, i1 in part.row_blocks():
            q = part.stacked(queries, i0, i1) * scale
            q_of_scores, q_transposed = q * LOG2_E, q.mT.contiguous()
            g = part.stacked(grads, i0, i1) * part.stacked(part.rows_of(inverse), i0, i1)
            g_transposed = g.mT.contiguous()
            top = part.stacked(part.rows_of(tops), i0, i1).neg()
            shift = part.stacked(part.rows_of(dot), i0, i1).neg()
            to_query = torch.zeros_like(q)
            for j0, j1 in part.blocks(i0, i1):
                block = i0, i1, j0, j1
                weights, ds = exp2_(part.scores(q_of_scores, top, *block)), part.buffer(1, *block)
                _add_values_gradient(part, block, weights, ds, g, g_transposed, shift, values_gradient[:, :, j0:j1])
                ds.mul_(weights)
                to_query.baddbmm_(ds, part.keys[:, j0:j1])
                keys_gradient[:, :, j0:j1].baddbmm_(q_transposed, ds)
                if call.bias is not None and gradient_of_pse:
                    with lock:  # parts of different batch elements share it
                        call.bias.add_gradient(part.by_head(ds, i0, i1), part.segment, part.heads, *block)
            part.rows_of(dq)[:, i0:i1] = part.by_head(to_query.mul_(scale), i0, i1)

    attention_threads.for_each(compute, call.pieces())
    of_pse = call.keys.new_empty(0)
    if call.bias is not None and gradient_of_pse:
        of_pse = call.bias.gradient.to(call.bias.pse.dtype)
    dk, dv = (tensor.mT.to(like.dtype).contiguous() for tensor, like in ((dk, call.key), (dv, call.value)))
    return dq, dk, dv, of_pse, _of_sink(call, maxima, dot)


def _add_values_gradient(part: Part, block: tuple[int, int, int, int], weights: torch.Tensor, ds: torch.Tensor,
                         g: torch.Tensor, g_transposed: torch.Tensor, shift: torch.Tensor, values_gradient: torch.Tensor) -> None:
    """Adds to the gradient of the values, and sets ds to the gradient of the weights less its mean in each row."""
    i0, i1, j0, j1 = block
    values = part.values[:, j0:j1].transpose(1, 2)
    if part.call.dropout is None:
        values_gradient.baddbmm_(g_transposed, weights)
        torch.baddbmm(shift.expand(weights.shape), g, values, out=ds)
        return
    factors = part.call.dropout.tile(part.segment, part.heads, *block)
    kept = part.by_head(weights, i0, i1) * factors
    values_gradient.baddbmm_(g_transposed, kept.view(weights.shape))
    torch.bmm(g, values, out=ds)
    part.by_head(ds, i0, i1).mul_(factors)
    ds.add_(shift)


def _of_sink(call: Call, maxima: torch.Tensor, dot: torch.Tensor) -> torch.Tensor:
    """Returns the gradient of the sink: its score has no value, so only the mean of each row counts."""
    if call.sink is None:
        return call.keys.new_empty(0)
    weights = (call.sink.to(call.dtype).view(1, -1, 1) - maxima).exp()
    return -(weights * dot.squeeze(-1)).sum((0, 2)).to(call.sink.dtype)
