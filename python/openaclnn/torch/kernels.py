# The operators as PyTorch operators: schemas and kernels; registered as torch.ops.openaclnn.*.
"""openaclnn.torch.shapes has the shapes for tracing. openaclnn.torch.gradients adds the derivatives, and openaclnn.torch.ops the
functions for programs."""
from __future__ import annotations

import math

import torch

from openaclnn import _native, errors
from openaclnn._platform import computes_on_gpu
from openaclnn.torch import results, shapes, versions, warm_up

library = torch.library.Library("openaclnn", "DEF")
library.define("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor")
library.define("embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, int padding_idx, "
               "bool scale_grad_by_freq) -> Tensor")
library.define("embedding_counts(Tensor indices, SymInt num_weights) -> Tensor")
library.define("grouped_bias_add(Tensor x, Tensor bias, Tensor group_idx, int group_idx_type=0) -> Tensor")
library.define("grouped_bias_add_grad(Tensor grad_y, Tensor? group_idx=None, int group_idx_type=0) -> Tensor")
# SymInt avoids recompiling a function for every batch of packed sequences.
library.define("nsa_compress(Tensor input, Tensor weight, int compress_block_size, int compress_stride, "
               "SymInt[]? actual_seq_len=None, int actual_seq_len_type=0) -> Tensor")
library.define("nsa_compress_grad(Tensor grad, Tensor input, Tensor weight, int compress_block_size, int compress_stride, "
               "SymInt[]? actual_seq_len=None, int actual_seq_len_type=0) -> (Tensor, Tensor)")
library.define("nsa_compress_with_cache_(Tensor input, Tensor weight, Tensor slot_mapping, Tensor(a!) cache, int compress_block_size, "
               "int compress_stride, SymInt[] actual_seq_len, Tensor? block_table=None, int? page_block_size=None) -> ()")
library.define("apply_adam_w_(Tensor grad, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v, Tensor steps_done, float lr=1e-3, "
               "float beta1=0.9, float beta2=0.999, float eps=1e-8, float weight_decay=1e-2, Tensor(d!)? max_v=None, "
               "bool maximize=False) -> ()")
# `adam_mode` is the C function's mode: an argument named mode collides with one of torch.compile.
_NUMBERS = ("float lr=1e-3, float ema_decay=0.9999, float beta1=0.9, float beta2=0.999, float eps=1e-8, int adam_mode=1, "
            "bool bias_correction=True, float weight_decay=0.0")
library.define("apply_fused_ema_adam_(Tensor grad, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v, Tensor(d!) s, Tensor step, "
               f"{_NUMBERS}) -> ()")
library.define("apply_fused_ema_adam_list_(Tensor[] grads, Tensor(a!)[] vars, Tensor(b!)[] ms, Tensor(c!)[] vs, "
               f"Tensor(d!)[] ss, Tensor step, Tensor? grad_scale, Tensor? found_inf, {_NUMBERS}) -> ()")

# A step of an optimizer inside torch.compile: the operator reads and increments the counters of the parameters.
library.define("fused_ema_adam_step_(Tensor[] grads, Tensor(a!)[] vars, Tensor(b!)[] ms, Tensor(c!)[] vs, Tensor(d!)[] ss, "
               "Tensor(e!)[] steps, Tensor? grad_scale, Tensor? found_inf, Tensor? lr_tensor, Tensor? beta1_tensor, "
               "Tensor? beta2_tensor, float lr, float ema_decay, float beta1, float beta2, float eps, int adam_mode, "
               "bool bias_correction, float weight_decay, bool maximize, bool ema_warmup, SymInt ema_updates, bool foreach, "
               "str optimizer) -> ()")

FLOATS = shapes.FLOATS
# Groups with few numbers have one call for many of them. It copies the biases of this many numbers, which stay in the caches.
_BIASES_AT_ONCE = 2**16
# Few or large groups have a call each, which copies no biases: a call takes 8 us, as much as copying biases for 2**14 numbers.
_FEW_GROUPS, _LARGE_GROUP = 8, 2**14


# ---- kernels


def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    shapes.require_padding(padding_idx, weight.shape[0])
    return _native.embedding(weight, indices)


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The kernel of openaclnn::embedding_dense_backward, and of aten's operator while that is overridden."""
    if grad_output.dtype not in shapes.ADDED_BY_TORCH:
        return _native.embedding_dense_backward(grad_output, indices, int(num_weights), int(padding_idx), scale_grad_by_freq)
    # float64 and complex rows are added one after the other, as index_add_ does on the CPU.
    _require_indices(grad_output, indices, int(num_weights))
    out = results.empty_of(grad_output, int(num_weights), grad_output.shape[-1]).zero_()
    if out.numel() == 0:  # any index is accepted, as by the native operator
        return out
    flat = indices.reshape(-1).to(torch.int64)
    rows = grad_output.reshape(len(flat), out.shape[1])
    keep = flat != padding_idx
    if scale_grad_by_freq:
        rows = rows / torch.bincount(flat, minlength=int(num_weights))[flat].unsqueeze(1).to(rows.dtype)
    return out.index_add_(0, flat[keep], rows[keep])


def _require_indices(grad_output, indices, num_weights):
    """Raises what the native operator raises for these indices and this shape of a gradient."""
    rows = torch.zeros((), dtype=torch.float32, device=grad_output.device).expand(grad_output.shape)
    if indices.numel() == math.prod(grad_output.shape[:-1]) and grad_output.dim() > 0:
        rows = rows[..., :1]  # a table of one column is enough for the indices
    _native.embedding_dense_backward(rows, indices, num_weights, -1, False)


def _embedding_counts(indices, num_weights):
    if not computes_on_gpu:
        return _native.embedding_counts(indices, num_weights)
    return torch.bincount(indices[(indices >= 0) & (indices < num_weights)], minlength=num_weights)


def _grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    shapes.require_biases(x, bias, group_idx, group_idx_type)
    out, groups = results.empty_of(x, *x.shape), len(bias)
    if groups > _FEW_GROUPS and x.numel() < groups * _LARGE_GROUP:
        end = _add_to_small_groups(x, bias, group_idx, group_idx_type, out)
    else:
        end = _add_to_large_groups(x, bias, group_idx, group_idx_type, out)
    out[end:] = x[end:]
    return out


def _add_to_large_groups(x, bias, group_idx, group_idx_type, out):
    """Adds each bias to the rows of its group, and returns the row after the last group."""
    end = 0
    for group, (start, end) in enumerate(_group_rows(group_idx, group_idx_type, len(x))):
        torch.add(x[start:end], bias[group], out=out[start:end])
    return end


def _group_rows(group_idx, group_idx_type, rows):
    """Yields the first row of each group, and the row after its last. IndexError: it is not one of `rows`."""
    start = 0
    for group, entry in enumerate(group_idx.tolist()):
        end = start + entry if group_idx_type == 1 else entry
        if not start <= end <= rows:
            raise IndexError(f"group_idx[{group}] = {entry}: group {group} would end at row {end}; it must end in "
                             f"[{start}, {rows}]")
        yield start, end
        start = end


def _add_to_small_groups(x, bias, group_idx, group_idx_type, out):
    """As _add_to_large_groups, with the same bits. A call adds the biases of many groups."""
    rows, width = x.shape
    sizes = group_idx if group_idx_type == 1 else torch.diff(group_idx, prepend=group_idx.new_zeros(1))
    end = int(sizes.sum())
    if end > rows or bool(((sizes < 0) | (group_idx < 0) | (group_idx > rows)).any()):
        list(_group_rows(group_idx, group_idx_type, rows))  # raises
    group_of_row = torch.repeat_interleave(sizes, output_size=end)
    rows_at_once = max(1, _BIASES_AT_ONCE // max(1, width))
    for start in range(0, end, rows_at_once):
        after = min(start + rows_at_once, end)
        torch.add(x[start:after], bias.index_select(0, group_of_row[start:after]), out=out[start:after])
    return end


def _grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0):
    return _native.grouped_bias_add_grad(grad_y, group_idx, group_idx_type)


def _nsa_compress(input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    return _native.nsa_compress(input, weight, block, stride, actual_seq_len=actual_seq_len,
                                actual_seq_len_type=actual_seq_len_type)


def _nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    return _native.nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=actual_seq_len,
                                     actual_seq_len_type=actual_seq_len_type)


def _nsa_compress_with_cache(input, weight, slot_mapping, cache, block, stride, actual_seq_len, block_table=None,
                             page_block_size=None):
    try:
        _native.nsa_compress_with_cache_(input, weight, slot_mapping, cache, block, stride, actual_seq_len,
                                         block_table=block_table, page_block_size=page_block_size)
    finally:  # an invalid slot skips only its block
        versions.increment_versions([cache])


def _apply_adam_w(grad, var, m, v, steps_done, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2, max_v=None,
                  maximize=False):
    _native.apply_adam_w_(grad, var, m, v, steps_done, lr, beta1, beta2, eps, weight_decay, max_v=max_v, maximize=maximize)
    versions.increment_versions([var, m, v] if max_v is None else [var, m, v, max_v])


def _apply_fused_ema_adam(grad, var, m, v, s, step, *numbers):
    _native.apply_fused_ema_adam_(grad, var, m, v, s, step, *numbers)
    versions.increment_versions([var, m, v, s])


def _apply_fused_ema_adam_list(grads, vars, ms, vs, ss, step, grad_scale, found_inf, *numbers):
    _native.apply_fused_ema_adam_(grads, vars, ms, vs, ss, step, *numbers, grad_scale=grad_scale, found_inf=found_inf)
    versions.increment_versions([*vars, *ms, *vs, *ss])


def _fused_ema_adam_step(grads, vars, ms, vs, ss, steps, grad_scale, found_inf, lr_tensor, beta1_tensor, beta2_tensor, lr,
                         ema_decay, beta1, beta2, eps, mode, bias_correction, weight_decay, maximize, ema_warmup, ema_updates,
                         foreach, optimizer):
    if maximize:
        grad_scale = -1.0 if grad_scale is None else -grad_scale
    lr, beta1, beta2 = (number if tensor is None else float(tensor) for tensor, number in (
        (lr_tensor, lr), (beta1_tensor, beta1), (beta2_tensor, beta2)))
    numbers = (lr, warm_up.ema_decay(ema_decay, ema_warmup, ema_updates), beta1, beta2, eps, mode, bias_correction, weight_decay)
    for chosen, step in _calls_of(steps, foreach):
        lists = [[tensors[n] for n in chosen] for tensors in (grads, vars, ms, vs, ss)]
        try:
            _native.apply_fused_ema_adam_(*lists, step, *numbers, grad_scale=grad_scale, found_inf=found_inf)
        except errors.AclnnError as error:
            raise errors.renamed(error, f"{optimizer}.step") from None
    versions.count_up(steps, found_inf)
    versions.increment_versions([*vars, *ms, *vs, *ss, *steps])


def _calls_of(steps, foreach):
    """Yields the numbers of parameters that share a call, and their step. On a GPU counters are not read, so that each
    parameter has its own call."""
    if computes_on_gpu:
        yield from (([n], (step + 1).to(torch.int64)) for n, step in enumerate(steps))
        return
    by_count = {}
    for n, step in enumerate(steps):
        count = int(step) + 1
        by_count.setdefault(count if foreach else (n, count), (count, []))[1].append(n)
    yield from ((chosen, count) for count, chosen in by_count.values())


_KERNELS = {
    "embedding": (_embedding, shapes.embedding),
    "embedding_dense_backward": (embedding_dense_backward, shapes.embedding_dense_backward),
    "embedding_counts": (_embedding_counts, shapes.embedding_counts),
    "grouped_bias_add": (_grouped_bias_add, shapes.grouped_bias_add),
    "grouped_bias_add_grad": (_grouped_bias_add_grad, shapes.grouped_bias_add_grad),
    "nsa_compress": (_nsa_compress, shapes.nsa_compress),
    "nsa_compress_grad": (_nsa_compress_grad, shapes.nsa_compress_grad),
    "nsa_compress_with_cache_": (_nsa_compress_with_cache, shapes.nsa_compress_with_cache),
    "apply_adam_w_": (_apply_adam_w, shapes.nothing),
    "apply_fused_ema_adam_": (_apply_fused_ema_adam, shapes.nothing),
    "apply_fused_ema_adam_list_": (_apply_fused_ema_adam_list, shapes.nothing),
    "fused_ema_adam_step_": (_fused_ema_adam_step, shapes.nothing),
}


def _register():
    for name, (kernel, fake) in _KERNELS.items():
        library.impl(name, kernel, "CUDA" if computes_on_gpu else "CPU")
        if versions.VERSION >= (2, 4):
            torch.library.register_fake(f"openaclnn::{name}", fake, lib=library)
        elif versions.VERSION >= (2, 2):
            torch.library.impl_abstract(f"openaclnn::{name}", fake, lib=library)
        else:
            library.impl(name, fake, "Meta")


_register()
