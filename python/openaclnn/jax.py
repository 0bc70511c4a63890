# openaclnn for JAX: the operators as foreign functions of XLA, for jax.jit, with gradients; the optimizer step updates in place.
"""Functions of JAX arrays on the CPU that can be compiled and differentiated.

Wrong dtypes, shapes and static arguments raise AclnnError, TypeError or ValueError at once, also while JAX traces. Wrong data,
such as an index out of range, raises JAX's runtime error with this library's error message when the program waits for the
result."""
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from openaclnn import _native
from openaclnn._jax_arguments import (Array, is_known, learning_rate, padding_row, require_arrays, require_rank, require_whole, static_dim,
                                      static_flag, static_int, static_lengths, static_number, step_number)
from openaclnn._jax_devices import Kind, gathered, vary_alike, varying_as
from openaclnn._platform import computes_on_gpu

if computes_on_gpu:
    raise ImportError("OPENACLNN_DEVICE is cuda, but openaclnn.jax computes on the CPU; unset it before the program starts")
_targets = _native.jax_targets()
if not _targets:
    raise ImportError("this openaclnn was built without jaxlib, so openaclnn.jax is missing; install jaxlib and build again")
for _name, _capsule in _targets.items():
    jax.ffi.register_ffi_target(_name, _capsule, platform="cpu")


_FLOATS = ("float32", "float16", "bfloat16")  # the dtypes of gradients


def _call(name: str, results: Any, **more: Any) -> Callable[..., Any]:
    """Returns XLA's foreign function. It checks dtypes, shapes and attributes when it is called, which may be a trace."""
    call = jax.ffi.ffi_call(f"openaclnn_{name}", results, vmap_method="sequential", **more)
    outputs = results if isinstance(results, tuple) else (results,)

    def checked(*arrays: Any, **attributes: Any) -> Any:
        arrays = vary_alike(*arrays)
        shapes = [(str(array.dtype), list(array.shape)) for array in (*arrays, *outputs)]
        if all(is_known(dim) for _, shape in shapes for dim in shape):
            _native.jax_check(name, shapes, attributes)
        found = call(*arrays, **attributes)
        return jax.tree.map(lambda result: varying_as(result, *arrays), found)

    return checked


def _like(array: Array, shape: Sequence[int] | None = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape if shape is None else tuple(shape), array.dtype)


# ---- embedding


def embedding(weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> jax.Array:
    """Returns the rows weight[indices] of a table, with the deterministic gradient of embedding_dense_backward.

    weight is [V, D], indices int32 or int64 of any shape. The result has the shape of indices followed by D. Under jax.vmap
    over indices the rows of each batch are read one batch after another.
    """
    require_arrays(weight=weight, indices=indices)
    require_whole("indices", indices)
    require_rank("weight", weight, "[V, D]")
    found: jax.Array = _embedding(*vary_alike(weight, indices), padding_row(padding_idx, weight.shape[0]),
                                  static_flag("scale_grad_by_freq", scale_grad_by_freq))
    return found


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _embedding(weight, indices, padding_idx, scale_grad_by_freq):
    return _call("embedding", _like(weight, (*indices.shape, weight.shape[1])))(weight, indices)


def _embedding_forward(weight, indices, padding_idx, scale_grad_by_freq):
    if jnp.issubdtype(weight.dtype, jnp.inexact) and str(weight.dtype) not in _FLOATS:
        raise TypeError(f"weight has dtype {weight.dtype}; only tables of {', '.join(_FLOATS)} have a gradient")
    return _embedding(weight, indices, padding_idx, scale_grad_by_freq), (jnp.asarray(indices), Kind.of(weight))


def _embedding_backward(padding_idx, scale_grad_by_freq, saved, grad):
    indices, weight = saved
    return weight.place(embedding_dense_backward(grad, indices, weight.shape[0], padding_idx, scale_grad_by_freq)), None


_embedding.defvjp(_embedding_forward, _embedding_backward)


def embedding_dense_backward(grad: Array, indices: Array, num_weights: int, padding_idx: int = -1,
                             scale_grad_by_freq: bool = False) -> jax.Array:
    """Returns the gradient of a table: openaclnn.embedding_dense_backward. num_weights and the arguments after it are
    static."""
    require_arrays(grad=grad, indices=indices)
    require_whole("indices", indices)
    if grad.ndim < 1:
        raise ValueError("grad has shape []; it must have the shape of indices followed by D")
    call = _call("embedding_dense_backward", _like(grad, (static_dim("num_weights", num_weights), grad.shape[-1])))
    rows: jax.Array = call(grad, indices, padding_idx=np.int64(static_int("padding_idx", padding_idx)),
                           scale=np.int64(static_flag("scale_grad_by_freq", scale_grad_by_freq)))
    return rows


# ---- biases of groups


def grouped_bias_add(x: Array, bias: Array, group_idx: Array, group_idx_type: int = 0) -> jax.Array:
    """Returns x [R, H] plus the bias [G, H] of each row's group; group_idx [G] as in openaclnn.grouped_bias_add_grad.

    x and bias are float32, float16 or bfloat16, and may have different dtypes; the result has x's dtype. group_idx_type is
    static. Values of group_idx are checked here if they are known. Traced values, under jax.jit or jax.vmap, are checked only
    by the gradient. The result for wrong traced values is not specified.
    """
    require_arrays(x=x, bias=bias, group_idx=group_idx)
    require_rank("x", x, "[R, H]")
    require_rank("bias", bias, "[G, H]")
    for name, array in (("x", x), ("bias", bias)):
        if str(array.dtype) not in _FLOATS:
            raise TypeError(f"{name} has dtype {array.dtype}; it must be one of {', '.join(_FLOATS)}")
    _check_groups(group_idx, group_idx_type)
    if bias.shape != (group_idx.shape[0], x.shape[1]):
        raise ValueError(f"bias has shape {list(bias.shape)}; it must be {[group_idx.shape[0], x.shape[1]]}, one row for each "
                         f"of the {group_idx.shape[0]} groups of group_idx, as wide as x")
    if not is_known(group_idx.shape[0]):
        raise TypeError(f"group_idx has shape {list(group_idx.shape)}; the number of groups must be known, unlike other dims")
    if not isinstance(group_idx, jax.core.Tracer) and is_known(x.shape[0]):
        _check_ends(np.asarray(group_idx), group_idx_type, x.shape[0])
    # Casting group_idx, which has no gradient, would fail in jnp.searchsorted of JAX 0.7.
    x, bias, _ = vary_alike(x, bias, group_idx)
    added: jax.Array = _grouped_bias_add(x, bias, group_idx, group_idx_type)
    return added


def _check_groups(group_idx: Array, group_idx_type: int) -> None:
    """Checks the rank, dtype and type of group_idx, which are known before its values."""
    require_rank("group_idx", group_idx, "[G]")
    if str(group_idx.dtype) not in ("int32", "int64"):
        raise TypeError(f"group_idx has dtype {group_idx.dtype}; it must be int32 or int64")
    if static_int("group_idx_type", group_idx_type) not in (0, 1):
        raise ValueError(f"group_idx_type is {group_idx_type}; it must be 0 (group_idx holds the end row of each group) or "
                         "1 (group_idx holds the size of each group)")


def _check_ends(group_idx: np.ndarray[Any, Any], group_idx_type: int, rows: int) -> None:
    start = 0
    for group, entry in enumerate(group_idx.tolist()):
        end = start + entry if group_idx_type == 1 else entry
        if not start <= end <= rows:
            raise IndexError(f"group_idx[{group}] = {entry}: group {group} would end at row {end}; it must end in "
                             f"[{start}, {rows}]")
        start = end


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _grouped_bias_add(x, bias, group_idx, group_idx_type):
    groups = bias.shape[0]
    if groups == 0:
        return jnp.asarray(x)
    bias, group_idx = gathered(bias), gathered(group_idx)
    ends = jnp.cumsum(group_idx) if group_idx_type == 1 else group_idx
    group_of_row = jnp.searchsorted(ends, jnp.arange(x.shape[0], dtype=ends.dtype), side="right")
    added = jnp.take(bias, jnp.minimum(group_of_row, groups - 1), axis=0)
    wide = _wider(x.dtype, bias.dtype)
    return (x.astype(wide) + jnp.where((group_of_row < groups)[:, None], added.astype(wide), 0)).astype(x.dtype)


def _wider(one: Any, other: Any) -> Any:
    """Returns the dtype that has the values of two of _FLOATS. jax.numpy has this rule, but strict promotion refuses it."""
    return one if one == other else np.dtype(np.float32)


def _bias_forward(x, bias, group_idx, group_idx_type):
    return _grouped_bias_add(x, bias, group_idx, group_idx_type), (jnp.asarray(group_idx), Kind.of(bias))


def _bias_backward(group_idx_type, saved, grad):
    group_idx, bias = saved
    wide = _wider(grad.dtype, bias.dtype)  # neither rows nor sums are rounded to less than the bias has
    sums = grouped_bias_add_grad(grad.astype(wide), group_idx, group_idx_type)
    return grad, bias.place(sums.astype(bias.dtype)), None


_grouped_bias_add.defvjp(_bias_forward, _bias_backward)


def grouped_bias_add_grad(grad_y: Array, group_idx: Array, group_idx_type: int = 0) -> jax.Array:
    """Returns sums of rows by groups: openaclnn.grouped_bias_add_grad with group_idx. group_idx_type is static."""
    require_arrays(grad_y=grad_y, group_idx=group_idx)
    require_whole("group_idx", group_idx)
    require_rank("grad_y", grad_y, "[R, H]")
    _check_groups(group_idx, group_idx_type)
    call = _call("grouped_bias_add_grad", _like(grad_y, (group_idx.shape[0], grad_y.shape[-1])))
    sums: jax.Array = call(grad_y, group_idx, type=np.int64(group_idx_type))
    return sums


# ---- token compression


def nsa_compress(input: Array, weight: Array, compress_block_size: int, compress_stride: int, *,
                 actual_seq_len: Sequence[int] | Array | None = None, actual_seq_len_type: int = 0) -> jax.Array:
    """Token compression of native sparse attention, with gradients: openaclnn.nsa_compress. All arguments except the arrays are
    static.

    Rejected arguments raise AclnnError at once.
    """
    require_arrays(input=input, weight=weight)
    windows: jax.Array = _nsa_compress(*vary_alike(input, weight), static_int("compress_block_size", compress_block_size),
                                       static_int("compress_stride", compress_stride),
                                       static_lengths("actual_seq_len", actual_seq_len),
                                       static_int("actual_seq_len_type", actual_seq_len_type))
    return windows


def _count_windows(tokens: Any, block: int, stride: int, lengths: tuple[int, ...], kind: int) -> Any:
    """Returns the number of windows, a symbol if jax.export doesn't know the number of tokens of the one sequence."""
    if is_known(tokens) or lengths:
        return _native.nsa_compress_windows(lengths, tokens if is_known(tokens) else 2**63 - 1, block, stride, kind)
    _native.nsa_compress_windows((), 0, block, stride, kind)  # rejects wrong numbers
    return jax.core.max_dim(tokens - block + stride, 0) // stride


def _nsa_attributes(block: int, stride: int, lengths: tuple[int, ...], kind: int) -> dict[str, Any]:
    return dict(block=np.int64(block), stride=np.int64(stride), lengths=np.array(lengths, np.int64), type=np.int64(kind))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4, 5))
def _nsa_compress(input, weight, block, stride, lengths, kind):
    windows = _count_windows(input.shape[0], block, stride, lengths, kind) if input.ndim else 0
    call = _call("nsa_compress", _like(input, (windows, *input.shape[1:])))
    return call(input, weight, **_nsa_attributes(block, stride, lengths, kind))


def _nsa_forward(input, weight, *attributes):
    return _nsa_compress(input, weight, *attributes), (input, weight)


def _nsa_backward(block, stride, lengths, kind, saved, grad):
    call = _call("nsa_compress_grad", tuple(_like(array) for array in saved))
    gradients = call(grad, *saved, **_nsa_attributes(block, stride, lengths, kind))
    return tuple(Kind.of(array).place(gradient) for array, gradient in zip(saved, gradients))


_nsa_compress.defvjp(_nsa_forward, _nsa_backward)


# ---- the optimizer


def apply_fused_ema_adam(grad: Array, var: Array, m: Array, v: Array, s: Array, step: int | Array,
                         lr: float | Array = 1e-3, ema_decay: float = 0.9999, beta1: float = 0.9, beta2: float = 0.999,
                         eps: float = 1e-8, mode: int = 1, bias_correction: bool = True, weight_decay: float = 0.0,
                         ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Computes one step of Adam or AdamW with an average of the parameter. Returns the new (var, m, v, s).

    The formula is that of openaclnn.apply_fused_ema_adam_. step (from 1 on) and lr may be traced, so that a schedule does not
    recompile; the other numbers are static. Results are written into the memory of var, m, v and s if these are donated
    (jax.jit(…, donate_argnums=…)), otherwise into copies that XLA makes. All five arrays have one dtype: float32, float16 or
    bfloat16. For a tree of parameters use jax.tree.map. New arrays have the explicit shardings of the old ones.

    Raises TypeError or ValueError at once if a number or flag is of another type, or if a known step is below 1 with
    bias_correction or doesn't fit into 32 bits.
    """
    require_arrays(grad=grad, var=var, m=m, v=v, s=s)
    bias_correction = static_flag("bias_correction", bias_correction)
    call = _call("apply_fused_ema_adam", tuple(_like(array) for array in (var, m, v, s)),
                 input_output_aliases={1: 0, 2: 1, 3: 2, 4: 3})
    state = var, m, v, s
    new = call(grad, *state, step_number(step, bias_correction), learning_rate(lr),
               ema_decay=np.float64(static_number("ema_decay", ema_decay)), beta1=np.float64(static_number("beta1", beta1)),
               beta2=np.float64(static_number("beta2", beta2)), eps=np.float64(static_number("eps", eps)),
               mode=np.int64(static_int("mode", mode)), bias_correction=np.int64(bias_correction),
               weight_decay=np.float64(static_number("weight_decay", weight_decay)))
    var, m, v, s = (Kind.of(old).place(array) for old, array in zip(state, new))
    return var, m, v, s
