# Types of the package. The docstrings are in the functions themselves (help(openaclnn.embedding)).
from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeVar

from typing_extensions import Buffer

from openaclnn._golden import Golden as Golden
from openaclnn._golden import GoldenOutput as GoldenOutput
from openaclnn._golden import golden as golden
from openaclnn._judgement import judge as judge
from openaclnn._judgement import judge_dump as judge_dump
from openaclnn._judgement import judge_pair as judge_pair
from openaclnn._judgement import judge_rules as judge_rules
from openaclnn._report import Report as Report
from openaclnn.errors import AclnnError as AclnnError
from openaclnn.errors import AclnnIndexError as AclnnIndexError
from openaclnn.errors import AclnnMemoryError as AclnnMemoryError

# Arrays of NumPy, PyTorch, CuPy, JAX and others are recognised by their methods. Lists of numbers and texts are not arrays.
class _HasDLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class _HasArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Array = _HasDLPack | _HasArrayInterface | Buffer
_Arrays = _Array | Sequence[_HasDLPack] | Sequence[_HasArrayInterface] | Sequence[Buffer]
_Numbers = Sequence[SupportsIndex] | _Array

_A = TypeVar("_A", bound=_Array)
_B = TypeVar("_B", bound=_Array)
_C = TypeVar("_C", bound=_Array)
# Arrays, or a list of them, one for each parameter of a model.
_Var = TypeVar("_Var", bound=_Arrays)
_M = TypeVar("_M", bound=_Arrays)
_V = TypeVar("_V", bound=_Arrays)
_S = TypeVar("_S", bound=_Arrays)

__version__: str

def apply_adam_w_(
    grad: _Array,
    var: _A,
    m: _B,
    v: _C,
    steps_done: SupportsIndex | _Array,
    lr: SupportsFloat = 1e-3,
    beta1: SupportsFloat = 0.9,
    beta2: SupportsFloat = 0.999,
    eps: SupportsFloat = 1e-8,
    weight_decay: SupportsFloat = 1e-2,
    *,
    max_v: _Array | None = None,
    maximize: bool = False,
) -> tuple[_A, _B, _C]: ...
def apply_fused_ema_adam_(
    grad: _Arrays,
    var: _Var,
    m: _M,
    v: _V,
    s: _S,
    step: SupportsIndex | _Array,
    lr: SupportsFloat = 1e-3,
    ema_decay: SupportsFloat = 0.9999,
    beta1: SupportsFloat = 0.9,
    beta2: SupportsFloat = 0.999,
    eps: SupportsFloat = 1e-8,
    mode: SupportsIndex = 1,
    bias_correction: bool = True,
    weight_decay: SupportsFloat = 0.0,
    *,
    var_copy: _Arrays | None = None,
    grad_scale: float | _Array | None = None,
    found_inf: float | _Array | None = None,
) -> tuple[_Var, _M, _V, _S]: ...
def embedding(
    weight: _A,
    indices: _Array,
    *,
    out: _A | None = None,
    vocab_start: SupportsIndex | None = None,
    vocab_end: SupportsIndex | None = None,
    vocab_size: SupportsIndex | None = None,
) -> _A: ...
def embedding_dense_backward(
    grad: _A,
    indices: _Array,
    num_weights: SupportsIndex,
    padding_idx: SupportsIndex = -1,
    scale_grad_by_freq: bool = False,
    *,
    out: _A | None = None,
    vocab_start: SupportsIndex | None = None,
    vocab_end: SupportsIndex | None = None,
    vocab_size: SupportsIndex | None = None,
) -> _A: ...
def embedding_counts(indices: _A, num_weights: SupportsIndex, *, out: _A | None = None) -> _A: ...
def grouped_bias_add_grad(
    grad_y: _A, group_idx: _Array | None = None, group_idx_type: int = 0, *, out: _A | None = None
) -> _A: ...
def nsa_compress(
    input: _A,
    weight: _Array,
    compress_block_size: SupportsIndex,
    compress_stride: SupportsIndex,
    *,
    actual_seq_len: _Numbers | None = None,
    actual_seq_len_type: int = 0,
    out: _A | None = None,
) -> _A: ...
def nsa_compress_grad(
    grad: _Array,
    input: _A,
    weight: _B,
    compress_block_size: SupportsIndex,
    compress_stride: SupportsIndex,
    *,
    actual_seq_len: _Numbers | None = None,
    actual_seq_len_type: int = 0,
    out: tuple[_A, _B] | None = None,
) -> tuple[_A, _B]: ...
def nsa_compress_with_cache_(
    input: _Array,
    weight: _Array,
    slot_mapping: _Array,
    cache: _A,
    compress_block_size: SupportsIndex,
    compress_stride: SupportsIndex,
    actual_seq_len: _Numbers,
    *,
    block_table: _Array | None = None,
    page_block_size: SupportsIndex | None = None,
) -> _A: ...
def nsa_windows(
    actual_seq_len: _Numbers | None,
    tokens: SupportsIndex,
    compress_block_size: SupportsIndex,
    compress_stride: SupportsIndex,
    actual_seq_len_type: int = 0,
) -> int: ...
def release_memory() -> None: ...
def synchronize() -> None: ...
def doctor() -> bool: ...
