# Types of the package; docstrings are those of the functions themselves (help(openaclnn.embedding)).
from collections.abc import Sequence
from typing import Any, TypeVar

from openaclnn.errors import AclnnError as AclnnError
from openaclnn.errors import AclnnIndexError as AclnnIndexError
from openaclnn.errors import AclnnMemoryError as AclnnMemoryError

# An array of NumPy, PyTorch, CuPy or JAX, or of another library with __dlpack__, a buffer or __array_interface__.
Array = Any
# Arrays, or a list of them, one for each parameter of a model.
A = TypeVar("A")
Numbers = Sequence[int] | Array

__version__: str

def apply_fused_ema_adam_(
    grad: Array | Sequence[Array],
    var: A,
    m: A,
    v: A,
    s: A,
    step: int | Array,
    lr: float = 1e-3,
    ema_decay: float = 0.9999,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    mode: int = 1,
    bias_correction: bool = True,
    weight_decay: float = 0.0,
    *,
    var_copy: Array | Sequence[Array] | None = None,
    grad_scale: float | Array | None = None,
    found_inf: float | Array | None = None,
) -> tuple[A, A, A, A]: ...
def embedding(
    weight: A,
    indices: Array,
    *,
    out: A | None = None,
    vocab_start: int | None = None,
    vocab_end: int | None = None,
    vocab_size: int | None = None,
) -> A: ...
def embedding_dense_backward(
    grad: A,
    indices: Array,
    num_weights: int,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    *,
    out: A | None = None,
    vocab_start: int | None = None,
    vocab_end: int | None = None,
    vocab_size: int | None = None,
) -> A: ...
def embedding_counts(indices: A, num_weights: int, *, out: A | None = None) -> A: ...
def grouped_bias_add_grad(
    grad_y: A, group_idx: Array | None = None, group_idx_type: int = 0, *, out: A | None = None
) -> A: ...
def nsa_compress(
    input: A,
    weight: A,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: Numbers | None = None,
    actual_seq_len_type: int = 0,
    out: A | None = None,
) -> A: ...
def nsa_compress_grad(
    grad: A,
    input: A,
    weight: A,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: Numbers | None = None,
    actual_seq_len_type: int = 0,
    out: tuple[A, A] | None = None,
) -> tuple[A, A]: ...
def nsa_windows(
    actual_seq_len: Numbers | None,
    tokens: int,
    compress_block_size: int,
    compress_stride: int,
    actual_seq_len_type: int = 0,
) -> int: ...
def doctor() -> bool: ...
