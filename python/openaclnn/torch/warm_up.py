# The warm-up of averages: which decay an update uses, and when the warm-up is over.
"""The n-th update of an average uses min(decay, (1 + n) / (10 + n)), which reduces the weight of the initial parameters."""
from __future__ import annotations

import math


def ema_decay(decay: float, has_warm_up: bool, updates: int) -> float:
    """Returns the decay of the next update, of an average that was updated `updates` times."""
    return min(decay, (2 + updates) / (11 + updates)) if has_warm_up else decay


def updates_until_over(decay: float) -> int:
    """Returns a number of updates after which every update uses the decay itself."""
    if decay <= 0.1:
        return 1
    # A decay of 1 is only approached: from 2**53 on the fraction is 1 up to rounding.
    return 2**53 if decay > 1 - 2.0**-40 else math.ceil((10 * decay - 1) / (1 - decay))
