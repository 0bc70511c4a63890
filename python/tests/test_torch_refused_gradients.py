# Tests steps with wrong gradients, numbers, states or parameters: they change nothing, in any group of parameters.
import copy
import decimal
import re

import pytest

from conftest import needs_torch, torch

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = needs_torch


def of_another_dtype(parameter):
    parameter.grad.data = torch.ones(3, dtype=torch.float64)


def of_another_shape(parameter):
    parameter.grad.data = torch.ones(4)


def not_computed(parameter):
    parameter.grad = torch.ones(3, dtype=torch.complex64).conj().imag


@pytest.mark.parametrize("options", [{}, dict(foreach=False), dict(maximize=True), dict(offload="state"),
                                     dict(capturable=True, ema_warmup=False)])
@pytest.mark.parametrize("damage, text", [
    (of_another_dtype, "its gradient has dtype torch.float64; it must be torch.float32, torch.float16 or torch.bfloat16"),
    (of_another_shape, "its gradient has shape [4], but the parameter has [3]; they must be equal"),
    (not_computed, "its gradient is a negative that PyTorch has not computed yet")])
@pytest.mark.parametrize("sizes, place", [([1, 2], "param_groups[1][\"params\"][1]"), ([3], "param_groups[0][\"params\"][2]")])
def test_no_group_is_changed_if_a_gradient_is_refused(options, damage, text, sizes, place):
    """The gradient of the last parameter is wrong, and the calls before its own must not run. In one group, each parameter has its
    own count, and with it its own call."""
    if damage is not_computed and "offload" in options:
        pytest.skip("offloading copies such a gradient and accepts it")
    if damage is of_another_shape and not options and len(sizes) > 1:
        pytest.skip("a repeated step doesn't compare shapes, which would take several percent of a step")
    groups = [[torch.nn.Parameter(torch.ones(3)) for _ in range(size)] for size in sizes]
    parameters = sum(groups, [])
    optimizer = FusedEmaAdamW([dict(params=group) for group in groups], lr=0.1, **options)
    for n in range(4):
        for k, parameter in enumerate(parameters):
            parameter.grad = torch.ones(3) if len(sizes) > 1 or n >= k else None
        optimizer.step()
    damage(parameters[-1])
    before = [parameter.detach().clone() for parameter in parameters], copy.deepcopy(optimizer.state_dict())
    with pytest.raises((TypeError, ValueError)) as caught:
        optimizer.step()
    assert "offload" in options or f"{place}: {text}" in str(caught.value)
    after = [parameter.detach().clone() for parameter in parameters], optimizer.state_dict()
    assert all(map(torch.equal, before[0], after[0])) and before[1]["param_groups"] == after[1]["param_groups"]
    assert all(torch.equal(value, after[1]["state"][key][name]) for key, state in before[1]["state"].items()
               for name, value in state.items())
    parameters[-1].grad = torch.ones(3, dtype=torch.float32)
    optimizer.step()


def of_number(name, value):
    return lambda optimizer, parameter: optimizer.param_groups[1].update({name: value})


def overlapping(optimizer, parameter):
    parameter.data = torch.ones(1).expand(3)


def without_memory(optimizer, parameter):
    parameter = torch.nn.Parameter(torch.ones(3, device="meta"))
    parameter.grad = torch.ones_like(parameter)
    optimizer.param_groups[1]["params"][1] = parameter


def of_wrong_state(optimizer, parameter):
    optimizer.state[parameter] = {"step": torch.tensor(1.0), "exp_avg": torch.ones(5), "exp_avg_sq": torch.ones(3)}


def sharing_memory(optimizer, parameter):
    parameter.data = optimizer.param_groups[1]["params"][0].data


def sharing_memory_of_a_group(optimizer, parameter):
    parameter.data = optimizer.param_groups[0]["params"][1].data


@pytest.mark.parametrize("options", [{}, dict(foreach=False), dict(maximize=True), dict(capturable=True, ema_warmup=False)])
@pytest.mark.parametrize("damage, text", [
    (of_number("lr", "x"), 'param_groups[1]["lr"] is \'x\'; it must be a number in [0, inf]'),
    (of_number("lr", "0.1"), 'param_groups[1]["lr"] is \'0.1\'; it must be a number in [0, inf]'),
    (of_number("eps", None), 'param_groups[1]["eps"] is None; it must be a number in [0, inf]'),
    (of_number("weight_decay", "0.1"), 'param_groups[1]["weight_decay"] is \'0.1\'; it must be a number in [0, inf]'),
    (of_number("ema_decay", "x"), 'param_groups[1]["ema_decay"] is \'x\'; it must be a number in [0, 1]'),
    (of_number("betas", (0.9, "x")), 'param_groups[1]["betas"][1] is \'x\'; it must be a number in [0, 1)'),
    (of_wrong_state, 'exp_avg of param_groups[1]["params"][1] has shape [5], but the parameter has [3]; they must be equal'),
    (overlapping, 'param_groups[1]["params"][1]'), (without_memory, "a parameter is on meta, a device without memory"),
    (sharing_memory, 'param_groups[1]["params"][0] overlaps param_groups[1]["params"][1]; they must not share memory'),
    (sharing_memory_of_a_group, 'param_groups[0]["params"][1] overlaps param_groups[1]["params"][1]; they must not share memory')])
def test_no_group_is_changed_if_a_later_one_is_refused(options, damage, text):
    """Numbers, states and parameters of all groups are checked before the first group's call."""
    groups = [[torch.nn.Parameter(torch.ones(3)) for _ in range(2)] for _ in range(2)]
    optimizer = FusedEmaAdamW([dict(params=group) for group in groups], lr=0.1, **options)
    for parameter in sum(groups, []):
        parameter.grad = torch.ones(3)
    damage(optimizer, groups[1][1])
    with pytest.raises((RuntimeError, TypeError, ValueError), match=re.escape(text)):
        optimizer.step()
    for parameter in [*groups[0], groups[1][0]]:
        assert parameter.eq(1).all() and int(optimizer.state[parameter].get("step", 0)) == 0
    assert [group["ema_updates"] for group in optimizer.param_groups] == [0, 0]


@pytest.mark.parametrize("damage", [overlapping, sharing_memory, sharing_memory_of_a_group])
@pytest.mark.parametrize("capturable", [False, True])
def test_loaded_states_are_checked_before_a_step(capturable, damage):
    """A load completes the states, and the step after it still checks their parameters."""
    groups = [[torch.nn.Parameter(torch.ones(3)) for _ in range(2)] for _ in range(2)]
    optimizer = FusedEmaAdamW([dict(params=group) for group in groups], capturable=capturable, ema_warmup=False)
    for parameter in sum(groups, []):
        parameter.grad = torch.ones(3)
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.load_ema_state_dict([optimizer.state[parameter]["ema_params"] for parameter in sum(groups, [])])
    damage(optimizer, groups[1][1])
    before = [parameter.detach().clone() for parameter in groups[0]]
    with pytest.raises((RuntimeError, ValueError)):
        optimizer.step()
    assert all(map(torch.equal, before, groups[0]))
    assert [int(optimizer.state[parameter]["step"]) for parameter in groups[0]] == [1, 1]


@pytest.mark.parametrize("options", [{}, dict(foreach=False), dict(capturable=True, ema_warmup=False)])
@pytest.mark.parametrize("is_added", [False, True])
def test_parameters_that_come_later_share_no_memory(options, is_added):
    """The last parameter begins after the others, and so has a native call of its own: in a new group, or by its step count."""
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    last = torch.nn.Parameter(parameters[1].data)
    optimizer = FusedEmaAdamW(parameters if is_added else [*parameters, last], lr=0.1, **options)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = torch.ones(3)
        optimizer.step()
    if is_added:
        optimizer.add_param_group(dict(params=[last]))
    before, last.grad = parameters[0].detach().clone(), torch.ones(3)
    with pytest.raises(RuntimeError, match=r"^FusedEmaAdamW\.step: .* overlaps .*; they must not share memory"):
        optimizer.step()
    assert torch.equal(parameters[0], before) and optimizer.param_groups[0]["ema_updates"] == 3
    last.data = torch.ones(3)
    optimizer.step()
    assert last.lt(1).all() and int(optimizer.state[last]["step"]) == 1


def test_numbers_of_any_kind():
    """Options that a program writes to a group are numbers of any type, as those of the constructor."""
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    for parameter, number in zip(parameters, (float, decimal.Decimal)):
        optimizer = FusedEmaAdamW([parameter], lr=0.5)
        optimizer.param_groups[0].update(lr=number("0.25"), eps=number("0.125"), weight_decay=number("0.5"), betas=(number("0.5"), number("0.75")))
        parameter.grad = torch.ones(3)
        optimizer.step()
    assert torch.equal(*parameters)


@pytest.mark.parametrize("options", [{}, dict(foreach=False), dict(maximize=True), dict(capturable=True, ema_warmup=False)])
def test_messages_name_parameters_and_state(options):
    """The index of a native call isn't that of a parameter, and its names aren't those of the state."""
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(3)]
    optimizer = FusedEmaAdamW(parameters, lr=0.1, **options)
    for parameter in parameters[1:]:
        parameter.grad = torch.ones(3)
    optimizer.step()
    optimizer.state[parameters[2]]["exp_avg"] = torch.ones(5)
    place = 'param_groups[0]["params"][2]'
    with pytest.raises(RuntimeError, match=re.escape(f"FusedEmaAdamW.step: exp_avg of {place} has shape [5] but the gradient of {place}")):
        optimizer.step()
