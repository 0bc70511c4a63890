# The layouts of attention: each tensor as [batch, heads, tokens, numbers] and back, and the order of the statistics.
"""B batch, S tokens of a sequence, H numbers of a token, N heads, D numbers of a head, T tokens of all sequences."""
from __future__ import annotations

import itertools

import torch

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
SAME = 8  # equal numbers that a statistic has in its last axis


def to_heads(tensor: torch.Tensor, layout: str, numbers: int) -> torch.Tensor:
    """Returns the tensor as [B, N, S, D]; it shares memory. TND gives B = 1 and S = T. `numbers` is D in BSH and SBH."""
    if layout == "BNSD":
        return tensor
    if layout == "TND":
        return tensor.transpose(0, 1).unsqueeze(0)
    if layout != "BSND":
        tensor = tensor.unflatten(2, (tensor.shape[2] // numbers, numbers))
    return tensor.permute(1, 2, 0, 3) if layout == "SBH" else tensor.transpose(1, 2)


def from_heads(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """Returns a tensor [B, N, S, D] in the layout, contiguous."""
    if layout == "BNSD":
        return tensor
    if layout == "TND":
        return tensor.squeeze(0).transpose(0, 1).contiguous()
    tensor = tensor.permute(2, 0, 1, 3) if layout == "SBH" else tensor.transpose(1, 2)
    return (tensor if layout == "BSND" else tensor.flatten(2)).contiguous()


def _bounds(ends: list[int], tokens: int) -> list[tuple[int, int]]:
    """Returns first token and end of each packed sequence, and of the tokens after the last one."""
    return list(itertools.pairwise([0, *ends, tokens]))


def statistics_out(statistics: torch.Tensor, ends: list[int] | None, softmax_layout: str) -> torch.Tensor:
    """Returns statistics [B, N, S] as callers get them: [B, N, S, 8], or [T, N, 8] if sequences are packed.

    The memory of packed ones has a block [N, tokens, 8] for each sequence, unless softmax_layout is "TND".
    """
    if ends is None:
        return statistics.unsqueeze(-1).repeat(1, 1, 1, SAME)
    _, heads, tokens = statistics.shape
    if softmax_layout == "TND":
        return statistics[0].transpose(0, 1).unsqueeze(-1).repeat(1, 1, SAME)
    blocks = [statistics[0, :, first:end].reshape(-1) for first, end in _bounds(ends, tokens)]
    return torch.cat(blocks).view(tokens, heads, 1).repeat(1, 1, SAME)


def statistics_in(statistics: torch.Tensor, ends: list[int] | None, softmax_layout: str) -> torch.Tensor:
    """Returns statistics of statistics_out() as [B, N, S]."""
    if ends is None:
        return statistics[..., 0]
    tokens, heads, _ = statistics.shape
    if softmax_layout == "TND":
        return statistics[..., 0].transpose(0, 1).unsqueeze(0)
    bounds = _bounds(ends, tokens)
    blocks = statistics[..., 0].reshape(-1).split([heads * (end - first) for first, end in bounds])
    return torch.cat([block.view(heads, -1) if block.numel() else block.view(heads, 0) for block in blocks], 1).unsqueeze(0)
