# Which keys a block of queries sees: excluded blocks are skipped, and partly visible ones get numbers to add to their scores.
"""A mask is never expanded to all queries and keys of a sequence."""
from __future__ import annotations

import functools

import torch

from openaclnn.compat.npu_ops.attention_options import COMPRESSED, PREFIX_COMPRESSED, Options, Segment

# One side of a compressed mask. A mask of sparse_mode 6 has half as many rows more.
SIDE = 2048
EXCLUDED = torch.empty(0)  # a block without visible keys


class Mask:
    """The mask of a segment."""

    def __init__(self, segment: Segment, mask: torch.Tensor | None, options: Options, scores: torch.Tensor) -> None:
        """`mask` is None, or the argument atten_mask with four axes. `scores` has the dtype and the device of scores."""
        self.segment = segment
        self.hidden = torch.finfo(scores.dtype).min  # finite, because -inf - -inf is not a number
        self.kind = {"dtype": scores.dtype, "device": scores.device}
        self.given: torch.Tensor | None = None
        if mask is not None and options.sparse_mode not in COMPRESSED:
            rows, columns = segment.lengths
            given = mask[segment.batch if mask.shape[0] > 1 else 0, :, :rows, :columns]
            self.given = given.view(torch.uint8)  # reductions of bool are slow on CPUs
        self._made: dict[tuple[int, int, int, int], torch.Tensor] = {}

    def columns(self, first: int, end: int) -> tuple[int, int]:
        """Returns the range of columns that the rule shows to some of these rows. The range may be empty."""
        low, high, most = self.segment.low, self.segment.high, self.segment.lengths[1]
        start = 0 if low is None or self.segment.prefix else max(0, first + low)
        stop = most if high is None else max(end + high, self.segment.prefix)
        return min(start, most), max(0, min(stop, most))

    def tile(self, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor | None:
        """Returns what to add to the scores of rows i0 to i1 and columns j0 to j1: a tensor [heads or 1, rows, columns], None
        if all columns are visible, or EXCLUDED if none is."""
        rule = self._rule(i0, i1, j0, j1)
        if self.given is None or rule is EXCLUDED:
            return rule
        given = self.given[heads if self.given.shape[0] > 1 else slice(0, 1), i0:i1, j0:j1]
        if not given.any():
            return rule
        if given.all():
            return EXCLUDED
        hidden = given.to(self.kind["dtype"]).mul_(self.hidden)
        return hidden if rule is None else torch.minimum(hidden, rule)

    def _rule(self, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor | None:
        """Returns tile() for the bounds of the segment."""
        low, high, prefix = self.segment.low, self.segment.high, self.segment.prefix
        if j1 <= prefix:
            return None
        over = high is not None and j1 - 1 > i0 + high  # some of the columns are right of the band
        under = low is not None and j0 < i1 - 1 + low  # or left of it
        if not over and not under:
            return None
        outside = (high is not None and j0 > i1 - 1 + high) or (low is not None and j1 - 1 < i0 + low)
        if outside and j0 >= prefix:
            return EXCLUDED
        upper = min(high + i0 - j0 + 1, j1 - j0) if over and high is not None else j1 - j0
        lower = max(low + i0 - j0 - 1, i0 - i1) if under and low is not None else i0 - i1
        shape = i1 - i0, j1 - j0
        if prefix > j0:
            tile = self._band(*shape, upper, lower)
            tile[:, :, :prefix - j0] = 0
            return tile
        key = (*shape, upper, lower)
        if key not in self._made:
            self._made[key] = self._band(*key)
        return self._made[key]

    def _band(self, rows: int, columns: int, upper: int, lower: int) -> torch.Tensor:
        """Returns a tile that hides column minus row >= upper or <= lower."""
        tile = torch.full((rows, columns), self.hidden, **self.kind)
        return torch.minimum(tile.triu(upper), tile.tril(lower)).unsqueeze(0)


def require_compressed(mask: torch.Tensor | None, options: Options) -> None:
    """Raises RuntimeError if a compressed mask has other values than those of its sparse_mode, which defines the result."""
    if mask is None or options.sparse_mode not in COMPRESSED:
        return
    with_prefix = options.sparse_mode == PREFIX_COMPRESSED
    given = mask.reshape(-1, SIDE).contiguous()
    if given.data_ptr() % 8 != 0:
        given = given.clone()
    # Comparing eight bytes at a time takes 0.5 ms, seven times less than bytes.
    if not torch.equal(given.view(torch.int64), _compressed(with_prefix, mask.device).view(torch.int64)):
        made = f"torch.triu(torch.ones({SIDE}, {SIDE}), diagonal=1)"
        if with_prefix:
            made += f" above {SIDE // 2} rows of {SIDE // 2} zeros and {SIDE // 2} ones"
        raise RuntimeError(f"npu_fusion_attention: atten_mask has other values than the mask of sparse_mode {options.sparse_mode}; "
                           f"it must be {made}, with 1 for hidden keys")


@functools.lru_cache(maxsize=4)
def _compressed(with_prefix: bool, device: torch.device) -> torch.Tensor:
    mask = torch.ones(SIDE * 3 // 2 if with_prefix else SIDE, SIDE, dtype=torch.bool, device=device).triu_(1)
    mask[SIDE:, SIDE // 2:] = True
    return mask
