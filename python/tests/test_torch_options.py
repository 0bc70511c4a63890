# Tests the types of the optimizers' options: others are rejected by name, and those of NumPy are accepted.
import copy
import importlib
import re

import numpy as np
import pytest

from conftest import needs_newer_torch, needs_torch, torch

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = needs_torch
NO_FLAGS = [(name, value) for name in ("maximize", "ema_warmup", "bias_correction", "capturable", "amsgrad", "differentiable",
                                       "foreach", "fused", "amp_scaling") for value in ("false", "x", 2, 0.5, [])]


@pytest.mark.parametrize("options, error, text", [
    (dict(lr="x"), TypeError, "lr is 'x'; it must be a number in [0, inf]"), (dict(lr=None), TypeError, "lr is None; it must"),
    (dict(lr="1e-3"), TypeError, "lr is '1e-3'; it must"), (dict(eps=[1]), TypeError, "eps is [1]; it must"),
    (dict(lr=[1, 2]), ValueError, "lr is a tensor of shape [2]; it must be one number in [0, inf]"),
    (dict(lr=float("nan")), ValueError, "lr is nan"), (dict(ema_decay="x"), TypeError, "ema_decay is 'x'; it must be a number in [0, 1]"),
    (dict(betas=0.9), TypeError, "betas is 0.9; it must be two numbers in [0, 1)"), (dict(betas=None), TypeError, "betas is None"),
    (dict(betas=("a", "b")), TypeError, "betas[0] is 'a'; it must be a number in [0, 1)"), (dict(betas="ab"), TypeError, "betas is 'ab'"),
    (dict(betas=()), ValueError, "betas is (); it must be two numbers"), (dict(bias_correction=None), TypeError, "bias_correction is None"),
    (dict(maximize=None), TypeError, "maximize is None; it must be True or False"),
    *((dict([pair]), TypeError, f"{pair[0]} is {pair[1]!r}; it must be True") for pair in NO_FLAGS)])
def test_options_of_other_types(options, error, text):
    """Each is named with its value, for the optimizer, for a group, and in a checkpoint."""
    options = {name: torch.tensor([0.1, 0.2]) if value == [1, 2] else value for name, value in options.items()}
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(error, match=re.escape(text)):
        FusedEmaAdamW([parameter], **options)
    if "amp_scaling" not in options:
        with pytest.raises(error, match=re.escape(text)):
            FusedEmaAdamW([dict(params=[parameter], **options)])
    optimizer = FusedEmaAdamW([parameter])
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0].update(options)
    if not {"amp_scaling", "capturable", "differentiable", "foreach", "fused"} & set(options):
        with pytest.raises(error, match=re.escape(text)):
            optimizer.load_state_dict(saved)


def test_numbers_and_flags_of_numpy():
    parameter, flags = torch.nn.Parameter(torch.ones(2)), dict.fromkeys(["maximize", "ema_warmup", "bias_correction"], np.bool_(False))
    for more in (flags, dict(maximize=0, ema_warmup=np.int64(1), bias_correction=np.int64(1), foreach=np.bool_(True),
                             amp_scaling=np.bool_(False))):
        optimizer = FusedEmaAdamW([parameter], lr=np.float32(0.1), betas=np.array([0.9, 0.99]), eps=np.float64(1e-8),
                                  weight_decay=np.int64(0), ema_decay=torch.tensor(0.9), **more)
        assert isinstance(optimizer._step_supports_amp_scaling, bool)
        parameter.grad = torch.ones(2)
        before = parameter.detach().clone()
        optimizer.step()
        assert (parameter < before).all()


def stepping(**more):
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    return FusedEmaAdamW([parameter], **more)


@pytest.mark.parametrize("options, error, text", [
    (dict(betas=(0.9,)), ValueError, "betas is (0.9,); it must be two numbers in [0, 1)"),
    (dict(betas=(0.9, 0.9, 0.9)), ValueError, "betas is (0.9, 0.9, 0.9); it must be two numbers"),
    (dict(betas=0.9), TypeError, "betas is 0.9; it must be two numbers"), (dict(betas=None), TypeError, "betas is None; it must be two"),
    (dict(amsgrad=True), ValueError, "FusedEmaAdamW has no amsgrad; use torch.optim.AdamW for it"),
    (dict(differentiable=True), ValueError, "FusedEmaAdamW is not differentiable")])
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("offload", [None, "state"])
def test_options_written_to_a_group_later(options, error, text, steps, offload):
    """A step checks what it would ignore or misread, before it changes a value."""
    optimizer = stepping(offload=offload)
    for _ in range(steps):
        optimizer.step()
    before = copy.deepcopy(optimizer.state_dict())
    optimizer.param_groups[0].update(options)
    parameter = optimizer.param_groups[0]["params"][0]
    value = parameter.detach().clone()
    with pytest.raises(error, match=re.escape(text)):
        optimizer.step()
    if offload and hasattr(parameter, "register_post_accumulate_grad_hook"):
        with pytest.raises(error, match=re.escape(text)), optimizer.step_in_backward():
            parameter.sum().backward()
    assert torch.equal(parameter, value)
    optimizer.param_groups[0].update({name: before["param_groups"][0][name] for name in options})
    assert optimizer.state_dict()["param_groups"] == before["param_groups"]
    optimizer.step()


@pytest.mark.parametrize("betas", [[0.8, 0.9], np.array([0.8, 0.9])], ids=["list", "array"])
def test_betas_of_other_types_written_to_a_group_later(betas):
    one, other = stepping(betas=(0.8, 0.9)), stepping()
    other.param_groups[0]["betas"] = betas
    for optimizer in (one, other):
        optimizer.step()
    assert torch.equal(*(optimizer.param_groups[0]["params"][0] for optimizer in (one, other)))


@needs_newer_torch(2, 4)
@pytest.mark.slow
@pytest.mark.parametrize("options, text", [(dict(betas=(0.9,)), "it must be two numbers"), (dict(amsgrad=True), "has no amsgrad")])
def test_options_written_to_a_group_later_in_a_compiled_step(options, text):
    torch._dynamo.reset()
    optimizer = stepping()
    optimizer.param_groups[0].update(options)
    with pytest.raises(Exception, match=text):
        torch.compile(optimizer.step, backend="aot_eager", fullgraph=True)()


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")
def test_a_parameter_given_twice():
    one, other = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match=r"params\[2\] of a group is the same parameter as params\[0\]; pass each parameter once"):
        FusedEmaAdamW([one, other, one])
    optimizer = FusedEmaAdamW([one])
    with pytest.raises(ValueError, match=r"params\[1\] of a group is the same"):
        optimizer.add_param_group(dict(params=[other, other]))
    assert len(optimizer.param_groups) == 1


def test_a_step_without_memory_names_the_optimizer():
    parameter = torch.nn.Parameter(torch.ones(2, device="meta"))
    parameter.grad = torch.ones(2, device="meta")
    with pytest.raises(ValueError, match=r"^FusedEmaAdamW\.step: a parameter is on meta"):
        FusedEmaAdamW([parameter]).step()


ALL_KINDS = [{}, dict(maximize=True), dict(foreach=False), dict(capturable=True, ema_warmup=False), dict(offload="state")]


@needs_newer_torch(2, 1)
@pytest.mark.parametrize("options", ALL_KINDS)
def test_steps_of_fake_tensors(options):
    """Programs that estimate memory run whole steps on tensors without numbers. torch.optim.AdamW also runs."""
    fake = importlib.import_module("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode():
        model = torch.nn.Sequential(torch.nn.Linear(4, 3, dtype=torch.bfloat16), torch.nn.Linear(3, 2, dtype=torch.bfloat16))
        optimizer = FusedEmaAdamW([dict(params=layer.parameters()) for layer in model], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(5, 4, dtype=torch.bfloat16)).sum().backward()
            optimizer.step()
        with optimizer.swap_ema():
            model(torch.ones(5, 4, dtype=torch.bfloat16))
    for parameter in model.parameters():
        state = optimizer.state[parameter]
        assert isinstance(parameter, fake.FakeTensor) and sorted(state) == ["ema_params", "exp_avg", "exp_avg_sq", "step"]
        assert all(value.shape == parameter.shape and value.dtype == torch.float32 for name, value in state.items() if name != "step")
    assert [group["ema_updates"] for group in optimizer.param_groups] == [3, 3]


@needs_newer_torch(2, 0)
@pytest.mark.parametrize("options", ALL_KINDS)
def test_counters_do_not_depend_on_the_default_device(options):
    """A step is counted in the host's memory. Counters on the device "meta" would lose it."""
    parameter = torch.nn.Parameter(torch.ones(3))
    with torch.device("meta"):
        optimizer = FusedEmaAdamW([parameter], lr=0.1, **options)
        for step in range(1, 4):
            parameter.grad = torch.ones(3, device="cpu")
            optimizer.step()
            assert optimizer.state[parameter]["step"].item() == step
        optimizer.state[parameter]["step"] = 7  # as other programs count
        parameter.grad = torch.ones(3, device="cpu")
        optimizer.step()
        state = optimizer.state[parameter]
        assert state["step"].item() == 8 and all(value.device.type == "cpu" for value in state.values())
        saved = copy.deepcopy(optimizer.state_dict())
        saved["param_groups"][0]["step"] = int(saved["state"][0].pop("step"))
        optimizer.load_state_dict(saved)
        assert optimizer.state[parameter]["step"].item() == 8


def test_counters_do_not_depend_on_the_default_dtype():
    """BF16 doesn't have the number 257."""
    count = 257
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3)
    optimizer = FusedEmaAdamW([parameter], lr=0.1)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    del saved["state"][0]["step"]
    saved["param_groups"][0]["step"] = count  # as apex counts
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        optimizer.load_state_dict(saved)
        assert optimizer.state[parameter]["step"].item() == count
        optimizer.step()
    finally:
        torch.set_default_dtype(before)
    assert optimizer.state[parameter]["step"].item() == count + 1
