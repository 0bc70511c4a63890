# Tests checkpoints and averages with values that no optimizer writes: each is rejected by name, and nothing is loaded.
import copy
import re

import numpy as np
import pytest

from conftest import needs_newer_torch, needs_torch, torch
from training import model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = needs_torch


def of_group(**values):
    return lambda saved: saved["param_groups"][0].update(values)


def of_state(name, value):
    return lambda saved: saved["state"][1].update({name: value})


def of_shape(name, shape):
    return lambda saved: saved["state"][1].update({name: torch.ones(shape)})


def without(*names):
    def damage(saved):
        for state in saved["state"].values():
            for name in names:
                del state[name]
    return damage


DAMAGES = [
    (of_group(ema_updates=-5), ValueError, "ema_updates is -5; it must be an int of at least 0"),
    (of_group(ema_updates=1.5), ValueError, "ema_updates is 1.5; it must be an int of at least 0"),
    (of_group(ema_updates="x"), TypeError, "ema_updates is 'x'; it must be a number"),
    (of_group(step=float("nan")), ValueError, "state[0]['step'] is nan"),
    (of_group(step="7"), TypeError, "param_groups[0]['step'] is '7'"),
    (of_state("step", float("nan")), ValueError, "state[1]['step'] is nan; it must be in [0, inf)"),
    (of_state("step", "x"), TypeError, "state[1]['step'] is 'x'; it must be a number in [0, inf)"),
    (of_state("step", -1), ValueError, "state[1]['step'] is -1.0; it must be in [0, inf)"),
    (of_state("step", None), TypeError, "state[1]['step'] is None; it must be a number in [0, inf)"),
    (of_state("exp_avg", [0.5]), TypeError, "state[1]['exp_avg'] is of type list; a tensor is needed"),
    (of_state("exp_avg", None), ValueError, "state[1] has taken 5 steps but has no 'exp_avg'"),
    (of_shape("ema_params", ()), ValueError, "state[1]['ema_params'] has shape [], but param_groups[0][\"params\"][1] has [8]; they must"),
    (of_shape("exp_avg", (1,)), ValueError, "state[1]['exp_avg'] has shape [1], but param_groups[0][\"params\"][1] has [8]"),
    (of_shape("exp_avg_sq", (1, 8)), ValueError, "state[1]['exp_avg_sq'] has shape [1, 8], but param_groups[0][\"params\"][1] has [8]"),
    (without("exp_avg_sq"), ValueError, "state[0] has taken 5 steps but has no 'exp_avg_sq', and zeros would be wrong"),
    (without("exp_avg", "exp_avg_sq", "ema_params"), ValueError, "state[0] has taken 5 steps but has no 'exp_avg'"),
    (lambda saved: saved["state"].update({1: {"momentum_buffer": torch.ones(8)}}), ValueError,
     "state[1] has 'momentum_buffer', but none of 'step', 'exp_avg', 'exp_avg_sq', 'ema_params', so it isn't one of Adam"),
    (lambda saved: saved["state"].update({1: None}), TypeError, "state[1] is of type NoneType; a dict such as"),
    (lambda saved: saved.update(state=[1]), TypeError, "state is of type list; a dict is needed"),
    (lambda saved: saved["param_groups"][0].pop("params"), ValueError, "param_groups[0] has no 'params'"),
    (lambda saved: saved.pop("state"), ValueError, "the state dict has no 'state' and 'param_groups', so it isn't one of an optimizer")]


def trained(steps):
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01)
    train(network, optimizer, steps)
    return network, optimizer


@pytest.mark.parametrize("damage, error, text", DAMAGES)
def test_a_damaged_checkpoint_is_refused_and_changes_nothing(damage, error, text):
    saved = copy.deepcopy(trained(5)[1].state_dict())
    if "param_groups[0]['step']" in text or damage is DAMAGES[3][0]:  # of apex: one count for the group
        without("step")(saved)
    damage(saved)
    _, optimizer = trained(1)
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(error, match=re.escape(text)):
        optimizer.load_state_dict(saved)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert all(torch.equal(value, after["state"][key][name]) for key, state in before["state"].items() for name, value in state.items())


def test_a_state_dict_of_a_model_is_refused():
    network, optimizer = trained(1)
    with pytest.raises(ValueError, match="no 'state' and 'param_groups', so it isn't one of an optimizer"):
        optimizer.load_state_dict(network.state_dict())


@pytest.mark.parametrize("make", [
    lambda values: torch.optim.SGD(values, lr=0.1, momentum=0.9), lambda values: torch.optim.RMSprop(values),
    lambda values: torch.optim.Adamax(values), lambda values: torch.optim.Adagrad(values)], ids=["SGD", "RMSprop", "Adamax", "Adagrad"])
def test_checkpoints_of_other_optimizers_are_refused(make):
    """Their moments would be lost, and those of the next steps would start at zero."""
    network = model()
    other = make(network.parameters())
    train(network, other, 2)
    optimizer = trained(1)[1]
    with pytest.raises(ValueError, match=r"state\[0\] has "):
        optimizer.load_state_dict(other.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.01
    saved = torch.optim.SGD(network.parameters(), lr=0.5).state_dict()  # without momentum it has no state
    with pytest.warns(UserWarning, match="has no averages"):
        optimizer.load_state_dict({**saved, "state": {}})
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_counts_of_other_types_are_loaded():
    """Numbers of NumPy and tensors, as other programs save them, and a state that has not begun."""
    _, first = trained(5)
    saved = copy.deepcopy(first.state_dict())
    saved["param_groups"][0]["ema_updates"] = torch.tensor(5)
    for kind, state in zip((int, np.float32, np.int64, torch.tensor), saved["state"].values()):
        state["step"] = kind(5)
    saved["state"][0] = {"step": 0, "exp_avg": None, "ema_params": None}
    network, optimizer = trained(1)
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["ema_updates"] == 5 and type(optimizer.param_groups[0]["ema_updates"]) is int
    train(network, optimizer, 1)
    assert [int(optimizer.state[parameter]["step"]) for parameter in network.parameters()] == [1, 6, 6, 6, 6, 6]


@pytest.mark.parametrize("updates, error, text", [
    (1.5, ValueError, "updates is 1.5; it must be an int of at least 0"), ("5", TypeError, "updates is '5'; it must be a number"),
    (-1, ValueError, "updates is -1; it must be an int of at least 0"), (float("inf"), ValueError, "updates is inf")])
def test_counts_of_brought_averages(updates, error, text):
    network, optimizer = trained(1)
    with pytest.raises(error, match=re.escape(text)):
        optimizer.load_ema_state_dict(network.state_dict(), network, updates=updates)
    optimizer.load_ema_state_dict(network.state_dict(), network, updates=torch.tensor(7))
    assert optimizer.param_groups[0]["ema_updates"] == 7


def test_averages_of_numpy_are_refused():
    network, optimizer = trained(1)
    averages = {name: value.numpy() for name, value in network.state_dict().items()}
    before = optimizer.ema_state_dict(network)
    with pytest.raises(TypeError, match=r"the average 0.weight is of type ndarray; a tensor is needed, for NumPy's arrays torch.from_nump"):
        optimizer.load_ema_state_dict(averages, network)
    assert all(torch.equal(value, before[name]) for name, value in optimizer.ema_state_dict(network).items())


@pytest.mark.parametrize("options", [{}, dict(offload="state"), dict(offload="average"), dict(state_dtype="parameter")])
@pytest.mark.parametrize("shape", [(3,), (1, 3), (4, 1), (3, 4), ()])
def test_a_checkpoint_of_another_shape_is_refused(options, shape):
    """Copies broadcast some shapes, and the average of one row would count for every row."""
    first, second = torch.nn.Parameter(torch.ones(shape)), torch.nn.Parameter(torch.ones(4, 3))
    old, new = FusedEmaAdamW([first]), FusedEmaAdamW([second], **options)
    first.grad = torch.ones(shape)
    old.step()
    with pytest.raises(ValueError, match=re.escape(f"has shape {list(shape)}, but param_groups[0][\"params\"][0] has [4, 3]; they must")):
        new.load_state_dict(old.state_dict())
    assert not new.state


def test_an_average_of_another_shape_is_not_copied():
    """A program may write state itself."""
    _, optimizer = trained(1)
    first, second = optimizer.param_groups[0]["params"][:2]
    before = first.detach().clone()
    optimizer.state[second]["ema_params"] = torch.ones(1)
    with pytest.raises(ValueError, match=r"parameters\[1\] has shape \[8\], but its average has \[1\]; they must be equal"):
        with optimizer.swap_ema():
            pass
    assert torch.equal(first, before)


@needs_newer_torch(2, 0)
def test_a_checkpoint_of_parameters_that_have_no_shape_yet():
    """A lazy module gets its shapes from the first batch."""
    saved = FusedEmaAdamW(torch.nn.Linear(6, 8).parameters())
    lazy = torch.nn.LazyLinear(8)
    optimizer = FusedEmaAdamW(lazy.parameters(), lr=0.1)
    for parameter in saved.param_groups[0]["params"]:
        parameter.grad = torch.ones_like(parameter)
    saved.step()
    optimizer.load_state_dict(saved.state_dict())
    lazy(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    assert int(optimizer.state[lazy.weight]["step"]) == 2
