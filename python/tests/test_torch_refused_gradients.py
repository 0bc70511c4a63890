# Tests steps with wrong gradients: they change nothing, in any group of parameters.
import copy

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
