# Modules of PyTorch around the operators: Embedding, GroupedBiasAdd, NsaCompress.
"""Modules in the style of torch.nn."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import torch

from openaclnn.torch import ops

if TYPE_CHECKING:
    import numpy
    from torch import Tensor

__all__ = ["Embedding", "GroupedBiasAdd", "NsaCompress"]


def _require_dtype(dtype: torch.dtype | None, module: str) -> None:
    """Raises TypeError for a dtype that the operators don't accept. PyTorch's default dtype is not checked: programs that change it
    may still cast the module."""
    if dtype not in (None, torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(f"{module}: dtype is {dtype}; it must be torch.float32, torch.float16 or torch.bfloat16")


class Embedding(torch.nn.Embedding):
    """torch.nn.Embedding with openaclnn's gradient: the same bits in every run, for any number of threads.

    Arguments and shapes as torch.nn.Embedding. Sparse gradients and max_norm are not supported and raise ValueError. An index
    that is not in [0, num_embeddings) raises AclnnIndexError. The formula is that of embedding.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
                 _weight: Tensor | None = None, _freeze: bool = False, device: torch.device | str | int | None = None,
                 dtype: torch.dtype | None = None) -> None:
        for name, value, is_given in (("sparse", sparse, bool(sparse)), ("max_norm", max_norm, max_norm is not None)):
            if is_given:
                raise ValueError(f"{name} is {value}; openaclnn.torch.Embedding does not offer it, torch.nn.Embedding does")
        more: dict[str, Any] = {"_freeze": True} if _freeze else {}  # since 2.0
        super().__init__(num_embeddings, embedding_dim, padding_idx, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq,
                         _weight=_weight, device=device, dtype=dtype, **more)

    def forward(self, input: Tensor) -> Tensor:
        """Returns rows of the table: the shape of input, int32 or int64, followed by embedding_dim."""
        padding = -1 if self.padding_idx is None else self.padding_idx
        return ops.embedding(self.weight, input, padding, self.scale_grad_by_freq)


class GroupedBiasAdd(torch.nn.Module):
    """Adds to each row the bias of its group, such as the expert that the row was sent to.

    Parameters
    ----------
    groups, features : G and H; the biases, [G, H], are initialised with zeros.
    device, dtype : of the biases: float32, float16 or bfloat16; another one raises TypeError.

    The formula and the errors are those of grouped_bias_add.
    """

    bias: torch.nn.Parameter

    def __init__(self, groups: int, features: int, device: torch.device | str | int | None = None,
                 dtype: torch.dtype | None = None) -> None:
        super().__init__()
        _require_dtype(dtype, "GroupedBiasAdd")
        self.bias = torch.nn.Parameter(torch.empty(groups, features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the biases to zero, as at the start."""
        torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, group_idx: Tensor, group_idx_type: int = 0) -> Tensor:
        """Returns x [R, H] with biases added; group_idx [G] and group_idx_type as in grouped_bias_add."""
        return ops.grouped_bias_add(x, self.bias, group_idx, group_idx_type)

    def extra_repr(self) -> str:
        return "groups={}, features={}".format(*self.bias.shape)


class NsaCompress(torch.nn.Module):
    """Compresses each window of tokens to one token, by learnt weights: the compression of native sparse attention.

    Parameters
    ----------
    heads : N.
    compress_block_size, compress_stride : tokens of a window, L, and the distance between the starts of two windows. Below 1
        they raise ValueError.
    device, dtype : of the weights, [L, N]: float32, float16 or bfloat16; another one raises TypeError. They are initialised to
        the mean.

    The formula and the errors are those of nsa_compress. Under torch.autocast tokens and weights are cast to its dtype.
    """

    weight: torch.nn.Parameter

    def __init__(self, heads: int, compress_block_size: int, compress_stride: int,
                 device: torch.device | str | int | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        _require_dtype(dtype, "NsaCompress")
        for name, value in (("compress_block_size", compress_block_size), ("compress_stride", compress_stride)):
            if not hasattr(value, "__index__"):
                raise TypeError(f"NsaCompress: {name} is {value!r}; an int is needed")
            if value < 1:
                raise ValueError(f"NsaCompress: {name} is {value}; it must be at least 1")
        self.compress_block_size, self.compress_stride = compress_block_size, compress_stride
        self.weight = torch.nn.Parameter(torch.empty(compress_block_size, heads, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weights to those of a mean, as at the start."""
        torch.nn.init.constant_(self.weight, 1.0 / self.compress_block_size)

    def forward(self, input: Tensor, actual_seq_len: Sequence[int] | Tensor | numpy.ndarray | None = None) -> Tensor:
        """Returns one token for each window of input [T, N, D]: [J, N, D]. actual_seq_len: ends of the sequences, as in
        nsa_compress."""
        return ops.nsa_compress(input, self.weight, self.compress_block_size, self.compress_stride,
                                actual_seq_len=actual_seq_len)

    def extra_repr(self) -> str:
        return f"heads={self.weight.shape[1]}, block={self.compress_block_size}, stride={self.compress_stride}"
