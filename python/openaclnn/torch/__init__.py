# openaclnn for PyTorch: operators with gradients, modules, optimizers, support for many processes. From PyTorch 1.13 up.
"""Operators that work with autograd and torch.compile, modules, and the optimizers FusedEmaAdamW and FusedEmaAdam.

For many processes see openaclnn.torch.distributed. To override aten's gradient of embeddings call enable_embedding_backward().
"""
from openaclnn.torch.aten import disable_embedding_backward, enable_embedding_backward
from openaclnn.torch.modules import Embedding, GroupedBiasAdd, NsaCompress
from openaclnn.torch.ops import (
    apply_adam_w_,
    embedding,
    embedding_counts,
    embedding_dense_backward,
    grouped_bias_add,
    grouped_bias_add_grad,
    nsa_compress,
    nsa_compress_grad,
    nsa_compress_with_cache_,
)
from openaclnn.torch.optim import FusedEmaAdam, FusedEmaAdamW

__all__ = [
    "Embedding",
    "FusedEmaAdam",
    "FusedEmaAdamW",
    "GroupedBiasAdd",
    "NsaCompress",
    "apply_adam_w_",
    "disable_embedding_backward",
    "embedding",
    "embedding_counts",
    "embedding_dense_backward",
    "enable_embedding_backward",
    "grouped_bias_add",
    "grouped_bias_add_grad",
    "nsa_compress",
    "nsa_compress_grad",
    "nsa_compress_with_cache_",
]
