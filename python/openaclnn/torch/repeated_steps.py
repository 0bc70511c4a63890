# Steps of an optimizer that differ from the one before only in addresses and numbers, as most do.
"""A step of a small model takes longer to find its tensors than to compute. The native module finds and compares them, and runs
the same executor again. It compares every address, dtype, shape and counter in each step, so nothing can change unnoticed."""
from __future__ import annotations

from openaclnn import _native
from openaclnn.torch import versions


class RepeatedSteps:
    """The steps of one group of parameters."""

    def __init__(self):
        self._steps = _native.ema_adam_steps()

    def accept(self, counters):
        """Accepts the counters of the parameters with gradients, after a step in which their states were completed."""
        _native.accept_ema_adam_counters(self._steps, counters)

    def find(self, group, states, scale):
        """Finds the tensors of a step. Returns False if only the general step can run it: the first one, or one with other
        counters, options or kinds of tensors."""
        if scale is not None or group["maximize"] or group["capturable"] or group["foreach"] is False or group["offload"]:
            return False
        return _native.find_ema_adam_step(self._steps, group["params"], states)

    def run(self, numbers):
        """Runs and counts the step that was found. Returns whether it ran."""
        written = _native.run_ema_adam_step(self._steps, *numbers)
        if written is None:
            return False
        versions.increment_versions(written)
        return True

    def release(self):
        """Forgets the step that was found."""
        _native.release_ema_adam_step(self._steps)
