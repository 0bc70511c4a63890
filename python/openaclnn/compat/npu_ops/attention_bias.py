# Position encodings that are added to scores (pse), read block by block: dense, ALiBi in 1,024 rows, or slopes.
"""bias() returns an object with tile(), what to add to a block of scores, and add_gradient(), its reverse."""
from __future__ import annotations

import torch

from openaclnn.compat.npu_ops.attention_options import Options, Segment

COMPRESSED_ROWS = 1024
ADDED_BEFORE_SCALE, SLOPES, SQRT_SLOPES = 1, 2, 3


class Dense:
    """pse [B or 1, N, Sq or 1, Skv]."""

    def __init__(self, pse: torch.Tensor, options: Options, scores: torch.Tensor) -> None:
        self.pse = pse
        self.factor = options.scale if options.pse_type == ADDED_BEFORE_SCALE else 1.0
        self.dtype = scores.dtype
        self.gradient = scores.new_empty(0)

    def start_gradient(self) -> None:
        """Makes `gradient`, all 0, for add_gradient()."""
        self.gradient = torch.zeros(self.pse.shape, dtype=self.dtype, device=self.pse.device)

    def tile(self, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the addend of scores [heads, rows, columns], or a shape that broadcasts to it."""
        return self._part(self.pse, segment, heads, i0, i1, j0, j1).to(self.dtype) * self.factor

    def add_gradient(self, ds: torch.Tensor, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> None:
        """Adds the gradients of a block of scores to `gradient`."""
        part = self._part(self.gradient, segment, heads, i0, i1, j0, j1)
        part.add_(ds.sum(1, keepdim=True) if part.shape[1] == 1 else ds, alpha=self.factor)

    @staticmethod
    def _part(pse: torch.Tensor, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        rows = slice(i0, i1) if pse.shape[2] > 1 else slice(0, 1)
        return pse[segment.index if pse.shape[0] > 1 else 0, heads, rows, j0:j1]


class Compressed(Dense):
    """The last 1,024 rows of an ALiBi matrix, [B or 1, N, 1024, S]. Elements above its diagonal are not used, and others
    depend on row minus column only."""

    def tile(self, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the addend of scores [heads, rows, columns]."""
        part = self.pse[segment.index if self.pse.shape[0] > 1 else 0, heads].flatten(1)
        return part[:, self._positions(i0, i1, j0, j1)].to(self.dtype) * self.factor

    def add_gradient(self, ds: torch.Tensor, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> None:
        """Adds the gradients of a block of scores to `gradient`."""
        part = self.gradient[segment.index if self.gradient.shape[0] > 1 else 0, heads].flatten(1)
        part.index_add_(1, self._positions(i0, i1, j0, j1).flatten(), ds.flatten(1), alpha=self.factor)

    def _positions(self, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the positions in a head's elements, [rows, columns]."""
        size = self.pse.shape[3]
        missing = size - COMPRESSED_ROWS
        row = torch.arange(i0, i1, device=self.pse.device).unsqueeze(1)
        column = torch.arange(j0, j1, device=self.pse.device)
        column = column + (missing - row).clamp(min=0)
        return (row - missing).clamp(min=0) * size + column.clamp(max=size - 1)


class Slopes(Dense):
    """Slopes [N] or [B, N] of ALiBi: the addend is -slope * distance, or -slope * sqrt(distance)."""

    def __init__(self, pse: torch.Tensor, options: Options, scores: torch.Tensor) -> None:
        super().__init__(pse, options, scores)
        self.options = options

    def tile(self, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the addend of scores [heads, rows, columns]."""
        slopes = self._of(self.pse, segment, heads).to(self.dtype)
        return -slopes.view(-1, 1, 1) * self._distance(i0, i1, j0, j1)

    def add_gradient(self, ds: torch.Tensor, segment: Segment, heads: slice, i0: int, i1: int, j0: int, j1: int) -> None:
        """Adds the gradients of a block of scores to `gradient`."""
        self._of(self.gradient, segment, heads).sub_((ds * self._distance(i0, i1, j0, j1)).sum((1, 2)))

    @staticmethod
    def _of(slopes: torch.Tensor, segment: Segment, heads: slice) -> torch.Tensor:
        return slopes[heads] if slopes.dim() == 1 else slopes[segment.index, heads]

    def _distance(self, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        shift = self.options.q_start - self.options.kv_start
        row = torch.arange(i0 + shift, i1 + shift, device=self.pse.device).unsqueeze(1)
        distance = (row - torch.arange(j0, j1, device=self.pse.device)).abs().to(self.dtype)
        return distance.sqrt() if self.options.pse_type == SQRT_SLOPES else distance


def is_compressed(pse: torch.Tensor, rows: int, packed: bool) -> bool:
    """Returns whether pse, with four axes, has the last 1,024 rows only."""
    return packed or (pse.shape[2] == COMPRESSED_ROWS and rows > COMPRESSED_ROWS)


def bias(pse: torch.Tensor | None, options: Options, rows: int, scores: torch.Tensor) -> Dense | None:
    """Returns the addend of scores, which have the dtype and the device of `scores`."""
    if pse is None:
        return None
    if options.pse_type in (SLOPES, SQRT_SLOPES):
        return Slopes(pse, options, scores)
    kind = Compressed if is_compressed(pse, rows, options.q_ends is not None) else Dense
    return kind(pse, options, scores)
