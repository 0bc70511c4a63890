# Checks of arguments and shapes of results, without data: for tracing, FakeTensor and tensors on meta.
"""A function has the name of its operator. It raises what the operator's kernel raises for a rank, a dtype, a shape or a number
that is not accepted. It doesn't check lengths of sequences: a compiled function would then depend on them."""
from __future__ import annotations

import math

import torch

from openaclnn import errors
from openaclnn.torch import versions

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64)
# The kernel adds rows of these dtypes in PyTorch, one after the other.
ADDED_BY_TORCH = (torch.float64, torch.complex64, torch.complex128)
_NSA_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_INDICES = (torch.float32, torch.float16, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool)


def _names(dtypes):
    *names, last = map(str, dtypes)
    return f"{', '.join(names)} or {last}" if names else last


class _Checks:
    """The checks of one operator."""

    def __init__(self, operator):
        self.operator = operator

    def require(self, holds, text):
        if not holds:
            raise errors.error_of(161002, "ACLNN_ERR_PARAM_INVALID", f"{self.operator}: {text()}")

    def rank(self, name, tensor, rank, dims=""):
        self.require(tensor.dim() == rank, lambda: f"{name} has shape {list(tensor.shape)}; its rank must be {rank}{dims and ': '}{dims}")

    def dtype(self, name, tensor, dtypes):
        self.require(tensor.dtype in dtypes, lambda: f"{name} has dtype {tensor.dtype}; it must be {_names(dtypes)}")

    def same_dtype(self, name, tensor, other_name, other):
        self.require(tensor.dtype == other.dtype, lambda: f"{name} has dtype {tensor.dtype} but {other_name} has dtype {other.dtype}; "
                     "they must be equal")

    def windows(self, weight, block, stride):
        """Checks the weights of windows, and their numbers."""
        self.rank("weight", weight, 2, "[L, N]")
        for name, number in (("compress_block_size", block), ("compress_stride", stride)):
            self.require(number >= 1, lambda: f"{name} is {number}; it must be at least 1")

    def tokens(self, input, weight, block, dims="[T, N, D]"):
        """Checks tokens of all sequences one after the other, and whether the weights of their windows fit."""
        self.rank("input", input, 3, dims)
        self.require(input.shape[1] >= 1 and input.shape[2] >= 1,
                     lambda: f"input has shape {list(input.shape)}; dims 1 and 2, N and D, must be at least 1")
        self.require(weight.shape[0] == block and weight.shape[1] == input.shape[1],
                     lambda: f"weight has shape {list(weight.shape)}; it must be [compress_block_size, N of input] = "
                     f"[{block}, {input.shape[1]}]")

    def length_type(self, kind):
        self.require(kind in (0, 1), lambda: f"actual_seq_len_type is {kind}; it must be 0 (prefix sums of sequence lengths) or 1 "
                     "(sequence lengths)")


def require_padding(padding_idx, rows):
    """Raises ValueError if the row without a gradient is beyond the table. Negative numbers mean none."""
    if padding_idx >= 0 and padding_idx >= rows:
        raise ValueError(f"padding_idx is {padding_idx}; it must be below {rows}, the number of rows of weight, or negative for none")


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    checks = _Checks("embedding")
    checks.rank("weight", weight, 2)
    checks.dtype("indices", indices, INTEGERS)
    require_padding(padding_idx, weight.shape[0])
    return weight.new_empty([*indices.shape, weight.shape[1]])


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    checks = _Checks("embedding_dense_backward")
    if grad_output.dtype not in ADDED_BY_TORCH:
        checks.dtype("grad", grad_output, FLOATS)
    checks.dtype("indices", indices, _INDICES)
    shape = grad_output.shape
    checks.require(grad_output.dim() >= 1, lambda: f"grad has shape {list(shape)}; its rank must be at least 1")
    rows = math.prod(shape[:-1])
    checks.require(indices.numel() == rows, lambda: f"indices has shape {list(indices.shape)}, {indices.numel()} elements, but grad has "
                   f"shape {list(shape)}, {rows} rows; there must be one index per row of grad")
    _require_rows(num_weights)
    return grad_output.new_empty([num_weights, shape[-1]])


def _require_rows(num_weights):
    if num_weights < 0:
        raise ValueError(f"num_weights is {num_weights}; it must not be negative")


def embedding_counts(indices, num_weights):
    if indices.dtype not in INTEGERS:
        raise TypeError("indices must be int32 or int64")
    _require_rows(num_weights)
    return indices.new_empty([num_weights], dtype=torch.int64)


def require_biases(x, bias, group_idx, group_idx_type):
    """Raises ValueError or TypeError unless the arguments of grouped_bias_add fit together."""
    for name, tensor, shape, dtypes in (("x", x, "[R, H]", FLOATS), ("bias", bias, "[G, H]", FLOATS),
                                        ("group_idx", group_idx, "[G]", INTEGERS)):
        if tensor.dim() != shape.count(",") + 1:
            raise ValueError(f"{name} has shape {list(tensor.shape)}; it must be {shape}")
        if tensor.dtype not in dtypes:
            names = [str(dtype).replace("torch.", "") for dtype in dtypes]
            raise TypeError(f"{name} is {tensor.dtype}; it must be {', '.join(names[:-1])} or {names[-1]}")
    if bias.shape[1] != x.shape[1]:
        raise ValueError(f"bias has rows of {bias.shape[1]} numbers, but those of x have {x.shape[1]}; they must be equal")
    if bias.shape[0] != group_idx.shape[0]:
        raise ValueError(f"bias has {bias.shape[0]} rows, but group_idx has {group_idx.shape[0]} entries; each group needs "
                         "one of each")
    if group_idx_type not in (0, 1):
        raise ValueError(f"group_idx_type is {group_idx_type}; it must be 0 (ends of groups) or 1 (their sizes)")


def grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    require_biases(x, bias, group_idx, group_idx_type)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0):
    checks = _Checks("grouped_bias_add_grad")
    checks.dtype("grad_y", grad_y, FLOATS)
    checks.require(group_idx_type in (0, 1), lambda: f"group_idx_type is {group_idx_type}; it must be 0 (group_idx holds the end row of "
                   "each group) or 1 (group_idx holds the size of each group)")
    if group_idx is None:
        checks.rank("grad_y", grad_y, 3, "[G, C, H] without group_idx")
        return grad_y.new_empty([grad_y.shape[0], grad_y.shape[2]])
    checks.rank("grad_y", grad_y, 2, "[R, H] with group_idx")
    checks.rank("group_idx", group_idx, 1, "[G]")
    checks.dtype("group_idx", group_idx, INTEGERS)
    return grad_y.new_empty([group_idx.shape[0], grad_y.shape[1]])


def count_windows(length, block, stride):
    """Returns the number of windows of a sequence. In a compiled function the length may be symbolic, which nsa_windows of the
    native module does not support."""
    # The code never branches on the length, because the compiled function would then depend on it.
    return versions.sym_max(length - block + stride, 0) // stride


def nsa_compress(input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    checks = _Checks("nsa_compress")
    checks.dtype("input", input, _NSA_FLOATS)
    checks.same_dtype("weight", weight, "input", input)
    checks.windows(weight, block, stride)
    checks.tokens(input, weight, block)
    checks.length_type(actual_seq_len_type)
    entries = actual_seq_len or [input.shape[0]]
    lengths = entries
    if actual_seq_len_type == 0:
        lengths = [entry - before for entry, before in zip(entries, [0, *entries])]
    windows = sum(count_windows(length, block, stride) for length in lengths)
    return input.new_empty([windows, *input.shape[1:]])


def nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    checks = _Checks("nsa_compress_grad")
    checks.dtype("grad", grad, _NSA_FLOATS)
    checks.same_dtype("input", input, "grad", grad)
    checks.same_dtype("weight", weight, "grad", grad)
    checks.rank("grad", grad, 3, "[J, N, D]")
    checks.windows(weight, block, stride)
    checks.tokens(input, weight, block)
    checks.require(grad.shape[1] == input.shape[1] and grad.shape[2] == input.shape[2],
                   lambda: f"grad has shape {list(grad.shape)} but input has shape {list(input.shape)}; dims 1 and 2, N and D, must be "
                   "equal")
    checks.length_type(actual_seq_len_type)
    return (torch.empty_like(input, memory_format=torch.contiguous_format),
            torch.empty_like(weight, memory_format=torch.contiguous_format))


def nsa_compress_with_cache(input, weight, slot_mapping, cache, block, stride, actual_seq_len, block_table=None, page_block_size=None):
    checks = _Checks("nsa_compress_with_cache_")
    checks.dtype("input", input, _NSA_FLOATS)
    checks.same_dtype("weight", weight, "input", input)
    checks.same_dtype("cache", cache, "input", input)
    checks.windows(weight, block, stride)
    if block_table is None:
        checks.tokens(input, weight, block, "[T, N, D] without block_table")
    checks.rank("slot_mapping", slot_mapping, 1, "[B]")
    checks.dtype("slot_mapping", slot_mapping, (torch.int32,))
    checks.rank("cache", cache, 3, "[slots, N, D]")
    checks.require(cache.shape[1] == input.shape[-2] and cache.shape[2] == input.shape[-1],
                   lambda: f"cache has shape {list(cache.shape)} but input has shape {list(input.shape)}; their last two dims, N and D, "
                   "must be equal")


def nothing(*arguments, **options):
    return None
