# The operators for programs: functions of tensors with gradients of any order, inside torch.compile and inside torch.func.
"""The same operators are torch.ops.openaclnn.*. They run on CPU tensors. Importing this registers them.

Indices are int32 or int64, other tensors float32, float16 or bfloat16, unless a function accepts more dtypes. AclnnError and
its subclasses name the rejected argument.
"""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Sequence, cast

import torch

from openaclnn.torch import gradients, kernels, versions

if TYPE_CHECKING:
    import numpy
    from torch import Tensor

__all__ = ["apply_adam_w_", "embedding", "embedding_counts", "embedding_dense_backward", "grouped_bias_add", "grouped_bias_add_grad",
           "nsa_compress", "nsa_compress_grad", "nsa_compress_with_cache_"]


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Tensor:
    """Returns rows of a table, weight[indices], with a deterministic gradient: openaclnn.embedding and its backward.

    Parameters
    ----------
    weight : the table, [V, D], of any dtype.
    indices : int32 or int64, of any shape. A nested tensor is contiguous and has layout torch.jagged (PyTorch 2.5).
    padding_idx : a row without gradient, below V; negative: none.
    scale_grad_by_freq : divide a row's gradient by how often the row occurs in indices.

    Returns
    -------
    The rows: the shape of indices followed by D, weight's dtype.

    Raises
    ------
    AclnnIndexError (an IndexError) : an index is not in [0, V).
    AclnnError : a shape or dtype is not as above.
    ValueError : padding_idx is V or more, or a nested tensor has another layout.
    NotImplementedError : weight is a DTensor. torch.nn.Embedding after enable_embedding_backward() accepts it.

    Source: the formulas of aten::embedding and aten::embedding_dense_backward.
    """
    if isinstance(indices, torch.Tensor) and indices.is_nested:
        return _nested_rows(weight, indices, padding_idx, scale_grad_by_freq)
    if versions.is_dtensor(weight):
        raise NotImplementedError("weight is a DTensor, which openaclnn.torch.embedding does not split; use torch.nn.Embedding after "
                                  "openaclnn.torch.enable_embedding_backward(), or openaclnn.torch.distributed.VocabParallelEmbedding")
    return cast("Tensor", gradients.call("embedding", weight, indices, padding_idx, scale_grad_by_freq))


def embedding_dense_backward(grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int = -1,
                             scale_grad_by_freq: bool = False, *, counts: Tensor | None = None) -> Tensor:
    """Returns the gradient of a table; schema of aten::embedding_dense_backward.

    Parameters
    ----------
    grad_output : gradient of the rows: the shape of indices followed by D; float32, float16, bfloat16, or float64, whose rows
    are added one after the other.
    indices : as in embedding.
    num_weights : V, rows of the table.
    padding_idx : a row whose gradient is zero; negative: none.
    scale_grad_by_freq : divide each row by how often it occurs in indices.
    counts : int64 [V], how often each row occurs in the whole batch. If given, rows are divided by these numbers
    (scale_grad_by_freq with a batch that is split over processes: embedding_counts, summed over them).

    Returns
    -------
    [V, D] of grad_output's dtype. Sums are float32 and rounded once at the end.

    Raises
    ------
    AclnnIndexError (an IndexError) : an index is not in [0, V).
    AclnnError : a shape or dtype is not as above.
    ValueError : counts and scale_grad_by_freq are both given, or counts has another shape. TypeError : counts is not a tensor of
    integers.

    Source: the formula of aten::embedding_dense_backward.
    """
    if counts is None:
        return cast("Tensor", gradients.call("embedding_dense_backward", grad_output, indices, num_weights, padding_idx,
                                             scale_grad_by_freq))
    if scale_grad_by_freq:
        raise ValueError("scale_grad_by_freq is True and counts are given; pass only one of them")
    require_counts(counts, num_weights)
    # At least float32 until the rounding at the end, as in the operator's own scaling.
    dtype = torch.promote_types(grad_output.dtype, torch.float32)
    sums = gradients.call("embedding_dense_backward", grad_output.to(dtype), indices, num_weights, padding_idx, False)
    return cast("Tensor", (sums * (1.0 / counts.clamp(min=1).to(dtype)).unsqueeze(1)).to(grad_output.dtype))


def require_counts(counts: Tensor, num_weights: int) -> None:
    """Raises an error if counts are not integers for the rows of a table."""
    if not isinstance(counts, torch.Tensor):
        raise TypeError(f"counts is of type {type(counts).__name__}; a tensor int64 [{num_weights}] is needed")
    if counts.dtype == torch.bool or counts.is_floating_point() or counts.is_complex():
        raise TypeError(f"counts is {counts.dtype}; a tensor int64 [{num_weights}] is needed")
    if counts.dim() != 1 or counts.shape[0] != num_weights:
        raise ValueError(f"counts has shape {list(counts.shape)}; it must be [{num_weights}], a number for each row")


def embedding_counts(indices: Tensor, num_weights: int) -> Tensor:
    """Returns how often each row of a table occurs in indices: int64 [num_weights]. An index that is not in [0, num_weights) is
    not counted."""
    return cast("Tensor", torch.ops.openaclnn.embedding_counts(indices, num_weights))


def grouped_bias_add(x: Tensor, bias: Tensor, group_idx: Tensor, group_idx_type: int = 0) -> Tensor:
    """Returns y[i, :] = x[i, :] + bias[j, :] for the rows i of group j. Rows after the last group equal those of x.

    Parameters
    ----------
    x : rows, [R, H].
    bias : [G, H].
    group_idx : the position of the groups, [G], int32 or int64.
    group_idx_type : 0: group_idx holds the row after the last of each group; 1: the number of its rows.

    Returns
    -------
    y, [R, H], x's dtype. The bias's gradient is openaclnn.grouped_bias_add_grad.

    Raises
    ------
    IndexError : an entry of group_idx is negative, decreases (type 0), or lies beyond the rows.
    ValueError, TypeError : a shape, group_idx_type or a dtype is not as above.

    Source: the formula above; its gradient is that of aclnnGroupedBiasAddGradV2.
    """
    return cast("Tensor", gradients.call("grouped_bias_add", x, bias, group_idx, group_idx_type))


def grouped_bias_add_grad(grad_y: Tensor, group_idx: Tensor | None = None, group_idx_type: int = 0) -> Tensor:
    """Returns sums of rows by groups, the gradient of biases: openaclnn.grouped_bias_add_grad.

    Parameters
    ----------
    grad_y : [R, H] with group_idx, [G, C, H] without (G groups of C rows each).
    group_idx, group_idx_type : as in grouped_bias_add.

    Returns
    -------
    [G, H], grad_y's dtype; a group without rows gives zeros.

    Raises
    ------
    AclnnIndexError (an IndexError) : an entry of group_idx is negative, decreases (type 0), or lies beyond the rows.
    AclnnError : a shape or dtype is not as above.

    Source: aclnnGroupedBiasAddGradV2.
    """
    return cast("Tensor", gradients.call("grouped_bias_add_grad", grad_y, group_idx, group_idx_type))


def nsa_compress(input: Tensor, weight: Tensor, compress_block_size: int, compress_stride: int, *,
                 actual_seq_len: Sequence[int] | Tensor | numpy.ndarray | None = None, actual_seq_len_type: int = 0) -> Tensor:
    """Token compression of native sparse attention: each window of tokens becomes one token. y[j] is the sum over l of
    weight[l] * input[start of window j + l], for each head.

    Parameters
    ----------
    input : tokens of all sequences one after the other, [T, N, D]: N heads of D numbers.
    weight : [L, N], input's dtype; L is compress_block_size. Under torch.autocast both are cast to its dtype.
    compress_block_size, compress_stride : tokens of a window, and the distance between the starts of two windows.
    actual_seq_len : the sequences; None: one. Ints, or an array of ints, which Python reads: inside torch.compile pass ints.
    actual_seq_len_type : 0: each entry is the token after the last of a sequence; 1: the number of its tokens.

    Returns
    -------
    [J, N, D], input's dtype: J = sum over sequences of (length - L) // stride + 1, or 0 where a sequence is shorter than L.

    Raises
    ------
    AclnnError : a shape, dtype, length, block or stride is not as above.

    Source: aclnnNsaCompress; Yuan et al., "Native Sparse Attention" (2025).
    """
    input, weight = versions.as_autocast(input, weight, kernels.FLOATS)
    return cast("Tensor", gradients.call("nsa_compress", input, weight, compress_block_size, compress_stride,
                                         _ints(actual_seq_len), actual_seq_len_type))


def nsa_compress_grad(grad: Tensor, input: Tensor, weight: Tensor, compress_block_size: int, compress_stride: int, *,
                      actual_seq_len: Sequence[int] | Tensor | numpy.ndarray | None = None,
                      actual_seq_len_type: int = 0) -> tuple[Tensor, Tensor]:
    """Returns the gradients of nsa_compress for tokens and weights: openaclnn.nsa_compress_grad.

    grad is the gradient of the result, [J, N, D]. The other arguments and the errors are those of nsa_compress. Without
    actual_seq_len the sequences have equal lengths: the smallest number of them that has J windows. Returns the gradients of
    input, [T, N, D], and weight, [L, N].

    Source: aclnnNsaCompressGrad.
    """
    return cast("tuple[Tensor, Tensor]", gradients.call(
        "nsa_compress_grad", grad, input, weight, compress_block_size, compress_stride, _ints(actual_seq_len),
        actual_seq_len_type))


def nsa_compress_with_cache_(input: Tensor, weight: Tensor, slot_mapping: Tensor, cache: Tensor, compress_block_size: int,
                             compress_stride: int, actual_seq_len: Sequence[int] | Tensor | numpy.ndarray, *,
                             block_table: Tensor | None = None, page_block_size: int | None = None) -> Tensor:
    """Token compression during inference: compresses the blocks that the newest tokens complete into a cache, in place.

    The arguments are those of openaclnn.nsa_compress_with_cache_. It has no gradient: input and weight count as constants.
    Under torch.autocast both are cast to cache's dtype. Python reads actual_seq_len if it is a tensor: inside torch.compile
    pass ints.

    Returns
    -------
    cache

    Raises
    ------
    AclnnIndexError (an IndexError) : a slot is not in the cache or a page not in input; that block is not written.
    AclnnError : a shape, dtype, length, block or stride is not accepted.
    RuntimeError : cache requires a gradient, outside torch.no_grad().

    Source: aclnnNsaCompressWithCache.
    """
    if cache.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("cache requires a gradient, but writes in place have no derivative; use torch.no_grad() or "
                           "cache.detach()")
    if actual_seq_len is None:
        raise TypeError("actual_seq_len is None; a list with the length of each sequence is needed")
    with torch.no_grad():
        input, weight = versions.as_autocast(input, weight, kernels.FLOATS, cache.dtype)
        torch.ops.openaclnn.nsa_compress_with_cache_(input, weight, slot_mapping, cache, compress_block_size, compress_stride,
                                                     _ints(actual_seq_len) or [], block_table, page_block_size)
    return cache


def apply_adam_w_(grad: Tensor, var: Tensor, m: Tensor, v: Tensor, steps_done: int | Tensor, lr: float = 1e-3,
                  beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-2, *,
                  max_v: Tensor | None = None, maximize: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Runs one step of AdamW, with or without AMSGrad, in place, without a gradient. Arguments and errors are those of
    openaclnn.apply_adam_w_. For whole models use FusedEmaAdamW or PyTorch's optimizers.

    Returns the tuple (var, m, v), the same objects.

    Source: aclnnApplyAdamWV2.
    """
    if not isinstance(steps_done, torch.Tensor):
        steps_done = _step_count(steps_done, var.device)
    with torch.no_grad():
        torch.ops.openaclnn.apply_adam_w_(grad, var, m, v, steps_done, lr, beta1, beta2, eps, weight_decay, max_v, maximize)
    return var, m, v


def _step_count(steps_done: int | numpy.ndarray, device: torch.device) -> Tensor:
    """Returns the number of steps as a tensor: an int, or an array of one element."""
    if versions.is_compiling() and type(steps_done) is int:
        # The compiler makes a symbol of it after the first call. As a constant it would compile each step anew.
        return torch.full((1,), steps_done, dtype=torch.int64, device=device)
    try:
        number = operator.index(steps_done)
    except TypeError:
        if hasattr(steps_done, "__array_interface__") and getattr(steps_done, "shape", ()) != ():
            return torch.as_tensor(steps_done, device=device)
        number = 2**63
    if not -2**63 <= number < 2**63:
        raise TypeError(f"steps_done is {steps_done!r}; an int of 64 bits or an array of one element is needed")
    return torch.tensor([number], dtype=torch.int64, device=device)


def _nested_rows(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """Returns the rows of nested indices, nested as they are. PyTorch accepts the same layouts."""
    if versions.VERSION < (2, 5):
        raise ValueError("indices is a nested tensor, which needs PyTorch 2.5 or later; look up indices.values()")
    if indices.layout != torch.jagged or not indices.is_contiguous():
        raise ValueError(f"indices is a nested tensor of layout {indices.layout}, or it isn't contiguous; a contiguous one of layout "
                         "torch.jagged is needed")
    rows = gradients.call("embedding", weight, indices.values(), padding_idx, scale_grad_by_freq)
    return cast("Tensor", torch.nested.nested_tensor_from_jagged(rows, indices.offsets()))


def _ints(numbers: Sequence[int] | Tensor | numpy.ndarray | None) -> list[int] | None:
    if numbers is None:
        return None
    if isinstance(numbers, (int, float, str)):
        raise TypeError(f"actual_seq_len is {numbers!r}; a list of ints is needed")
    entries = numbers.tolist() if hasattr(numbers, "tolist") else list(numbers)
    if not isinstance(entries, list):
        raise TypeError(f"actual_seq_len is {numbers!r}; a list of ints is needed")
    for position, entry in enumerate(entries):
        if isinstance(entry, (float, str, list)):
            raise TypeError(f"actual_seq_len[{position}] is {entry!r}; an int is needed")
    return cast("list[int]", entries)
