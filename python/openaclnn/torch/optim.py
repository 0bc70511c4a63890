# FusedEmaAdamW and FusedEmaAdam: Adam with an average of the parameters, one native call per group of parameters.
"""Optimizers by the conventions of torch.optim; state and checkpoints can be exchanged with torch.optim.AdamW."""
from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Iterable, TypeVar, overload

import torch

from openaclnn import errors
from openaclnn.torch import backward_steps, calls, checkpoints, options, step_gradients, versions, warm_up
from openaclnn.torch import offload as offloading
from openaclnn.torch.repeated_steps import RepeatedSteps

if TYPE_CHECKING:
    from torch import Tensor

    Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

__all__ = ["FusedEmaAdam", "FusedEmaAdamW"]
_Loss = TypeVar("_Loss")
_EXPONENTS = (0,) * 6


class FusedEmaAdamW(backward_steps.StepsInBackward):
    """AdamW that also keeps an exponential moving average of every parameter, in one pass over memory.

    The update is openaclnn.apply_fused_ema_adam_ for all parameters of a group in one call.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize : as in torch.optim.AdamW; each can differ between groups. Parameters are
        float32, float16 or bfloat16, of any shape and strides.
    ema_decay : d in ema = d * ema + (1 - d) * parameter.
    ema_warmup : True: the n-th update uses min(ema_decay, (1 + n) / (10 + n)); n is the group's "ema_updates", part of the
        state dict, so that it is restored from a checkpoint.
    bias_correction : False: moments are not corrected for their start at zero.
    amsgrad, differentiable : not available; True raises.
    foreach : False: one native call for each parameter instead of one for the group. Results are the same.
    fused : accepted for programs that pass it to AdamW, and without effect: the update always is one native call. As there,
        fused and foreach cannot both be True.
    capturable : step counters are int64 tensors that the operator reads. The operator, never Python, also reads found_inf of a
        gradient scaler. Needs ema_warmup=False, because Python computes the warm-up. Python reads lr and betas if they are tensors.
    amp_scaling : True: torch.amp.GradScaler passes its scale, and the update divides the gradients, which saves a pass over
        them. False: the scaler divides the gradients before the step. Lightning and Fabric can then clip them. None: True with
        capturable, otherwise False. In torch.compile True needs ema_warmup=False.
    state_dtype : dtype of moments and average. None, torch.float32: float32, also for 16-bit parameters. "parameter", or the
    16-bit dtype of the group's parameters: that dtype, which needs less memory; but a 16-bit average with a decay near 1 does
    not change.
    offload : "state": moments and averages of parameters on a GPU are in pinned memory of the host, and a step copies pieces of them
        to the GPU and back. "average": only averages are there. With step_in_backward() these copies run beside the backward pass.
        Results have the same bits. Not with capturable or in torch.compile. None: state is where the parameter is.

    State of a parameter: "step", "exp_avg", "exp_avg_sq", as in torch.optim.AdamW, and "ema_params". A state dict of
    torch.optim.AdamW can be loaded (averages then start at the parameters), and AdamW can load this one's.

    Works with closures, schedulers, torch.amp.GradScaler, torch.compile (of step, one graph), FSDP2 and DTensor (each process
    updates its shard) and ZeroRedundancyOptimizer.

    ValueError, TypeError: an option is out of range, a parameter has another dtype.

    Source: Kingma and Ba, "Adam" (2015); Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
    """

    _mode = 1  # weight decay is part of the update
    _step_supports_amp_scaling = False

    def __init__(self, params: Parameters, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, ema_decay: float = 0.9999, amsgrad: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, capturable: bool = False, ema_warmup: bool = True,
                 bias_correction: bool = True, state_dtype: torch.dtype | str | None = None, fused: bool | None = None,
                 differentiable: bool = False, amp_scaling: bool | None = None, offload: str | None = None) -> None:
        defaults: dict[str, Any] = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, ema_decay=ema_decay, amsgrad=amsgrad, maximize=maximize,
            foreach=foreach, capturable=capturable, ema_warmup=ema_warmup, bias_correction=bias_correction,
            state_dtype=state_dtype, offload=offload, ema_updates=0,
            # torch.optim.AdamW expects these values in a state dict that it loads
            differentiable=differentiable, fused=fused, decoupled_weight_decay=self._mode == 1)
        options.require_values(defaults)
        options.require_flag("amp_scaling", amp_scaling, may_be_none=True)
        # Maps the id of each parameter with complete state to its counter and a value that parameters with the same step count
        # share. The counter also shows whether an id was given to another parameter.
        self._stepped_with: dict[int, tuple[Any, Any]] = {}
        self._unchecked: set[int] = set()  # parameters that were not checked yet with this state
        self._repeated: list[RepeatedSteps] = []  # one for each group
        self._offloaded = offloading.OffloadedState()
        # GradScaler and trainers read this: whether step() divides the gradients by the scale.
        self._step_supports_amp_scaling = bool(capturable if amp_scaling is None else amp_scaling)
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with their own options, as torch.optim does. A rejected group is not added."""
        super().add_param_group(param_group)
        try:
            options.require_group(self.param_groups[-1], type(self).__name__, self._mode == 1)
        except (TypeError, ValueError):
            del self.param_groups[-1]
            raise

    def __getstate__(self) -> dict[str, Any]:
        self._require_own_parameters("a copy of the optimizer or a pickle")
        self._settle()
        return {**super().__getstate__(), "_step_supports_amp_scaling": self._step_supports_amp_scaling}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._swapped, self._stepped_with, self._repeated, self._offloaded = None, {}, [], offloading.OffloadedState()
        self._unchecked = set()
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        self._read_counters()

    # ---- the step

    @overload
    def step(self, closure: None = None) -> float | None: ...

    @overload
    def step(self, closure: Callable[[], _Loss]) -> _Loss: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Takes one step with the parameters' gradients. closure computes the loss again, and its value is returned.

        RuntimeError: a gradient is sparse, or the parameters are swapped for their averages. TypeError, ValueError, AclnnError: a
        gradient isn't float32, float16 or bfloat16, or has another shape or device than its parameter; an option isn't a number;
        a state has another shape; parameters share memory or have none. Then no parameter of any group is changed or counted. Only
        what a program changed through .data after a parameter's first step, a moment or average it replaced without the counter,
        or parameters with offload that share memory, may be found after earlier groups took their step.
        """
        if self._swapped is not None:
            raise RuntimeError("step() between store() and restore(), as inside swap_ema(), would be lost; restore() first")
        if self._is_in_backward:
            raise RuntimeError("step() inside step_in_backward(), whose end takes the step; call it in a loop without that block")
        options.require_available(self.param_groups, type(self).__name__)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if versions.is_compiling():
            for group in self.param_groups:
                self._trace_group(group, scale, found_inf)
            return loss
        repeated = self._repeated_steps()
        try:
            work = [(group, steps, *self._with_gradients(group, steps, scale)) for group, steps in zip(self.param_groups, repeated)]
            is_read = found_inf is not None and not all(group["capturable"] for group in self.param_groups)
            is_skipped = is_read and found_inf.item() != 0
            if is_skipped:
                work = [parts for parts in work if parts[0]["capturable"]]  # for others it does not count as a step
            elif len(work) > 1:
                step_gradients.require_all(self.param_groups, work)
            plans = [(self._numbers(parts[0]), None) if parts[2] is None else self._plan(*parts, scale, found_inf) for parts in work]
            if self._unchecked and any(parts[2] for parts in work):
                self._check_new(work)
            for (group, steps, parameters, _), (numbers, run) in zip(work, plans):
                if parameters is None and not steps.run(numbers):
                    _, run = self._plan(group, steps, *self._with_gradients(group), scale, found_inf)
                if run is not None:
                    run()
                group["ema_updates"] += 1  # also without gradients: other processes may have gradients of this group
        finally:
            for steps in repeated:
                steps.release()
        self._offloaded.begun.clear()
        return loss

    def _repeated_steps(self):
        while len(self._repeated) < len(self.param_groups):
            self._repeated.append(RepeatedSteps())
        return self._repeated[:len(self.param_groups)]

    def _numbers(self, group):
        try:
            decay = warm_up.ema_decay(group["ema_decay"], group["ema_warmup"], group["ema_updates"])
            # x * 2^0 is float(x) for any number, but rejects strings.
            lr, eps, weight_decay, decay, beta1, beta2 = map(
                math.ldexp, (group["lr"], group["eps"], group["weight_decay"], decay, *group["betas"]), _EXPONENTS)
            return lr, decay, beta1, beta2, eps, self._mode, bool(group["bias_correction"]), weight_decay
        except (TypeError, ValueError, RuntimeError):
            options.require_numbers(self.param_groups, group)
            raise

    # The following code runs for every parameter in every step; with small tensors it takes longer than the arithmetic.
    # Everything is therefore looked up once, and the usual case, one call for the whole group, makes no additional lists.

    def _with_gradients(self, group, steps=None, scale=None):
        """Returns the parameters of a group that have a gradient, and the gradients; None and None if `steps` found them."""
        if steps is not None and steps.find(group, self.state, scale):
            return None, None
        parameters = group["params"]
        grads = [parameter.grad for parameter in parameters]
        if self._offloaded.begun:  # gradients whose update began may have been deleted since
            grads = [self._offloaded.begun.get(parameter, (grad,))[0] for parameter, grad in zip(parameters, grads)]
        pairs = [pair for pair in zip(parameters, grads) if pair[1] is not None]
        for _, grad in pairs:
            if grad.is_sparse:
                raise RuntimeError(f"gradients are sparse; {type(self).__name__} needs dense ones")
        return tuple(zip(*pairs)) or ((), ())

    def _plan(self, group, steps, parameters, grads, scale, found_inf):
        """Returns None and a function that takes the step of a group, or two None without gradients. Everything that may fail comes
        before: the caller takes no group's step until every group has a plan."""
        if not parameters:
            return None, None
        states = self._states_of(parameters, group)  # first, because it may find averages of another program
        if versions.is_fake(parameters[0]):
            return None, partial(versions.count_up, [state["step"] for state in states])
        if group["offload"]:
            return None, partial(self._step_offloaded, parameters, grads, states, self._offloaded_update(group, parameters, states, scale))
        numbers = self._numbers(group)
        if group["maximize"]:
            scale = -1.0 if scale is None else -scale
        planned = list(self._calls(group, parameters, grads, states))
        return None, partial(self._step_group, steps, planned, numbers, scale, found_inf if group["capturable"] else None, states)

    def _check_new(self, work):
        """Checks the calls of a step together, if some of its parameters were not checked with their state. A call alone would not notice
        that they share memory with parameters of another one."""
        members = [(parameter, grad, self.state[parameter]) for group, _, *lists in work if not group["offload"]
                   for parameter, grad in zip(*(self._with_gradients(group) if lists[0] is None else lists))]
        new = self._unchecked.intersection(id(parameter) for parameter, *_ in members)
        for call in calls.of_devices(members) if new else ():
            self._run(call.check, call.parameters)
        self._unchecked -= new

    def _step_group(self, steps, planned, numbers, scale, found_inf, states):
        for call in planned:
            self._run(call.run, call.parameters, numbers, scale, found_inf)
            _, variables, m, v, ema = call.tensors
            versions.increment_versions([*variables, *m, *v, *ema])
            versions.count_up([state["step"] for state in call.states], found_inf)
        steps.accept([state["step"] for state in states])

    def _run(self, function, parameters, *arguments):
        """Runs native calls of parameters. Error messages start with the name of the step."""
        try:
            function(self.param_groups, *arguments)
        except (errors.AclnnError, ValueError) as error:
            raise step_gradients.renamed(error, f"{type(self).__name__}.step", parameters) from None

    def _offloaded_update(self, group, parameters, states, scale):
        if group["maximize"]:
            scale = -1.0 if scale is None else -scale
        counts = {parameter: int(state["step"].item()) + 1 for parameter, state in zip(parameters, states)}
        return offloading.Update(self._numbers(group), scale, counts)

    def _step_offloaded(self, parameters, grads, states, update):
        """Takes the step of a group, except for parameters that a backward pass has updated."""
        begun = self._offloaded.begun
        rest = [(parameter, grad, state) for parameter, grad, state in zip(parameters, grads, states) if parameter not in begun]
        given = {parameter: (offloading.ordered(grad, parameter), state, update) for parameter, grad, state in rest}
        self._run(lambda _: self._offloaded.run(given), parameters)
        versions.count_up([state["step"] for state in states])
        for parameter in parameters:
            begun.pop(parameter, None)

    # torch.compile runs the following two methods once, and one operator in each step. _init_group has the name and the form
    # of arguments of torch.optim's method that the compiler calls instead of tracing it.

    def _trace_group(self, group, scale, found_inf):
        if group["offload"]:
            raise RuntimeError("a compiled step cannot use offloaded state; pass offload=None, or don't compile the step")
        if found_inf is not None and group["ema_warmup"]:
            raise RuntimeError("a compiled step cannot read found_inf, so its warm-up would count steps that the gradient scaler "
                               "skips; pass ema_warmup=False, amp_scaling=False, or don't compile the step")
        parameters, grads, m, v, ema, steps = [], [], [], [], [], []
        if self._init_group(group, parameters, grads, m, v, ema, steps):
            grads = [versions.placed_as(grad, parameter) for grad, parameter in zip(grads, parameters)]
            grads, parameters, m, v, ema = ([versions.local(tensor) for tensor in tensors]
                                            for tensors in (grads, parameters, m, v, ema))
        if parameters:
            # The operator reads numbers that are tensors, so that the compiler does not compile again for other values.
            given = group["lr"], *group["betas"]
            tensors = [number if isinstance(number, torch.Tensor) else None for number in given]
            lr, beta1, beta2 = (number if tensor is None else 0.0 for number, tensor in zip(given, tensors))
            torch.ops.openaclnn.fused_ema_adam_step_(
                grads, parameters, m, v, ema, steps, scale, found_inf, *tensors, lr, group["ema_decay"], beta1, beta2, group["eps"],
                self._mode, group["bias_correction"], group["weight_decay"], group["maximize"], group["ema_warmup"],
                group["ema_updates"], group["foreach"] is not False, type(self).__name__)
        group["ema_updates"] += 1

    def _init_group(self, group, parameters, grads, m, v, ema, steps):
        own, gradients = self._with_gradients(group)
        states = self._states_of(own, group)
        parameters.extend(own)
        grads.extend(gradients)
        for state in states:
            for values, name in ((m, "exp_avg"), (v, "exp_avg_sq"), (ema, "ema_params"), (steps, "step")):
                values.append(state[name])
        return versions.any_dtensor(own)

    def _calls(self, group, *members):
        """Yields the native calls of a group, one for parameters with one step count. members are lists of the parameters, their
        gradients and their states."""
        *_, states = members
        if group["capturable"]:  # counters are not read
            kinds = self._stepped_together(*members)
        elif group["foreach"] is not False:
            kinds = [state["step"].item() for state in states]
        if group["foreach"] is False:
            kinds = range(len(states))
        if kinds.count(kinds[0]) == len(kinds):
            parts = [members]
        else:
            by_kind = {}
            for kind, member in zip(kinds, zip(*members)):
                by_kind.setdefault(kind, []).append(member)
            parts = [tuple(zip(*chosen)) for chosen in by_kind.values()]
            step_gradients.require(self.param_groups, group, *members[:2])
        for part in parts:
            count = part[-1][0]["step"]
            yield calls.Call(count + 1 if group["capturable"] else int(count.item()) + 1, *part)

    def _stepped_together(self, parameters, _, states):
        """Returns a value for each parameter. Parameters share it if their counters are equal, because they started together
        and took every step together."""
        before = [self._stepped_with[id(parameter)][1] for parameter in parameters]
        after = {value: object() for value in set(before)}
        self._stepped_with.update((id(parameter), (state["step"], after[value]))
                                  for parameter, state, value in zip(parameters, states, before))
        return before

    def _states_of(self, parameters, group):
        """Returns the states of parameters, and completes missing or replaced ones."""
        states = list(map(self.state.__getitem__, parameters))
        for parameter, state in zip(parameters, states):
            known = self._stepped_with.get(id(parameter))
            if (known is None or known[0] is not state.get("step")
                    or group["offload"] and not self._offloaded.is_placed(group, state, parameter)):
                self._complete(state, parameter, group)
        return states

    def _complete(self, state, parameter, group):
        self._stepped_with[id(parameter)] = checkpoints.complete(self, state, parameter, group)
        if not group["offload"] and not versions.is_fake(parameter):
            self._unchecked.add(id(parameter))

    def _read_counters(self):
        """Reads counters that a load replaced, so that steps with capturable need not, and parameters with one count still
        share a call."""
        for group in self.param_groups:
            for parameter in group["params"] if group["capturable"] else ():
                if "step" in self.state.get(parameter, ()):
                    self._complete(self.state[parameter], parameter, group)
                    step = self.state[parameter]["step"]
                    self._stepped_with[id(parameter)] = step, int(step)

    # ---- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Returns the state in the form of torch.optim.AdamW, which can load it. capturable is not part of it, because it
        says how an optimizer runs: it is False there, and counters are float32.

        RuntimeError: the parameters are swapped for their averages, so that the model's state dict would not match.
        """
        self._require_own_parameters("state_dict()")
        self._settle()
        saved: dict[str, Any] = super().state_dict()
        return checkpoints.exchangeable(saved) if any(group["capturable"] for group in saved["param_groups"]) else saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state of this class, of torch.optim.AdamW, or of optimizers that count steps in groups (apex, MindSpeed).

        Options that it lacks keep the values of this optimizer's groups, as do capturable, differentiable, foreach and fused,
        which say how steps run. An average without a count of its updates counts as old: a warm-up is over. Moments and averages keep the
        precision they were saved in (torch.optim casts them to the parameters' dtype), up to state_dtype. Hooks of torch.optim
        before and after a load run.

        ValueError, TypeError: a group has amsgrad, a number out of range, or other parameters. Or a state has another shape than
        its parameter, or has taken steps but lacks moments. Then nothing is loaded.
        RuntimeError: the parameters are swapped for their averages. UserWarning: averages of this optimizer are lost, because
        the checkpoint has none; or the checkpoint has the other mode of weight decay, which is that of the class.
        """
        self._require_own_parameters("load_state_dict()")
        self._settle()
        checkpoints.load(self, state_dict, super().load_state_dict)
        self._stepped_with.clear()
        self._read_counters()


class FusedEmaAdam(FusedEmaAdamW):
    """As FusedEmaAdamW, but adds weight decay to the gradient (Adam with L2); its default is 0."""

    _mode = 0

    def __init__(self, params: Parameters, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, ema_decay: float = 0.9999, amsgrad: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, capturable: bool = False, ema_warmup: bool = True,
                 bias_correction: bool = True, state_dtype: torch.dtype | str | None = None, fused: bool | None = None,
                 differentiable: bool = False, amp_scaling: bool | None = None, offload: str | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, ema_decay, amsgrad, maximize=maximize, foreach=foreach,
                         capturable=capturable, ema_warmup=ema_warmup, bias_correction=bias_correction, state_dtype=state_dtype,
                         fused=fused, differentiable=differentiable, amp_scaling=amp_scaling, offload=offload)
