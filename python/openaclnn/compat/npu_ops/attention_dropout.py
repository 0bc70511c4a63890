# Dropout of attention: a bit for each weight, a function of seed, offset and position, so that any block can compute its own.
"""The bits are not those of an NPU, whose generator is not published."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch

from openaclnn.compat.npu_ops.arguments import ignored, supported
from openaclnn.compat.npu_ops.attention_options import Options, Segment
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["_npu_dropout_gen_mask"]

_Bits = TypeVar("_Bits", int, torch.Tensor)

_LOW = 0xFFFFFFFF  # the lower 32 bits
_BLOCK = 1 << 20  # positions that packed_bits() computes at a time


def kept(positions: torch.Tensor, seed: int, offset: int, keep_prob: float) -> torch.Tensor:
    """Returns whether dropout keeps the weights at these positions (int64, not negative)."""
    key = 0
    for part in (seed, seed >> 32, offset, offset >> 32):
        key = _mix((key + 0x9E3779B9 ^ part) & _LOW)
    bits = _mix((positions & _LOW) ^ key)
    bits = _mix(bits ^ (positions >> 32) ^ _mix(key + 1 & _LOW))
    return bits < round(keep_prob * (1 << 32))


def packed_bits(count: int, seed: int, offset: int, keep_prob: float, device: torch.device) -> torch.Tensor:
    """Returns the bits of positions 0 to count, eight in a byte, the first in the lowest bit. The bytes are a multiple of 16,
    and the bits after the last position are 0."""
    packed = torch.zeros((count + 127) // 128 * 16, dtype=torch.uint8, device=device)
    weights = torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8, device=device)
    for first in range(0, count, _BLOCK):
        positions = torch.arange(first, min(first + _BLOCK, len(packed) * 8), device=device)
        bits = kept(positions, seed, offset, keep_prob) & (positions < count)
        packed[first // 8:first // 8 + len(positions) // 8] = (bits.view(-1, 8) * weights).sum(1)
    return packed


class Dropout:
    """The factors of attention weights: 0, or 1 / keep_prob."""

    def __init__(self, options: Options, packed: torch.Tensor | None, scores: torch.Tensor) -> None:
        """`packed` has the bits if the caller gave them. Factors have the dtype and the device of `scores`."""
        self.options, self.packed, self.like = options, packed, scores

    def tile(self, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the factors of a block of weights, [heads, rows, columns]."""
        rows, columns = segment.lengths
        head = torch.arange(heads.start, heads.stop, device=self.like.device).view(-1, 1, 1)
        row = torch.arange(i0, i1, device=self.like.device).view(1, -1, 1)
        column = torch.arange(j0, j1, device=self.like.device)
        positions = segment.weights_before + (head * rows + row) * columns + column
        if self.packed is None:
            keep = kept(positions, self.options.seed, self.options.offset, self.options.keep_prob)
        else:
            keep = self.packed[positions >> 3].bitwise_right_shift((positions & 7).to(torch.uint8)).bitwise_and(1)
        return keep.to(self.like.dtype) / self.options.keep_prob


def _mix(bits: _Bits) -> _Bits:
    """Returns 32 bits that depend on all of the given ones: a number, or a tensor of int64. No product exceeds 63 bits."""
    for shift in (16, 15):
        bits = (bits ^ (bits >> shift)) * 0x45D9F3B & _LOW
    return bits ^ (bits >> 16)


def next_state() -> tuple[int, int]:
    """Returns a seed and an offset from PyTorch's generator, and advances it.

    The seed is that of the generator. The offset is 0 in the first call after torch.manual_seed(), as on an NPU, and random
    in later calls. Equal states of the generator give equal results.
    """
    fresh = torch.Generator().manual_seed(torch.initial_seed()).get_state()
    first = torch.equal(torch.get_rng_state(), fresh)
    drawn = int(torch.randint(1, 1 << 62, ()))
    return torch.initial_seed() & ((1 << 63) - 1), 0 if first else drawn


@npu_function(
    "_npu_dropout_gen_mask(Tensor self, SymInt[] size, float p, SymInt seed, SymInt offset, bool? parallel=True, bool? sync=False) "
    "-> Tensor", arguments={
        "input": supported("any tensor", "gives the device"), "size": supported("shape of the attention weights"),
        "p": supported("0 <= p < 1, the share of weights that are dropped"), "seed": supported("any"), "offset": supported("any"),
        "parallel": ignored("any", "how an NPU generates the bits"), "sync": ignored("any", "calls are synchronous")})
def _npu_dropout_gen_mask(input: torch.Tensor, size: Sequence[int], p: float, seed: int, offset: int, parallel: bool | None = True,
                          sync: bool | None = False) -> torch.Tensor:
    """Returns the bits of dropout that npu_fusion_attention uses with the same seed and offset.

    Parameters
    ----------
    input : a tensor on the device of the result.
    size : shape of the weights, [B, N, Sq, Skv], or the number of all weights of packed sequences.
    p : 1 - keep_prob.

    Returns
    -------
    uint8 with one axis: a bit for each weight, 1 if it is kept, the first in the lowest bit. The bytes are a multiple of 16.
    """
    if not 0 <= p < 1:
        raise RuntimeError(f"_npu_dropout_gen_mask: p is {p}; it must be at least 0 and less than 1")
    return packed_bits(math.prod(size), seed, offset, 1 - p, input.device)
