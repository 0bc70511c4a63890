# The operators as PyTorch operators: schemas, kernels, shapes for tracing, gradients. torch.ops.openaclnn.* and functions of their own.
"""Importing this registers the library `openaclnn`. Operators run on CPU tensors; they work in torch.compile, torch.export
and functorch as the version of PyTorch allows."""
import torch

from openaclnn import _native
from openaclnn.torch import versions

_library = torch.library.Library("openaclnn", "DEF")
_library.define("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor")
_library.define("embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, int padding_idx, "
                "bool scale_grad_by_freq) -> Tensor")
_library.define("embedding_counts(Tensor indices, SymInt num_weights) -> Tensor")
_library.define("grouped_bias_add(Tensor x, Tensor bias, Tensor group_idx, int group_idx_type=0) -> Tensor")
_library.define("grouped_bias_add_grad(Tensor grad_y, Tensor? group_idx=None, int group_idx_type=0) -> Tensor")
_library.define("nsa_compress(Tensor input, Tensor weight, int compress_block_size, int compress_stride, "
                "int[]? actual_seq_len=None, int actual_seq_len_type=0) -> Tensor")
_library.define("nsa_compress_grad(Tensor grad, Tensor input, Tensor weight, int compress_block_size, int compress_stride, "
                "int[]? actual_seq_len=None, int actual_seq_len_type=0) -> (Tensor, Tensor)")
# `adam_mode` is mode of the C function: an argument named mode collides with one of torch.compile.
_NUMBERS = ("float lr=1e-3, float ema_decay=0.9999, float beta1=0.9, float beta2=0.999, float eps=1e-8, int adam_mode=1, "
            "bool bias_correction=True, float weight_decay=0.0")
_library.define("apply_fused_ema_adam_(Tensor grad, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v, Tensor(d!) s, Tensor step, "
                f"{_NUMBERS}) -> ()")
_library.define("apply_fused_ema_adam_list_(Tensor[] grads, Tensor(a!)[] vars, Tensor(b!)[] ms, Tensor(c!)[] vs, "
                f"Tensor(d!)[] ss, Tensor step, Tensor? grad_scale, Tensor? found_inf, {_NUMBERS}) -> ()")


def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    return _native.embedding(weight, indices)


def _embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    return _native.embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)


def _grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    out, start = torch.empty_like(x, memory_format=torch.contiguous_format), 0
    for group, entry in enumerate(group_idx.tolist()):
        end = start + entry if group_idx_type == 1 else entry
        if not start <= end <= len(x):
            raise IndexError(f"group_idx[{group}] = {entry}: group {group} would end at row {end}; it must end in "
                             f"[{start}, {len(x)}]")
        torch.add(x[start:end], bias[group], out=out[start:end])
        start = end
    out[start:] = x[start:]
    return out


def _grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0):
    return _native.grouped_bias_add_grad(grad_y, group_idx, group_idx_type)


def _nsa_compress(input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    return _native.nsa_compress(input, weight, block, stride, actual_seq_len=actual_seq_len,
                                actual_seq_len_type=actual_seq_len_type)


def _nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    return _native.nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=actual_seq_len,
                                     actual_seq_len_type=actual_seq_len_type)


def _apply_fused_ema_adam(grad, var, m, v, s, step, *numbers):
    _native.apply_fused_ema_adam_(grad, var, m, v, s, step, *numbers)
    versions.increment_versions([var, m, v, s])


def _apply_fused_ema_adam_list(grads, vars, ms, vs, ss, step, grad_scale, found_inf, *numbers):
    _native.apply_fused_ema_adam_(grads, vars, ms, vs, ss, step, *numbers, grad_scale=grad_scale, found_inf=found_inf)
    versions.increment_versions([*vars, *ms, *vs, *ss])


# ---- shapes, for tracing


def _fake_embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    return weight.new_empty([*indices.shape, weight.shape[1]])


def _fake_embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    return grad_output.new_empty([num_weights, grad_output.shape[-1]])


def _fake_grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _fake_grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0):
    groups = grad_y.shape[0] if group_idx is None else group_idx.shape[0]
    return grad_y.new_empty([groups, grad_y.shape[-1]])


def _fake_nsa_compress(input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    tokens = input.shape[0]
    if actual_seq_len:
        windows = _native.nsa_windows(actual_seq_len, max(actual_seq_len) * len(actual_seq_len), block, stride,
                                      actual_seq_len_type)
    else:
        windows = (tokens - block) // stride + 1 if tokens >= block else 0
    return input.new_empty([windows, *input.shape[1:]])


def _fake_nsa_compress_grad(grad, input, weight, block, stride, actual_seq_len=None, actual_seq_len_type=0):
    return (torch.empty_like(input, memory_format=torch.contiguous_format),
            torch.empty_like(weight, memory_format=torch.contiguous_format))


def _fake_nothing(*arguments):
    return None


# ---- gradients: what is saved, and the formula


def _embedding_setup(ctx, inputs, output):
    weight, indices, ctx.padding_idx, ctx.scale_grad_by_freq = inputs
    ctx.rows = weight.shape[0]
    ctx.save_for_backward(indices)


def _embedding_backward(ctx, grad):
    indices, = ctx.saved_tensors
    grad = torch.ops.openaclnn.embedding_dense_backward(grad, indices, ctx.rows, ctx.padding_idx, ctx.scale_grad_by_freq)
    return grad, None, None, None


def _dense_backward_setup(ctx, inputs, output):
    grad, indices, rows, ctx.padding_idx, ctx.scale_grad_by_freq = inputs
    ctx.save_for_backward(indices)


def _dense_backward_backward(ctx, grad):
    indices, = ctx.saved_tensors
    if ctx.scale_grad_by_freq:
        raise NotImplementedError("a second derivative of embedding with scale_grad_by_freq is not available")
    rows = torch.ops.openaclnn.embedding(grad, indices)
    if ctx.padding_idx >= 0:
        rows = rows.masked_fill((indices == ctx.padding_idx).unsqueeze(-1), 0)
    return rows, None, None, None, None


def _bias_setup(ctx, inputs, output):
    ctx.group_idx_type = inputs[3]
    ctx.save_for_backward(inputs[2])


def _bias_backward(ctx, grad):
    group_idx, = ctx.saved_tensors
    bias_grad = torch.ops.openaclnn.grouped_bias_add_grad(grad, group_idx, ctx.group_idx_type)
    return grad, bias_grad, None, None


def _nsa_setup(ctx, inputs, output):
    input, weight, *ctx.attributes = inputs
    ctx.save_for_backward(input, weight)


def _nsa_backward(ctx, grad):
    return (*torch.ops.openaclnn.nsa_compress_grad(grad, *ctx.saved_tensors, *ctx.attributes), None, None, None, None)


def _registered_gradient(name, setup, backward):
    torch.library.register_autograd(f"openaclnn::{name}", backward, setup_context=setup, lib=_library)


def _older_gradient(name, setup, backward):
    """Before 2.4 an autograd.Function stands where register_autograd would put one."""
    operator = getattr(torch.ops.openaclnn, name)
    defaults = [argument.default_value for argument in operator.default._schema.arguments]

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            with versions.below_autograd():
                output = operator(*inputs)
            setup(ctx, inputs, output)
            return output

    Function.backward = staticmethod(backward)
    _library.impl(name, lambda *inputs: Function.apply(*inputs, *defaults[len(inputs):]), "Autograd")


_KERNELS = {
    "embedding": (_embedding, _fake_embedding, _embedding_setup, _embedding_backward),
    "embedding_dense_backward": (_embedding_dense_backward, _fake_embedding_dense_backward, _dense_backward_setup,
                                 _dense_backward_backward),
    "embedding_counts": (_native.embedding_counts, lambda indices, num_weights: indices.new_empty(
        [num_weights], dtype=torch.int64)),
    "grouped_bias_add": (_grouped_bias_add, _fake_grouped_bias_add, _bias_setup, _bias_backward),
    "grouped_bias_add_grad": (_grouped_bias_add_grad, _fake_grouped_bias_add_grad),
    "nsa_compress": (_nsa_compress, _fake_nsa_compress, _nsa_setup, _nsa_backward),
    "nsa_compress_grad": (_nsa_compress_grad, _fake_nsa_compress_grad),
    "apply_fused_ema_adam_": (_apply_fused_ema_adam, _fake_nothing),
    "apply_fused_ema_adam_list_": (_apply_fused_ema_adam_list, _fake_nothing),
}


def _register():
    for name, (kernel, fake, *gradient) in _KERNELS.items():
        _library.impl(name, kernel, "CPU")
        if versions.VERSION >= (2, 4):
            torch.library.register_fake(f"openaclnn::{name}", fake, lib=_library)
        elif versions.VERSION >= (2, 2):
            torch.library.impl_abstract(f"openaclnn::{name}", fake, lib=_library)
        else:
            _library.impl(name, fake, "Meta")
        if gradient:
            (_registered_gradient if versions.VERSION >= (2, 4) else _older_gradient)(name, *gradient)


_register()


# ---- the functions of this module


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    """Rows of a table, weight[indices], with a deterministic gradient: openaclnn.embedding and its backward.

    weight [V, D] of any dtype, indices int32 or int64 of any shape; the result has the shape of indices followed by D.
    padding_idx: a row without gradient (negative: none). scale_grad_by_freq: divide gradients by the number of
    occurrences. An index out of range raises IndexError.
    """
    return torch.ops.openaclnn.embedding(weight, indices, padding_idx, scale_grad_by_freq)


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False, *, counts=None):
    """The gradient of a table; schema of aten::embedding_dense_backward.

    counts: int64 [num_weights], how often each row occurs in the whole batch; with it, rows are divided by these numbers
    (scale_grad_by_freq with a batch that is spread over processes: embedding_counts, summed over them).
    """
    if counts is None:
        return torch.ops.openaclnn.embedding_dense_backward(grad_output, indices, num_weights, padding_idx,
                                                            scale_grad_by_freq)
    # In float32 up to the one rounding at the end, as the operator scales by itself.
    wide = grad_output.new_empty([num_weights, grad_output.shape[-1]], dtype=torch.float32)
    _native.embedding_dense_backward(grad_output, indices, num_weights, padding_idx, out=wide)
    wide.mul_((1.0 / counts.clamp(min=1).to(torch.float32)).unsqueeze(1))
    return wide.to(grad_output.dtype)


def embedding_counts(indices, num_weights):
    """How often each row of a table occurs in indices: int64 [num_weights]."""
    return torch.ops.openaclnn.embedding_counts(indices, num_weights)


def grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    """y[i, :] = x[i, :] + bias[j, :] for the rows i of group j; rows after the last group stay as they are.

    x [R, H], bias [G, H], group_idx int32 or int64 [G]: the row after the last of each group (type 0) or its number of
    rows (type 1). The bias's gradient is openaclnn.grouped_bias_add_grad.
    """
    return torch.ops.openaclnn.grouped_bias_add(x, bias, group_idx, group_idx_type)


def grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0):
    """Sums of rows by groups: openaclnn.grouped_bias_add_grad."""
    return torch.ops.openaclnn.grouped_bias_add_grad(grad_y, group_idx, group_idx_type)


def nsa_compress(input, weight, compress_block_size, compress_stride, *, actual_seq_len=None, actual_seq_len_type=0):
    """Token compression of native sparse attention with gradients: openaclnn.nsa_compress and nsa_compress_grad."""
    return torch.ops.openaclnn.nsa_compress(input, weight, compress_block_size, compress_stride, _ints(actual_seq_len),
                                            actual_seq_len_type)


def nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride, *, actual_seq_len=None,
                      actual_seq_len_type=0):
    """The gradients of nsa_compress for tokens and weights: openaclnn.nsa_compress_grad."""
    return torch.ops.openaclnn.nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride,
                                                 _ints(actual_seq_len), actual_seq_len_type)


def _ints(numbers):
    return numbers.tolist() if isinstance(numbers, torch.Tensor) else numbers
