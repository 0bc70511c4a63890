# Tests steps of an optimizer that repeat the one before: whatever changes between steps is noticed, and results have the same
# bits as those of the general step.
import copy
import io
import pickle
import subprocess
import sys
import threading

import pytest

from conftest import needs_newer_torch, needs_torch, torch

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW, optim

pytestmark = needs_torch
SHAPES = [(7, 5), (5,), (3, 2, 4), (1,), (0, 3), ()]


class Twins:
    """Two equal models. The optimizer of the first may repeat steps; that of the second makes a call for each parameter."""

    def __init__(self, **options):
        generator = torch.Generator().manual_seed(3)
        values = [torch.randn(shape, generator=generator) for shape in SHAPES]
        self.models = [[torch.nn.Parameter(value.clone()) for value in values] for _ in range(2)]
        # Two groups, so that a change in one of them must not disturb the other.
        self.optimizers = [FusedEmaAdamW([dict(params=model[:4]), dict(params=model[4:])], lr=0.01, foreach=foreach, **options)
                           for model, foreach in zip(self.models, (None, False))]
        self.generator = generator

    def each(self, change):
        """Makes the same change to both: change(parameters, optimizer)."""
        for model, optimizer in zip(self.models, self.optimizers):
            change(model, optimizer)

    def new_gradients(self):
        for parameters in zip(*self.models):
            grad = torch.randn(parameters[0].shape, generator=self.generator)
            for parameter in parameters:
                parameter.grad = grad.to(parameter.dtype).clone()

    def step(self, with_gradients=True):
        if with_gradients:
            self.new_gradients()
        self.each(lambda _, optimizer: optimizer.step())
        self.check()

    def check(self):
        ours, theirs = self.optimizers
        for mine, other in zip(*self.models):
            same = lambda a, b: a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
            assert same(mine, other)
            assert set(ours.state.get(mine, ())) == set(theirs.state.get(other, ()))
            for name, value in ours.state.get(mine, {}).items():
                assert same(value, theirs.state[other][name]), name
        assert [group["ema_updates"] for group in ours.param_groups] == [group["ema_updates"] for group in theirs.param_groups]


@pytest.fixture
def general_calls(monkeypatch):
    """Counts the calls of general steps with lists."""
    calls = []

    class Counted:
        @staticmethod
        def apply_fused_ema_adam_(*arguments, **more):
            if len(arguments[0]) > 1 and not isinstance(more["found_inf"], float):  # a check of a later call passes a float
                calls.append(len(arguments[0]))
            return native.apply_fused_ema_adam_(*arguments, **more)

    native = optim.calls._native
    monkeypatch.setattr(optim.calls, "_native", Counted)
    return calls


@pytest.mark.parametrize("options", [{}, dict(ema_warmup=False), dict(bias_correction=False, weight_decay=0.3)])
def test_repeated_steps_are_those_of_the_general_step(general_calls, options):
    twins = Twins(**options)
    for _ in range(6):
        twins.step()
    twins.step(with_gradients=False)
    assert general_calls == [4, 2]  # only the first step: of the two groups


def replace_data(parameters, _):
    for parameter in parameters:
        parameter.data = parameter.data.clone()


def to_bfloat16(parameters, _):
    for parameter in parameters[:4]:
        parameter.data, parameter.grad = parameter.data.bfloat16(), None


def other_strides(parameters, optimizer):
    first = parameters[0]
    first.data = first.data.t().contiguous().t()
    optimizer.state[first]["exp_avg"] = optimizer.state[first]["exp_avg"].t().contiguous().t()


def other_shape(parameters, optimizer):
    first = parameters[0]
    first.data, first.grad = first.data[:3].clone(), None
    state = optimizer.state[first]
    for name in ("exp_avg", "exp_avg_sq", "ema_params"):
        state[name] = state[name][:3].clone()


def no_gradients(parameters, _):
    for parameter in parameters:
        parameter.grad = None


def gradients_that_are_views(parameters, _):
    for parameter in parameters:
        parameter.grad = torch.stack([parameter.grad, parameter.grad])[1]


def numbers(_, optimizer):
    for n, group in enumerate(optimizer.param_groups):
        group.update(lr=0.03 + n, betas=(0.5, 0.6), eps=1e-3, weight_decay=0.2, ema_decay=0.7)


def learning_rate_in_a_tensor(_, optimizer):
    optimizer.param_groups[0]["lr"] = torch.tensor(0.02)


def flags(_, optimizer):
    optimizer.param_groups[1].update(bias_correction=False, ema_warmup=False)


def maximize(_, optimizer):
    optimizer.param_groups[0]["maximize"] = not optimizer.param_groups[0]["maximize"]


def counters_in_place(parameters, optimizer):
    for parameter in parameters:
        optimizer.state[parameter]["step"].fill_(40)


def one_counter(parameters, optimizer):
    optimizer.state[parameters[2]]["step"] += 3


def counter_that_is_a_number(parameters, optimizer):
    optimizer.state[parameters[0]]["step"] = 9


def counters_of_another_dtype(parameters, optimizer):
    for parameter in parameters:
        optimizer.state[parameter]["step"] = optimizer.state[parameter]["step"].double()


def other_state(parameters, optimizer):
    for parameter in parameters:
        optimizer.state[parameter] = {name: value.clone() for name, value in optimizer.state[parameter].items()}


def state_of_another_order(parameters, optimizer):
    states = {parameter: optimizer.state[parameter] for parameter in reversed(parameters)}
    optimizer.state.clear()
    optimizer.state.update(states)


def no_state(parameters, optimizer):
    optimizer.state.clear()


def state_without_average(parameters, optimizer):
    del optimizer.state[parameters[1]]["ema_params"], optimizer.state[parameters[1]]["step"]


def state_without_moment(parameters, optimizer):
    state = optimizer.state[parameters[1]]
    del state["exp_avg"]
    state["step"] = state["step"].clone()


def swapped_averages(parameters, optimizer):
    with optimizer.swap_ema():
        pass
    optimizer.store()
    optimizer.copy_to()
    optimizer.restore()


def deleted_parameter(parameters, optimizer):
    del optimizer.param_groups[0]["params"][1]


def parameters_of_another_order(_, optimizer):
    optimizer.param_groups[0]["params"].reverse()


def parameters_in_a_tuple(_, optimizer):
    optimizer.param_groups[0]["params"] = tuple(optimizer.param_groups[0]["params"])


def replaced_parameter(parameters, optimizer):
    new = torch.nn.Parameter(parameters[0].detach().clone())
    optimizer.state[new] = optimizer.state.pop(parameters[0])
    optimizer.param_groups[0]["params"][0] = parameters[0] = new


def moved_parameter(_, optimizer):
    first, second = (group["params"] for group in optimizer.param_groups)
    second.append(first.pop())


def added_group(parameters, optimizer):
    new = torch.nn.Parameter(torch.ones(3))
    parameters.append(new)
    optimizer.add_param_group(dict(params=[new], lr=0.5))


def deleted_group(_, optimizer):
    del optimizer.param_groups[0]


def loaded_checkpoint(_, optimizer):
    saved = io.BytesIO()
    torch.save(optimizer.state_dict(), saved)
    state = torch.load(io.BytesIO(saved.getvalue()))
    for entry in state["state"].values():
        entry["step"] += 100
        entry["exp_avg"] += 0.5
    optimizer.load_state_dict(state)


def checkpoint_of_adamw(parameters, optimizer):
    other = torch.optim.AdamW([dict(params=group["params"]) for group in optimizer.param_groups])
    other.step()
    optimizer.load_state_dict(other.state_dict())


CHANGES = [replace_data, to_bfloat16, other_strides, other_shape, no_gradients, gradients_that_are_views, numbers,
           learning_rate_in_a_tensor, flags, maximize, counters_in_place, one_counter, counter_that_is_a_number,
           counters_of_another_dtype, other_state, state_of_another_order, no_state, state_without_average, state_without_moment,
           swapped_averages, deleted_parameter, parameters_of_another_order, parameters_in_a_tuple, replaced_parameter,
           moved_parameter, added_group, deleted_group, loaded_checkpoint, checkpoint_of_adamw]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("after", ["new gradients", "old gradients"])
def test_changes_between_steps_are_noticed(change, after):
    twins = Twins()
    for _ in range(3):
        twins.step()
    twins.each(change)
    twins.step(with_gradients=after == "new gradients")
    for _ in range(3):
        twins.step()
    twins.each(change)
    twins.step()
    twins.step()


def test_gradients_that_appear_and_vanish():
    twins = Twins()
    for turn in range(12):
        twins.new_gradients()
        twins.each(lambda parameters, _: [setattr(parameter, "grad", None) for parameter in parameters[turn % 4:turn % 6]])
        twins.step(with_gradients=False)


@pytest.mark.parametrize("copied", ["deepcopy", "pickle"])
def test_copies_step_on_their_own(copied):
    twins = Twins()
    for _ in range(3):
        twins.step()
    ours = twins.optimizers[0]
    other = copy.deepcopy(ours) if copied == "deepcopy" else pickle.loads(pickle.dumps(ours))
    before = [parameter.detach().clone() for parameter in twins.models[0]]
    for group in other.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones_like(parameter)
    for _ in range(3):
        other.step()
    assert all(torch.equal(parameter, value) for parameter, value in zip(twins.models[0], before))
    twins.step()


@pytest.mark.parametrize("wrong, match", [(lambda shape: torch.zeros(shape).to_sparse(), "sparse"),
                                          (lambda shape: torch.zeros(shape, dtype=torch.float64), "float64")])
def test_errors_count_no_step_in_any_group(wrong, match):
    twins = Twins()
    for _ in range(3):
        twins.step()
    ours, parameters = twins.optimizers[0], twins.models[0]
    twins.new_gradients()
    last = parameters[3]
    good, last.grad = last.grad, None
    if match == "float64":
        with torch.no_grad():
            last.data = last.data.double()
    last.grad = wrong(last.shape)
    values = [parameter.detach().clone() for parameter in parameters]
    with pytest.raises((RuntimeError, TypeError), match=match):
        ours.step()
    assert all(torch.equal(parameter, value) for parameter, value in zip(parameters, values))
    assert {ours.state[parameter]["step"].item() for parameter in parameters} == {3}
    last.data, last.grad = last.data.float(), good
    twins.step(with_gradients=False)


def test_autograd_notices_repeated_steps():
    twins = Twins()
    for _ in range(3):
        twins.step()
    parameters, ours = twins.models[0], twins.optimizers[0]
    versions = [parameter._version for parameter in parameters]
    loss = (parameters[0] * parameters[0].square()).sum() + ours.state[parameters[0]]["ema_params"].mul(parameters[0]).sum()
    ours.step()
    assert all(parameter._version > version for parameter, version in zip(parameters, versions))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_steps_hold_no_gradients():
    twins = Twins()
    for _ in range(3):
        twins.step()
    references = [sys.getrefcount(parameter.grad) for parameter in twins.models[0]]
    twins.step(with_gradients=False)
    assert references == [sys.getrefcount(parameter.grad) for parameter in twins.models[0]]


def test_threads_with_optimizers_of_their_own():
    wrong = []

    def work():
        twins = Twins()
        try:
            for _ in range(30):
                twins.step()
        except AssertionError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_newer_torch(2, 3)
def test_a_gradient_scaler_may_skip_steps():
    twins = Twins()
    scalers = [torch.amp.GradScaler("cpu", init_scale=4.0) for _ in range(2)]
    for turn in range(8):
        twins.new_gradients()
        if turn in (3, 4):
            twins.each(lambda parameters, _: parameters[0].grad.fill_(float("inf")))
        for scaler, model, optimizer in zip(scalers, twins.models, twins.optimizers):
            for parameter in model:
                parameter.grad = scaler.scale(parameter.grad)
            scaler.step(optimizer)
            scaler.update()
        twins.check()
    assert twins.optimizers[0].state[twins.models[0][0]]["step"].item() == 6


PROGRAM = """
import os, sys, torch
from openaclnn.torch import FusedEmaAdamW
models = [[torch.nn.Parameter(torch.full((4, n + 1), 0.5)) for n in range(3)] for _ in range(2)]
optimizers = [FusedEmaAdamW(model, foreach=foreach) for model, foreach in zip(models, (None, False))]
def steps(count):
    for _ in range(count):
        for model, optimizer in zip(models, optimizers):
            for parameter in model:
                parameter.grad = torch.full_like(parameter, 0.25)
            optimizer.step()
    return all(torch.equal(one, two) for one, two in zip(*models)) and optimizers[0].state[models[0][0]]["step"].item()
assert steps(3) == 3
"""


@pytest.mark.parametrize("rest", ["""
child = os.fork()
if child == 0:
    os._exit(0 if steps(3) == 6 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and steps(2) == 5
""", """
import openaclnn.compat.acl
import acl
assert acl.init() == 0 and acl.rt.reset_device(0) == 0 and acl.finalize() == 0 and steps(3) == 6
assert acl.init() == 0 and acl.finalize() == 0 and steps(3) == 9
""", """
import ctypes
ctypes.pythonapi.Py_IncRef(ctypes.py_object(optimizers[0]))  # it outlives the interpreter
sys.optimizers = optimizers
"""], ids=["fork", "finalize", "exit"])
def test_a_process(rest):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM + rest], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
