# Which keys a block of queries sees: excluded blocks are skipped, and partly visible ones get numbers to add to their scores.
"""A mask is never expanded to all queries and keys of a sequence."""
from __future__ import annotations

import functools

import torch

from openaclnn.compat.npu_ops.attention_options import COMPRESSED, PREFIX_COMPRESSED, Options, Segment

# One side of a compressed mask. A mask of sparse_mode 6 has half as many rows more.
SIDE = 2048
NONE, SOME, ALL = range(3)  # how many elements of a block are hidden


class KnownTiles:
    """What the threads and heads of a call know of its mask: tiles of one call are counted and converted once."""

    # Converting a tile of uint8 takes three times as long as adding it. The memory of kept tiles is bounded.
    MOST_NUMBERS = 1 << 23

    def __init__(self) -> None:
        self.hidden: dict[tuple[int, ...], int] = {}
        self._tiles: dict[tuple[int, ...], torch.Tensor] = {}
        self._numbers = 0

    def tile(self, key: tuple[int, ...], part: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Returns the numbers to add to scores for a part of atten_mask. Equal keys must mean equal parts."""
        known = self._tiles.get(key)
        if known is None:
            known = part.to(dtype).mul_(torch.finfo(dtype).min)
            if self._numbers + known.numel() <= self.MOST_NUMBERS:
                self._numbers += known.numel()
                self._tiles[key] = known
        return known


class Mask:
    """The mask of a segment. Hidden scores get the smallest number added, which is finite: -inf - -inf is not a number."""

    def __init__(self, segment: Segment, mask: torch.Tensor | None, options: Options, known: KnownTiles) -> None:
        """`mask` is None, or the argument atten_mask with four axes."""
        self.segment, self.known = segment, known
        self.given: torch.Tensor | None = None
        if mask is not None and options.sparse_mode not in COMPRESSED:
            rows, columns = segment.lengths
            given = mask[segment.batch if mask.shape[0] > 1 else 0, :, :rows, :columns]
            self.given = given.view(torch.uint8)  # operations on bool are slow on CPUs
        self._bands: dict[tuple[int, ...], torch.Tensor] = {}

    def columns(self, first: int, end: int) -> tuple[int, int]:
        """Returns the range of columns that the rule shows to some of these rows. The range may be empty."""
        low, high, most = self.segment.low, self.segment.high, self.segment.lengths[1]
        start = 0 if low is None or self.segment.prefix else max(0, first + low)
        stop = most if high is None else max(end + high, self.segment.prefix)
        return min(start, most), max(0, min(stop, most))

    def hides_all(self, heads: slice, i0: int, i1: int, j0: int, j1: int) -> bool:
        """Returns whether rows i0 to i1 see no column of j0 to j1."""
        return self._by_rule(i0, i1, j0, j1) == ALL or self._by_mask(heads, i0, i1, j0, j1) == ALL

    def tiles(self, scores: torch.Tensor, heads: slice, i0: int, i1: int, j0: int, j1: int) -> list[torch.Tensor]:
        """Returns tiles that make hidden scores of a block so small that their weights are 0, if they are added to [heads, rows, columns]."""
        tiles = []
        if self.given is not None and self._by_mask(heads, i0, i1, j0, j1) == SOME:
            tiles.append(self.known.tile(self._key(heads, i0, j0), self._part(self.given, heads, i0, i1, j0, j1), scores.dtype))
        if self._by_rule(i0, i1, j0, j1) == SOME:
            tiles.append(self._band(scores, i0, i1, j0, j1))
        return tiles

    def _key(self, heads: slice, i0: int, j0: int) -> tuple[int, ...]:
        assert self.given is not None
        return self.segment.index, heads.start if self.given.shape[0] > 1 else 0, i0, j0

    @staticmethod
    def _part(given: torch.Tensor, heads: slice, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        return given[heads if given.shape[0] > 1 else slice(0, 1), i0:i1, j0:j1]

    def _by_mask(self, heads: slice, i0: int, i1: int, j0: int, j1: int) -> int:
        """Returns how many elements atten_mask hides."""
        if self.given is None:
            return NONE
        key, hidden = self._key(heads, i0, j0), self.known.hidden
        if key not in hidden:
            part = self._part(self.given, heads, i0, i1, j0, j1)
            hidden[key] = NONE if not part.any() else ALL if part.all() else SOME
        return hidden[key]

    def _by_rule(self, i0: int, i1: int, j0: int, j1: int) -> int:
        """Returns how many elements the bounds of the segment hide."""
        low, high, prefix = self.segment.low, self.segment.high, self.segment.prefix
        if j1 <= prefix or ((high is None or j1 - 1 <= i0 + high) and (low is None or j0 >= i1 - 1 + low)):
            return NONE
        outside = (high is not None and j0 > i1 - 1 + high) or (low is not None and j1 - 1 < i0 + low)
        return ALL if outside and j0 >= prefix else SOME

    def _band(self, scores: torch.Tensor, i0: int, i1: int, j0: int, j1: int) -> torch.Tensor:
        """Returns the tile that hides what the bounds hide: column minus row >= upper or <= lower, but no prefix."""
        rows, columns, shift = i1 - i0, j1 - j0, i0 - j0
        low, high = self.segment.low, self.segment.high
        upper = columns if high is None else max(-rows, min(high + shift + 1, columns))
        lower = -rows if low is None else min(columns, max(low + shift - 1, -rows))
        prefix = max(0, self.segment.prefix - j0)
        key = rows, columns, upper, lower, prefix
        if key not in self._bands:
            hidden = torch.full((rows, columns), torch.finfo(scores.dtype).min, dtype=scores.dtype, device=scores.device)
            tile = torch.minimum(hidden.triu(upper), hidden.tril(lower))
            tile[:, :prefix] = 0
            self._bands[key] = tile
        return self._bands[key]


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
