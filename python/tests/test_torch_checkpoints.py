# Checkpoints of the optimizers: saved and resumed, exchanged with torch.optim, taken from apex and MindSpeed.
import copy
import io
import warnings

import pytest

from conftest import needs_newer_torch, needs_torch, torch
from training import equal, model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdam, FusedEmaAdamW

pytestmark = needs_torch


def test_warm_up_counts_and_survives_a_checkpoint():
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01, ema_decay=0.9999)
    whole = copy.deepcopy(network)
    resumed = copy.deepcopy(network)
    train(whole, FusedEmaAdamW(whole.parameters(), lr=0.01, ema_decay=0.9999), 3)
    train(network, optimizer, 3)
    saved = io.BytesIO()
    torch.save({"model": network.state_dict(), "optimizer": optimizer.state_dict()}, saved)
    saved.seek(0)
    checkpoint = torch.load(saved)
    assert checkpoint["optimizer"]["param_groups"][0]["ema_updates"] == 3
    resumed.load_state_dict(checkpoint["model"])
    second = FusedEmaAdamW(resumed.parameters(), lr=0.5)
    second.load_state_dict(checkpoint["optimizer"])
    train(network, optimizer, 3, seed=9)
    train(resumed, second, 3, seed=9)
    equal(network, resumed)
    for a, b in zip(network.parameters(), resumed.parameters()):
        assert torch.equal(optimizer.state[a]["ema_params"], second.state[b]["ema_params"])


def test_checkpoints_are_exchanged_with_adamw():
    first, second = model(), model()
    theirs = torch.optim.AdamW(first.parameters(), lr=0.01)
    train(first, theirs, 4)
    second.load_state_dict(first.state_dict())
    ours = FusedEmaAdamW(second.parameters(), lr=0.3)
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    train(first, theirs, 4, seed=8)
    train(second, ours, 4, seed=8)
    equal(first, second, 1e-5)
    third = model()
    third.load_state_dict(second.state_dict())
    again = torch.optim.AdamW(third.parameters(), lr=0.3)
    again.load_state_dict(copy.deepcopy(ours.state_dict()))
    train(second, ours, 3, seed=4)
    train(third, again, 3, seed=4)
    equal(second, third, 1e-5)


def test_options_that_a_checkpoint_lacks_stay_those_of_the_group():
    first, second = model(), model()
    theirs = torch.optim.AdamW(first.parameters(), lr=0.01)
    train(first, theirs, 2)
    halves = list(second.parameters())
    ours = FusedEmaAdamW([dict(params=halves, ema_decay=0.5, ema_warmup=False, bias_correction=False)], lr=0.3)
    ours.load_state_dict(theirs.state_dict())
    group = ours.param_groups[0]
    assert (group["lr"], group["ema_decay"], group["ema_warmup"], group["bias_correction"]) == (0.01, 0.5, False, False)
    assert group["ema_updates"] == 0


def test_a_checkpoint_with_amsgrad_is_refused_and_changes_nothing():
    first, second = model(), model()
    theirs = torch.optim.AdamW(first.parameters(), lr=0.01, amsgrad=True)
    train(first, theirs, 2)
    ours = FusedEmaAdamW(second.parameters(), lr=0.3)
    with pytest.raises(ValueError, match="has no amsgrad"):
        ours.load_state_dict(theirs.state_dict())
    assert ours.param_groups[0]["lr"] == 0.3 and not ours.param_groups[0]["amsgrad"] and not ours.state


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("name, other, decoupled", [("FusedEmaAdamW", "Adam", True), ("FusedEmaAdam", "AdamW", False)])
def test_the_mode_of_weight_decay_is_that_of_the_class(name, other, decoupled, weight_decay):
    kind = {"FusedEmaAdamW": FusedEmaAdamW, "FusedEmaAdam": FusedEmaAdam}[name]
    network = model()
    theirs = getattr(torch.optim, other)(network.parameters(), lr=0.01, weight_decay=weight_decay)
    train(network, theirs, 2)
    state = copy.deepcopy(theirs.state_dict())
    state["param_groups"][0]["decoupled_weight_decay"] = not decoupled  # older versions lack it
    ours = kind(network.parameters(), lr=0.3)
    assert ours.state_dict()["param_groups"][0]["decoupled_weight_decay"] is decoupled
    modes = ["L2 (decoupled_weight_decay=False)", "decoupled (decoupled_weight_decay=True)"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.load_state_dict(state)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == (weight_decay != 0) and all(mode in text for text in texts for mode in modes), texts
    assert all(warning.filename == __file__ for warning in caught)
    assert ours.state_dict()["param_groups"][0]["decoupled_weight_decay"] is decoupled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.load_state_dict(copy.deepcopy(ours.state_dict()))
    with pytest.raises(ValueError, match=f"decoupled_weight_decay is {not decoupled}; it is always {decoupled} in {name}"):
        kind([dict(params=network.parameters(), decoupled_weight_decay=not decoupled)])


@pytest.mark.parametrize("has_averages", [False, True])
def test_steps_of_groups_are_taken_for_their_parameters(has_averages):
    """Checkpoints of apex and MindSpeed: one count for each group and none for parameters. The last parameter has no state."""
    network = model()
    reference = FusedEmaAdamW(network.parameters(), lr=0.01)
    train(network, reference, 3)
    saved = copy.deepcopy(reference.state_dict())
    for values in saved["state"].values():
        del values["step"]
        if not has_averages:
            del values["ema_params"]
    last = saved["param_groups"][0]["params"][-1]
    del saved["state"][last], saved["param_groups"][0]["ema_updates"]
    saved["param_groups"][0]["step"] = 3
    before = copy.deepcopy(saved)
    other = copy.deepcopy(network)
    optimizer = FusedEmaAdamW(other.parameters(), lr=0.5)
    optimizer.load_state_dict(saved)
    assert saved["param_groups"] == before["param_groups"] and saved["state"].keys() == before["state"].keys()
    assert all("step" not in values for values in saved["state"].values())
    *others, joined = other.parameters()
    assert all(int(optimizer.state[parameter]["step"]) == 3 for parameter in others) and joined not in optimizer.state
    assert "step" not in optimizer.param_groups[0]
    assert optimizer.param_groups[0]["ema_updates"] == (3 if has_averages else 0)
    train(network, reference, 1, seed=8)
    train(other, optimizer, 1, seed=8)
    assert int(optimizer.state[joined]["step"]) == 1
    for got, want in zip(others, network.parameters()):
        assert torch.equal(got, want)


def trained_and_new():
    """An optimizer that has made two steps, its checkpoint, and a new optimizer for an equal model."""
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01)
    train(network, optimizer, 2)
    return optimizer, copy.deepcopy(optimizer.state_dict()), FusedEmaAdamW(model().parameters(), lr=0.5)


def test_a_loaded_checkpoint_stays_as_it_is():
    optimizer, saved, other = trained_and_new()
    other.load_state_dict(saved)
    for parameter in other.param_groups[0]["params"]:
        parameter.grad = torch.ones_like(parameter)
    other.step()
    for key, values in optimizer.state_dict()["state"].items():
        for name in values:
            assert torch.equal(saved["state"][key][name], values[name]), name


@pytest.mark.parametrize("options", [{}, dict(capturable=True, ema_warmup=False)])
def test_state_that_was_replaced_is_completed_again(options):
    """ZeroRedundancyOptimizer loads a checkpoint in this way: counters and dtypes are those of the file."""
    ours = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    theirs = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = FusedEmaAdamW(ours, lr=0.1, **options)
    other = torch.optim.AdamW(theirs, lr=0.1)
    for n in range(2):
        if n == 1:
            for count, (mine, copied) in zip((4, 9), zip(ours, theirs)):
                for owner, parameter, dtype in ((optimizer, mine, torch.bfloat16), (other, copied, torch.float32)):
                    owner.state[parameter] = {"step": torch.tensor(float(count)), "exp_avg": torch.full((3,), 0.5, dtype=dtype),
                                              "exp_avg_sq": torch.full((3,), 0.25, dtype=dtype)}
        for parameter in ours + theirs:
            parameter.grad = torch.full((3,), 0.125)
        optimizer.step()
        other.step()
    assert [int(optimizer.state[parameter]["step"]) for parameter in ours] == [5, 10]
    for parameter, copied in zip(ours, theirs):
        assert torch.allclose(parameter, copied, atol=1e-6)


@needs_newer_torch(2, 1)
def test_hooks_of_a_load_have_the_last_word():
    """As in torch.optim: a hook before the load changes the loaded dict, a hook after it the loaded state."""
    optimizer, saved, other = trained_and_new()
    first = other.param_groups[0]["params"][0]
    seen = []

    def before(_, state_dict):
        seen.append(state_dict)
        states = {key: {**values, "exp_avg": torch.full_like(values["exp_avg"], 42)} for key, values in state_dict["state"].items()}
        return {**state_dict, "state": states}

    def after(loaded):
        loaded.state[first]["exp_avg_sq"].fill_(7)

    other.register_load_state_dict_pre_hook(before)
    other.register_load_state_dict_post_hook(after)
    other.load_state_dict(saved)
    assert seen[0].keys() == saved.keys()
    assert other.state[first]["exp_avg"].eq(42).all() and other.state[first]["exp_avg_sq"].eq(7).all()
    assert torch.equal(other.state[first]["ema_params"], saved["state"][0]["ema_params"])
    other.load_state_dict(saved)
    assert len(seen) == 2 and len(other._optimizer_load_state_dict_pre_hooks) == 1
    assert len(other._optimizer_load_state_dict_post_hooks) == 1


def test_capturable_is_no_part_of_a_checkpoint():
    first, second = model(), model()
    ours = FusedEmaAdamW(first.parameters(), lr=0.01, capturable=True, ema_warmup=False)
    train(first, ours, 2)
    second.load_state_dict(first.state_dict())
    theirs = torch.optim.AdamW(second.parameters())
    theirs.load_state_dict(copy.deepcopy(ours.state_dict()))
    third = copy.deepcopy(first)
    again = FusedEmaAdamW(third.parameters(), capturable=True, ema_warmup=False)
    again.load_state_dict(copy.deepcopy(ours.state_dict()))
    for network, optimizer in ((first, ours), (second, theirs), (third, again)):
        train(network, optimizer, 2, seed=8)
    equal(first, second, 1e-5)
    equal(first, third)
    assert again.param_groups[0]["capturable"] and again.state[third[0].weight]["step"].dtype == torch.int64
    state = torch.optim.AdamW(model().parameters()).state_dict()
    state["param_groups"][0]["capturable"] = True  # as on other devices
    plain = FusedEmaAdamW(model().parameters())
    plain.load_state_dict(state)
    assert not plain.param_groups[0]["capturable"] and plain.param_groups[0]["ema_warmup"]


def test_a_checkpoint_with_numbers_out_of_range_is_refused():
    optimizer = FusedEmaAdamW(model().parameters(), lr=0.3)
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["ema_decay"] = 7
    with pytest.raises(ValueError, match="ema_decay is 7"):
        optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["ema_decay"] == 0.9999
