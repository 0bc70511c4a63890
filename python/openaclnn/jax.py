# openaclnn for JAX: the operators as foreign functions of XLA, for jax.jit, with gradients; the optimizer step updates in place.
"""Functions of JAX arrays on the CPU that can be compiled and differentiated. Wrong data, such as an index out of range, and
refused arguments raise JAX's runtime error with this library's sentence, when the result is waited for."""
import functools

import jax
import jax.numpy as jnp
import numpy as np

from openaclnn import _native

_targets = _native.jax_targets()
if not _targets:
    raise ImportError("this openaclnn was built without jaxlib, so openaclnn.jax is missing; install jaxlib and build again")
for _name, _capsule in _targets.items():
    jax.ffi.register_ffi_target(_name, _capsule, platform="cpu")


def _call(name, results, **more):
    return jax.ffi.ffi_call(f"openaclnn_{name}", results, vmap_method="sequential", **more)


def _like(array, shape=None):
    return jax.ShapeDtypeStruct(array.shape if shape is None else tuple(shape), array.dtype)


# ---- embedding


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    """Rows of a table, weight[indices], with the deterministic gradient of embedding_dense_backward.

    weight [V, D], indices int32 or int64 of any shape; the result has the shape of indices followed by D. Under jax.vmap
    over indices the rows are looked up one batch after another.
    """
    return _call("embedding", _like(weight, (*indices.shape, weight.shape[1])))(weight, indices)


def _embedding_forward(weight, indices, padding_idx, scale_grad_by_freq):
    return embedding(weight, indices, padding_idx, scale_grad_by_freq), (indices, weight.shape[0])


def _embedding_backward(padding_idx, scale_grad_by_freq, saved, grad):
    indices, rows = saved
    return embedding_dense_backward(grad, indices, rows, padding_idx, scale_grad_by_freq), None


embedding.defvjp(_embedding_forward, _embedding_backward)


def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False):
    """The gradient of a table: openaclnn.embedding_dense_backward. num_weights and the arguments after it are static."""
    call = _call("embedding_dense_backward", _like(grad, (int(num_weights), grad.shape[-1])))
    return call(grad, indices, padding_idx=np.int64(padding_idx), scale=np.int64(scale_grad_by_freq))


# ---- biases of groups


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def grouped_bias_add(x, bias, group_idx, group_idx_type=0):
    """x [R, H] plus the bias [G, H] of each row's group; group_idx [G] as in openaclnn.grouped_bias_add_grad."""
    ends = jnp.cumsum(group_idx) if group_idx_type == 1 else group_idx
    group_of_row = jnp.searchsorted(ends, jnp.arange(x.shape[0]), side="right")
    added = jnp.take(bias, jnp.minimum(group_of_row, bias.shape[0] - 1), axis=0)
    return x + jnp.where((group_of_row < bias.shape[0])[:, None], added, 0).astype(x.dtype)


def _bias_forward(x, bias, group_idx, group_idx_type):
    return grouped_bias_add(x, bias, group_idx, group_idx_type), group_idx


def _bias_backward(group_idx_type, group_idx, grad):
    return grad, grouped_bias_add_grad(grad, group_idx, group_idx_type), None


grouped_bias_add.defvjp(_bias_forward, _bias_backward)


def grouped_bias_add_grad(grad_y, group_idx, group_idx_type=0):
    """Sums of rows by groups: openaclnn.grouped_bias_add_grad. group_idx_type is static."""
    call = _call("grouped_bias_add_grad", _like(grad_y, (group_idx.shape[0], grad_y.shape[-1])))
    return call(grad_y, group_idx, type=np.int64(group_idx_type))


# ---- token compression


def nsa_compress(input, weight, compress_block_size, compress_stride, *, actual_seq_len=None, actual_seq_len_type=0):
    """Token compression of native sparse attention, with gradients: openaclnn.nsa_compress. All but the arrays is static."""
    lengths = tuple(int(length) for length in actual_seq_len) if actual_seq_len is not None else ()
    return _nsa_compress(input, weight, int(compress_block_size), int(compress_stride), lengths, int(actual_seq_len_type))


def _nsa_attributes(block, stride, lengths, kind):
    return dict(block=np.int64(block), stride=np.int64(stride), lengths=np.array(lengths, np.int64), type=np.int64(kind))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4, 5))
def _nsa_compress(input, weight, block, stride, lengths, kind):
    windows = _native.nsa_windows(list(lengths), input.shape[0], block, stride, kind)
    call = _call("nsa_compress", _like(input, (windows, *input.shape[1:])))
    return call(input, weight, **_nsa_attributes(block, stride, lengths, kind))


def _nsa_forward(input, weight, *attributes):
    return _nsa_compress(input, weight, *attributes), (input, weight)


def _nsa_backward(block, stride, lengths, kind, saved, grad):
    call = _call("nsa_compress_grad", tuple(_like(array) for array in saved))
    return tuple(call(grad, *saved, **_nsa_attributes(block, stride, lengths, kind)))


_nsa_compress.defvjp(_nsa_forward, _nsa_backward)


# ---- the optimizer


def apply_fused_ema_adam(grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, mode=1,
                         bias_correction=True, weight_decay=0.0):
    """One step of Adam or AdamW with an average of the parameter: the new (var, m, v, s).

    The formula is that of openaclnn.apply_fused_ema_adam_. step (from 1 on) and lr may be traced, so that a schedule does
    not compile again; the other numbers are static. Results are written into the memory of var, m, v and s when these are
    donated (jax.jit(…, donate_argnums=…)), else into copies that XLA makes. For a tree of parameters: jax.tree.map.
    """
    call = _call("apply_fused_ema_adam", tuple(_like(array) for array in (var, m, v, s)),
                 input_output_aliases={1: 0, 2: 1, 3: 2, 4: 3})
    return tuple(call(grad, var, m, v, s, jnp.asarray(step, jnp.int32), jnp.asarray(lr, jnp.float32),
                      ema_decay=np.float64(ema_decay), beta1=np.float64(beta1), beta2=np.float64(beta2), eps=np.float64(eps),
                      mode=np.int64(mode), bias_correction=np.int64(bias_correction), weight_decay=np.float64(weight_decay)))
