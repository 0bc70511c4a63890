# Powers of two in place, and the sums of their rows: the weights of attention.
from __future__ import annotations

import torch

from openaclnn import _native


def exp2_(scores: torch.Tensor) -> torch.Tensor:
    """Replaces scores by their powers of two, and returns them."""
    if not _is_native(scores):
        return scores.exp2_()
    _native.exp2_rows(scores.data_ptr(), 1, scores.numel(), 0)
    return scores


def exp2_sums_(scores: torch.Tensor) -> torch.Tensor:
    """Replaces scores by their powers of two, and returns the sums of the rows, with one column."""
    if not _is_native(scores):
        return scores.exp2_().sum(-1, keepdim=True)
    sums = scores.new_empty([*scores.shape[:-1], 1])
    _native.exp2_rows(scores.data_ptr(), sums.numel(), scores.shape[-1], sums.data_ptr())
    return sums


def _is_native(scores: torch.Tensor) -> bool:
    return scores.dtype == torch.float32 and scores.device.type == "cpu" and scores.is_contiguous()
