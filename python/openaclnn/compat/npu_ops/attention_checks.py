# Checks of the arguments of attention, and the call of the operator that they describe.
"""prepare() raises RuntimeError for arguments that an NPU refuses as well."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from openaclnn.compat.npu_ops import attention_bias, attention_layouts
from openaclnn.compat.npu_ops.arguments import text
from openaclnn.compat.npu_ops.attention_masks import SIDE
from openaclnn.compat.npu_ops.attention_options import (
    CAUSAL_BOTTOM_RIGHT,
    CAUSAL_TOP_LEFT,
    COMPRESSED,
    FIRST_IS_BAND,
    LAST_IS_BAND,
    PREFIX_COMPRESSED,
    PREFIX_FULL,
    Options,
)

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The arguments of the operator attention. `numbers` is the length of a head of query in BSH and SBH."""

    tensors: tuple[torch.Tensor | None, ...]
    options: Options
    layout: str
    numbers: int

    @property
    def weights(self) -> int:
        """The number of attention weights of all heads."""
        query, key = self.tensors[0], self.tensors[1]
        assert query is not None and key is not None
        batches, heads, rows, _ = query.shape
        if self.options.q_ends is None or self.options.kv_ends is None:
            return batches * heads * rows * key.shape[2]
        lengths = zip(sizes(self.options.q_ends), sizes(self.options.kv_ends))
        return heads * sum(one * other for one, other in lengths)


@dataclasses.dataclass(frozen=True)
class Extras:
    """The optional arguments of all versions of the function."""

    pse: torch.Tensor | None
    atten_mask: torch.Tensor | None
    sink: torch.Tensor | None
    dropout_mask: torch.Tensor | None
    prefix: Sequence[int] | None
    actual_seq_qlen: Any
    actual_seq_kvlen: Any
    softmax_layout: str


def sizes(ends: Sequence[int]) -> list[int]:
    """Returns the lengths of sequences from their ends."""
    return [end - before for end, before in zip(ends, [0, *ends])]


def prepare(name: str, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, layout: str, extras: Extras,
            options: Options) -> Prepared:
    """Returns the call of the operator, or raises RuntimeError. `options` lacks prefix, q_ends and kv_ends."""
    tensors, numbers = _heads_of(name, query, key, value, head_num, layout)
    packed = layout == "TND"
    if packed:
        q_ends, kv_ends = _ends(name, extras, tensors)
        lengths = max(sizes(q_ends), default=0), max(sizes(kv_ends), default=0)
    else:
        require(extras.actual_seq_qlen is None and extras.actual_seq_kvlen is None, name,
                 f"actual_seq_qlen or actual_seq_kvlen is given with input_layout {layout!r}; only 'TND' has them")
        q_ends = kv_ends = None
        lengths = tensors[0].shape[2], tensors[1].shape[2]
    require(extras.softmax_layout == "" or packed, name,
             f"softmax_layout is {extras.softmax_layout!r} with input_layout {layout!r}; only 'TND' has it")
    options = options.with_lists(None, q_ends, kv_ends)
    shape = tensors[0].shape[0], head_num, *lengths
    mask = _mask(name, extras.atten_mask, options, shape)
    prefix = _prefix(name, extras.prefix, options, shape) if mask is not None else None
    pse = _pse(name, extras.pse, options, shape, query.dtype)
    sink = extras.sink
    if sink is not None:
        wanted = torch.float64 if query.dtype == torch.float64 else torch.float32
        require(tuple(sink.shape) == (head_num,) and sink.dtype in (torch.float32, wanted), name,
                 f"sink is {text(sink)}; it must be float32 of shape [{head_num}], the number of heads")
    prepared = Prepared((*tensors, mask, pse, sink, extras.dropout_mask), options.with_lists(prefix, q_ends, kv_ends), layout,
                        numbers)
    _check_dropout(name, extras.dropout_mask, prepared)
    return prepared


def require(condition: bool, name: str, message: str) -> None:
    """Raises RuntimeError of a function if a condition does not hold."""
    if not condition:
        raise RuntimeError(f"{name}: {message}")


def _heads_of(name: str, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, layout: str,
              ) -> tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], int]:
    """Returns query, key and value as [B, N, S, D], and D."""
    rank = 4 if layout in ("BSND", "BNSD") else 3
    for key_name, tensor in (("query", query), ("key", key), ("value", value)):
        require(tensor.dim() == rank, name, f"{key_name} has shape {list(tensor.shape)}; input_layout {layout!r} needs {rank} axes")
        require(tensor.dtype == query.dtype and tensor.dtype in DTYPES, name,
                 f"{key_name} has dtype {tensor.dtype}; query, key and value must have one dtype: float16, bfloat16 or float32")
    heads = head_num
    if layout in ("BSH", "SBH"):
        require(head_num > 0 and query.shape[2] % head_num == 0, name,
                 f"head_num is {head_num}; it must divide the last axis of query, {query.shape[2]}")
        numbers = query.shape[2] // head_num
        require(numbers > 0 and key.shape[2] % numbers == 0, name,
                 f"key has shape {list(key.shape)}; its last axis must be a multiple of {numbers}, the length of a head of query")
        kv_heads = key.shape[2] // numbers
        require(kv_heads > 0 and value.shape[2] % kv_heads == 0, name,
                 f"value has shape {list(value.shape)}; its last axis must be a multiple of {kv_heads}, the heads of key")
        of_value = value.shape[2] // kv_heads
    else:
        numbers, of_value = query.shape[-1], value.shape[-1]
        heads = query.shape[1 if layout in ("BNSD", "TND") else 2]
    require(heads == head_num, name, f"head_num is {head_num}, but query of shape {list(query.shape)} has {heads} heads")
    q, k = attention_layouts.to_heads(query, layout, numbers), attention_layouts.to_heads(key, layout, numbers)
    v = attention_layouts.to_heads(value, layout, of_value)
    require(k.shape[0] == q.shape[0] and k.shape[3] == q.shape[3], name,
             f"key has shape {list(key.shape)}, query {list(query.shape)}; batch and length of a head must be equal")
    require(v.shape[:3] == k.shape[:3], name,
             f"value has shape {list(value.shape)}, key {list(key.shape)}; all but the length of a head must be equal")
    require(k.shape[1] > 0 and head_num % k.shape[1] == 0, name,
             f"key has {k.shape[1]} heads; head_num, {head_num}, must be a multiple of them")
    return (q, k, v), numbers


def _ends(name: str, extras: Extras, tensors: tuple[torch.Tensor, ...]) -> tuple[list[int], list[int]]:
    """Returns the ends of the packed sequences, without the zeros of unused ones at the end."""
    lists = []
    for key, given, tokens in (("actual_seq_qlen", extras.actual_seq_qlen, tensors[0].shape[2]),
                               ("actual_seq_kvlen", extras.actual_seq_kvlen, tensors[1].shape[2])):
        require(given is not None, name, f"{key} is None; input_layout 'TND' needs the ends of the sequences")
        ends = given.tolist() if isinstance(given, torch.Tensor) else list(given)
        while len(ends) > 1 and ends[-1] == 0:
            ends.pop()
        require(len(ends) > 0 and all(length >= 0 for length in sizes(ends)) and ends[-1] <= tokens, name,
                 f"{key} is {text(list(given))}; it must have the ends of the sequences, ascending, at most {tokens}")
        lists.append(ends)
    q_ends, kv_ends = lists
    require(len(q_ends) == len(kv_ends), name,
             f"actual_seq_qlen has {len(q_ends)} sequences, actual_seq_kvlen {len(kv_ends)}; they must be equal")
    for index, (rows, columns) in enumerate(zip(sizes(q_ends), sizes(kv_ends))):
        require(columns > 0 or rows == 0, name, f"sequence {index} has {rows} queries but no keys; it must have keys")
    return q_ends, kv_ends


def _mask(name: str, mask: torch.Tensor | None, options: Options, shape: tuple[int, ...]) -> torch.Tensor | None:
    """Returns atten_mask with four axes."""
    mode, packed = options.sparse_mode, options.q_ends is not None
    require(mode not in (LAST_IS_BAND, FIRST_IS_BAND) or packed, name, f"sparse_mode is {mode}; it needs input_layout 'TND'")
    require(mode not in (PREFIX_FULL, PREFIX_COMPRESSED) or not packed, name,
             f"sparse_mode is {mode}; it does not work with input_layout 'TND'")
    if mask is None:
        return None
    require(mask.dtype in (torch.bool, torch.uint8), name, f"atten_mask has dtype {mask.dtype}; it must be bool or uint8")
    batches, heads, rows, columns = shape
    given = tuple(mask.shape)
    if mode in COMPRESSED:
        wanted = SIDE * 3 // 2 if mode == PREFIX_COMPRESSED else SIDE, SIDE
        require(given[-2:] == wanted and all(size == 1 for size in given[:-2]), name,
                 f"atten_mask has shape {list(given)}; sparse_mode {mode} needs a compressed mask of shape {list(wanted)}")
    elif packed:
        require(len(given) == 2 and given[0] >= rows and given[1] >= columns, name,
                 f"atten_mask has shape {list(given)}; input_layout 'TND' needs [{rows}, {columns}], the longest sequences")
    else:
        full = given if len(given) == 4 else (1, 1, *given)
        require(len(given) in (2, 4) and full[0] in (1, batches) and full[1] in (1, heads) and full[2:] == (rows, columns), name,
                 f"atten_mask has shape {list(given)}; it must be [{rows}, {columns}], with or without a first axis of 1 or "
                 f"{batches} and a second of 1 or {heads}")
    return mask if mask.dim() == 4 else mask.reshape(1, 1, *given[-2:])


def _prefix(name: str, prefix: Sequence[int] | None, options: Options, shape: tuple[int, ...]) -> list[int] | None:
    if options.sparse_mode not in (PREFIX_FULL, PREFIX_COMPRESSED):
        return None
    batches, _, rows, columns = shape
    least = max(0, columns - rows)
    require(prefix is not None and len(prefix) == batches and all(least <= one <= columns for one in prefix), name,
             f"prefix is {text(prefix)}; sparse_mode {options.sparse_mode} needs {batches} numbers, one for each batch element, from "
             f"{least} to {columns}")
    assert prefix is not None
    return list(prefix)


def _pse(name: str, pse: torch.Tensor | None, options: Options, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
    kind = options.pse_type
    if pse is None:
        require(kind in (0, attention_bias.ADDED_BEFORE_SCALE), name, f"pse_type is {kind}, but pse is None; it must have slopes")
        return None
    batches, heads, rows, columns = shape
    packed = options.q_ends is not None
    require(options.sparse_mode not in (LAST_IS_BAND, FIRST_IS_BAND), name,
             f"pse is given with sparse_mode {options.sparse_mode}; it must be None")
    given = tuple(pse.shape)
    if kind in (attention_bias.SLOPES, attention_bias.SQRT_SLOPES):
        batches = len(options.q_ends) if options.q_ends is not None else batches
        wanted = torch.float64 if dtype == torch.float64 else torch.float32
        require(given in ((heads,), (batches, heads)) and pse.dtype in (torch.float32, wanted), name,
                 f"pse is {text(pse)}; pse_type {kind} needs float32 slopes of shape [{heads}] or [{batches}, {heads}]")
        return pse
    require(pse.dtype == dtype, name, f"pse has dtype {pse.dtype}, query {dtype}; they must be equal")
    compressed = len(given) == 4 and attention_bias.is_compressed(pse, rows, packed)
    if compressed:
        batches = len(options.q_ends) if options.q_ends is not None else batches
        causal = options.sparse_mode in (0, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT)
        lines = attention_bias.COMPRESSED_ROWS
        fits = given[2] == lines and given[3] >= lines and (given[3] >= max(rows, columns) if packed else rows == columns == given[3])
        require(causal and fits and given[0] in (1, batches) and given[1] == heads, name,
                 f"pse has shape {list(given)} with sparse_mode {options.sparse_mode}; the last {lines:,} rows of ALiBi must be [1 or "
                 f"{batches}, {heads}, {lines}, tokens], with as many queries as keys and sparse_mode 0, 2 or 3")
        return pse
    require(len(given) == 4 and given[0] in (1, batches) and given[1] == heads and given[2] in (1, rows) and given[3] == columns,
             name, f"pse has shape {list(given)}; it must be [1 or {batches}, {heads}, 1 or {rows}, {columns}]")
    return pse


def _check_dropout(name: str, mask: torch.Tensor | None, prepared: Prepared) -> None:
    keep_prob = prepared.options.keep_prob
    require(0 < keep_prob <= 1, name, f"keep_prob is {keep_prob}; it must be greater than 0 and at most 1")
    if mask is not None:
        least = (prepared.weights + 7) // 8
        require(mask.dtype == torch.uint8 and mask.dim() == 1 and mask.shape[0] >= least, name,
                 f"dropout_mask is {text(mask)}; it must be uint8 with one axis of at least {least} bytes, a bit for each weight")
