# The package openaclnn: operators on arrays of NumPy, PyTorch, CuPy and JAX; openaclnn.torch and openaclnn.jax are imported on demand.
"""Training operators of CANN's aclnn interface on ordinary machines.

Functions take arrays of any library in place, without copies. Results are arrays of the same library. For autograd and modules
of PyTorch see openaclnn.torch, for jax.jit openaclnn.jax, for scripts written for torch_npu or MindSpeed openaclnn.compat.
"""
from openaclnn import _platform  # before the library looks at its environment
from openaclnn._native import (
    apply_adam_w_,
    apply_fused_ema_adam_,
    embedding,
    embedding_counts,
    embedding_dense_backward,
    grouped_bias_add_grad,
    nsa_compress,
    nsa_compress_grad,
    nsa_compress_with_cache_,
    nsa_windows,
    release_memory,
    synchronize,
)
from openaclnn._doctor import doctor, version as _version
from openaclnn._golden import Golden, GoldenOutput, golden
from openaclnn._judgement import judge, judge_dump, judge_pair, judge_rules
from openaclnn._report import Report
from openaclnn.errors import AclnnError, AclnnIndexError, AclnnMemoryError

__version__ = _version()

__all__ = [
    "AclnnError",
    "AclnnIndexError",
    "AclnnMemoryError",
    "Golden",
    "GoldenOutput",
    "Report",
    "apply_adam_w_",
    "apply_fused_ema_adam_",
    "doctor",
    "embedding",
    "embedding_counts",
    "embedding_dense_backward",
    "golden",
    "grouped_bias_add_grad",
    "judge",
    "judge_dump",
    "judge_pair",
    "judge_rules",
    "nsa_compress",
    "nsa_compress_grad",
    "nsa_compress_with_cache_",
    "nsa_windows",
    "release_memory",
    "synchronize",
]
