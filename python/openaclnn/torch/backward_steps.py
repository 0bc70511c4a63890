# Steps of an optimizer during the backward pass: parameters are updated as soon as their gradients are complete.
"""The part of FusedEmaAdamW that needs offloaded state: without it, a step after the backward pass takes no longer."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator, TypeVar

import torch

from openaclnn import errors
from openaclnn.torch import averages, offload, options, versions

_Self = TypeVar("_Self", bound="StepsInBackward")


class StepsInBackward(averages.KeepsAverages):
    """An optimizer whose state can be offloaded."""

    _offloaded: offload.OffloadedState
    _is_in_backward = False

    def _offloaded_update(self, group: dict[str, Any], parameters: Any, states: Any, scale: Any) -> offload.Update:
        raise NotImplementedError

    def _settle(self) -> None:
        if self._is_in_backward:
            raise RuntimeError("step_in_backward() has updated only some parameters; read, load or copy state after the block")
        self._offloaded.settle()

    @contextlib.contextmanager
    def step_in_backward(self: _Self) -> Iterator[_Self]:
        """Use it as `with optimizer.step_in_backward(): loss.backward()`. Parameters are updated as soon as their gradients are
        complete, beside the rest of the backward pass. The end of the block takes the step for the others, and step() must not
        be called. Results have the same bits as with step(). Inside, gradients must not be written, and state cannot be read.

        Only the last backward pass of a step may run inside, because a gradient must be complete when it comes. Gradients can
        be neither clipped nor divided by a gradient scaler. If the backward pass fails, parameters whose gradients were complete
        are updated and counted, and others keep their values.

        RuntimeError: a group has offload=None, a gradient comes twice, the parameters are swapped for their averages, or
        torch.distributed has several processes, which average gradients after they came.
        """
        versions.require((2, 1), "step_in_backward()")
        if self._swapped is not None or self._is_in_backward:
            raise RuntimeError(f"step_in_backward() inside {'swap_ema()' if self._swapped is not None else 'step_in_backward()'}; "
                               "close that block before")
        if versions.processes() > 1:
            raise RuntimeError(f"step_in_backward() in a group of {versions.processes()} processes: a gradient comes before the processes "
                               "have averaged it; call step() after the backward pass")
        options.require_available(self.param_groups, type(self).__name__)
        for group in self.param_groups:
            if not group["offload"]:
                raise RuntimeError('step_in_backward() needs offload="average" or "state" for every group of parameters')
        with contextlib.ExitStack() as hooks:
            expected = {}
            for group in self.param_groups:
                parameters = [parameter for parameter in group["params"] if parameter.requires_grad]
                states = self._states_of(parameters, group)
                update = self._offloaded_update(group, parameters, states, None)
                expected.update((parameter, (state, update)) for parameter, state in zip(parameters, states))
            self._offloaded.expect(expected)
            for parameter, (state, update) in expected.items():
                hook = functools.partial(self._accept, state=state, update=update)
                hooks.callback(parameter.register_post_accumulate_grad_hook(hook).remove)
            self._is_in_backward = True
            try:
                yield self
            except BaseException:
                self._offloaded.flush()
                self._count_begun()
                raise
            finally:
                self._is_in_backward = False
        self._offloaded.flush()
        try:
            self.step()
        except BaseException:
            self._count_begun()
            raise

    @torch.no_grad()
    def _accept(self, parameter: Any, state: Any, update: Any) -> None:
        if parameter.grad is None:
            raise RuntimeError("another hook removed a gradient before step_in_backward() took it; remove gradients after the block")
        if parameter.grad.is_sparse:
            raise RuntimeError(f"gradients are sparse; {type(self).__name__} needs dense ones")
        try:
            self._offloaded.accept(parameter, state, update)
        except errors.AclnnError as error:
            raise errors.renamed(error, f"{type(self).__name__}.step_in_backward") from None

    def _count_begun(self) -> None:
        """Counts the step of parameters that were updated before an error."""
        begun = self._offloaded.begun
        if begun:
            versions.count_up([state["step"] for _, state, _ in begun.values()])
        for group in self.param_groups:
            group["ema_updates"] += any(parameter in begun for parameter in group["params"])
        begun.clear()
