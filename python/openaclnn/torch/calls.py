# The native calls of an optimizer's step, which are checked before the first one writes.
"""A native call checks its own tensors before it writes. A step may have several calls, of which all or none must write."""
from __future__ import annotations

import re
from operator import itemgetter

from openaclnn import _native, errors
from openaclnn.torch import checkpoints, options, versions

_tensors_of = itemgetter(*checkpoints.STATE)
# The operands of the native call, as users know them.
_WORDS = {"grad": "the gradient of ", "var": "", **dict(zip("mvs", (f"{name} of " for name in checkpoints.STATE)))}
_ANY_NUMBERS = 0.0, 0.0, 0.0, 0.0, 0.0, 1, False, 0.0  # lr, ema_decay, beta1, beta2, eps, mode, bias_correction, weight_decay


class Call:
    """The native call for parameters with one step count. step is the number of their step."""

    def __init__(self, step, parameters, grads, states):
        self.step, self.parameters, self.states = step, parameters, states
        lists = grads, parameters, *zip(*map(_tensors_of, states))
        if versions.any_dtensor(parameters):  # each process passes its own part of sharded tensors
            grads = [versions.placed_as(grad, parameter) for grad, parameter in zip(grads, parameters)]
            lists = [[versions.local(tensor) for tensor in tensors] for tensors in (grads, *lists[1:])]
        self.tensors = lists

    def check(self, groups):
        """Raises the error that run() would raise for these tensors, and writes nothing: the flag of a gradient scaler cancels the
        call."""
        self.run(groups, _ANY_NUMBERS, None, 1.0)

    def run(self, groups, numbers, scale, found_inf):
        """Updates the parameters. groups is for error messages."""
        try:
            _native.apply_fused_ema_adam_(*self.tensors, self.step, *numbers, grad_scale=scale, found_inf=found_inf)
        except errors.AclnnError as error:
            raise errors.error_of(error.code, error.name, self._with_places(groups, error.message)) from None
        except (TypeError, ValueError) as error:
            raise type(error)(self._with_places(groups, str(error))) from None

    def _with_places(self, groups, message):
        """Returns a message that names parameters by their places in the groups, and state by its name."""
        def place(match):
            number = int(match[2])
            return _WORDS[match[1]] + options.place_of(groups, self.parameters[number]) if number < len(self.parameters) else match[0]

        return re.sub(r"\b(grad|var|m|v|s)\[(\d+)\]", place, message)


def of_devices(members):
    """Yields a call for all members of a device: a parameter, its gradient and its state. They share no step count, so that the call can
    only be checked."""
    by_device = {}
    for member in members:
        by_device.setdefault(member[0].device, []).append(member)
    yield from (Call(1, *zip(*members)) for members in by_device.values())
