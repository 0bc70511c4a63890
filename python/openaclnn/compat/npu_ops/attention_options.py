# The numbers of an attention call, as the operators of npu_ops.attention_operator take them, and its sequences.
"""Rows are queries and columns are keys. A Segment is a pair of sequences whose tokens see each other."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

SCHEMA = ("float scale, float keep_prob, SymInt sparse_mode, SymInt pre, SymInt next, SymInt[]? prefix, SymInt[]? q_ends, "
          "SymInt[]? kv_ends, SymInt pse_type, SymInt q_start, SymInt kv_start, SymInt seed, SymInt offset")

CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT, BAND = 2, 3, 4
PREFIX_FULL, PREFIX_COMPRESSED, LAST_IS_BAND, FIRST_IS_BAND = 5, 6, 7, 8
COMPRESSED = (CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT, BAND, PREFIX_COMPRESSED, LAST_IS_BAND, FIRST_IS_BAND)


@dataclasses.dataclass(frozen=True)
class Options:
    """Everything but tensors, in the order of SCHEMA.

    scale : factor of the scores.
    keep_prob : share of the weights that dropout keeps.
    sparse_mode, pre, next : the rule of the mask.
    prefix : for each batch element the number of keys that all queries see, or None.
    q_ends, kv_ends : ends of the sequences if they are packed into one batch element, or None.
    pse_type, q_start, kv_start : how pse enters the scores; positions of the first query and key for slopes.
    seed, offset : state of the generator of dropout.
    """

    scale: float
    keep_prob: float
    sparse_mode: int
    pre: int
    next: int
    prefix: list[int] | None
    q_ends: list[int] | None
    kv_ends: list[int] | None
    pse_type: int
    q_start: int
    kv_start: int
    seed: int
    offset: int

    def values(self) -> tuple[Any, ...]:
        """Returns the values in the order of SCHEMA."""
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def with_lists(self, prefix: list[int] | None, q_ends: list[int] | None, kv_ends: list[int] | None) -> Options:
        """Returns the same numbers with these lists. PyTorch 2.6 can't compile dataclasses.replace()."""
        return Options(self.scale, self.keep_prob, self.sparse_mode, self.pre, self.next, prefix, q_ends, kv_ends, self.pse_type,
                       self.q_start, self.kv_start, self.seed, self.offset)


@dataclasses.dataclass(frozen=True)
class Segment:
    """Queries and keys of one sequence.

    index : position of the sequence in its batch, packed or not.
    batch : batch element of the tensors: 0 if sequences are packed.
    rows, columns : the queries and keys of the sequence.
    weights_before : attention weights of all heads in the sequences before this one; dropout numbers weights in this order.
    low, high : row i sees the columns i + low to i + high. None: no bound.
    prefix : columns before this one are visible to all rows.
    """

    index: int
    batch: int
    rows: slice
    columns: slice
    weights_before: int
    low: int | None
    high: int | None
    prefix: int = 0

    @property
    def lengths(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


def segments(options: Options, batches: int, heads: int, rows: int, columns: int, masked: bool) -> Iterator[Segment]:
    """Yields the segments of a call. Without a mask every row sees all columns of its sequence."""
    packed = options.q_ends is not None
    q_ends = options.q_ends if options.q_ends is not None else [rows] * batches
    kv_ends = options.kv_ends if options.kv_ends is not None else [columns] * batches
    row = column = before = 0
    for index, (q_end, kv_end) in enumerate(zip(q_ends, kv_ends)):
        low, high = _diagonals(options, q_end - row, kv_end - column, index, len(q_ends)) if masked else (None, None)
        prefix = options.prefix[index] if masked and options.prefix and options.sparse_mode == PREFIX_COMPRESSED else 0
        yield Segment(index, 0 if packed else index, slice(row, q_end), slice(column, kv_end), before, low, high, prefix)
        before += heads * (q_end - row) * (kv_end - column)
        if packed:
            row, column = q_end, kv_end


def _diagonals(options: Options, rows: int, columns: int, index: int, count: int) -> tuple[int | None, int | None]:
    """Returns the bounds low and high of a segment."""
    mode, corner = options.sparse_mode, columns - rows
    if mode == LAST_IS_BAND:
        mode = BAND if index == count - 1 else CAUSAL_BOTTOM_RIGHT
    elif mode == FIRST_IS_BAND:
        mode = BAND if index == 0 else CAUSAL_TOP_LEFT
    if mode == 0:
        return -options.pre, options.next
    if mode == CAUSAL_TOP_LEFT:
        return None, 0
    if mode in (CAUSAL_BOTTOM_RIGHT, PREFIX_COMPRESSED):
        return None, corner
    if mode == BAND:
        return corner - options.pre, corner + options.next
    return None, None
