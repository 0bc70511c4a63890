# Averages of the parameters: swapped in and out, stored and restored, in the form of a model's state dict.
import copy
import pickle

import pytest

from conftest import needs_newer_torch, needs_torch, torch
from training import model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = needs_torch


def test_swap_ema():
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.05)
    train(network, optimizer)
    before = copy.deepcopy(network.state_dict())
    averages = optimizer.ema_state_dict(network)
    with pytest.raises(ValueError, match="without any parameter of this optimizer"):
        optimizer.ema_state_dict(copy.deepcopy(network))
    with optimizer.swap_ema():
        for name, value in network.state_dict().items():
            assert torch.equal(value, averages[name])
        with pytest.raises(RuntimeError, match="inside swap_ema"):
            optimizer.step()
        with pytest.raises(RuntimeError, match="stored already"):
            optimizer.store()
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
        assert not torch.equal(value, averages[name])
    with pytest.raises(RuntimeError, match="nothing to restore"):
        optimizer.restore()


def test_some_parameters_are_stored_and_others_restored():
    network, other = model(), model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.05)
    train(network, optimizer)
    before = copy.deepcopy(network.state_dict())
    optimizer.store(network.parameters())
    optimizer.copy_to()
    with pytest.raises(ValueError, match="parameters has 1 entries, but store\\(\\) kept 6"):
        optimizer.restore([network[0].weight])
    optimizer.restore(other.parameters())
    for name, value in other.state_dict().items():
        assert torch.equal(value, before[name])
    optimizer.store([network[0].bias])
    averages = [value.detach().clone() for value in network.parameters()]
    with torch.no_grad():
        for value in network.parameters():
            value.zero_()
    optimizer.restore()
    assert torch.equal(network[0].bias, averages[1]) and network[0].weight.eq(0).all()


@pytest.mark.parametrize("what, call", [
    ("load_state_dict", lambda optimizer: optimizer.load_state_dict({})), ("state_dict", lambda optimizer: optimizer.state_dict()),
    ("copy", copy.deepcopy), ("copy", pickle.dumps)], ids=["load", "save", "deepcopy", "pickle"])
def test_what_would_lose_the_stored_parameters_is_refused(what, call):
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.05)
    train(network, optimizer)
    before = copy.deepcopy(network.state_dict())
    with optimizer.swap_ema():
        with pytest.raises(RuntimeError, match=f"{what}.* would lose the parameters that are stored; restore"):
            call(optimizer)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    if what != "load_state_dict":
        call(optimizer)


def test_averages_do_not_overwrite_what_is_not_stored():
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.05)
    train(network, optimizer)
    before = copy.deepcopy(network.state_dict())
    bias = network[0].bias
    optimizer.store([bias])
    with pytest.raises(RuntimeError, match="would overwrite 5 parameters that store"):
        optimizer.copy_to()
    optimizer.copy_to([bias])
    assert torch.equal(bias, optimizer.state[bias]["ema_params"])
    assert torch.equal(network[0].weight, before["0.weight"])
    optimizer.restore()
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    with pytest.raises(ValueError, match=r"parameters\[1\] isn't a parameter of this optimizer"):
        optimizer.copy_to([bias, torch.nn.Parameter(torch.ones(2))])
    optimizer.copy_to()
    assert torch.equal(bias, optimizer.state[bias]["ema_params"])


def test_averages_of_tied_parameters_have_all_names():
    network = torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False))
    network[1].weight = network[0].weight
    network.add_module("again", network[1])
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.5)
    network[1](network[0](torch.tensor([1, 2]))).sum().backward()
    optimizer.step()
    averages = optimizer.ema_state_dict(network)
    assert list(averages) == list(network.state_dict()) == ["0.weight", "1.weight", "again.weight"]
    for value in averages.values():
        assert torch.equal(value, optimizer.state[network[0].weight]["ema_params"])


def renamed(change):
    """Returns a hook of a state dict that gives the first layer another name, and what it makes of its values."""
    return lambda module, state, prefix, metadata: {name.replace("0.", "first."): change(name, value) for name, value in state.items()}


def trained():
    network = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2)).train()
    network[2].weight.requires_grad_(False)
    optimizer = FusedEmaAdamW([value for value in network.parameters() if value.requires_grad], lr=0.1, ema_decay=0.5)
    return train(network, optimizer), optimizer


@pytest.mark.parametrize("change", [
    lambda name, value: value, lambda name, value: value.detach(),
    lambda name, value: value if name.startswith("0.") else value.clone()], ids=["same", "detached", "copies of others"])
def test_averages_of_a_model_whose_hooks_rename_parameters(change):
    network, optimizer = trained()
    averages = optimizer.ema_state_dict(network)
    network._register_state_dict_hook(renamed(change))
    found = optimizer.ema_state_dict(network)
    assert list(found) == list(network.state_dict()) and "first.weight" in found and "0.weight" not in found
    for name, value in averages.items():
        other = found[name.replace("0.", "first.")]
        assert torch.equal(other, value) and not other.requires_grad and type(other) is torch.Tensor
        assert other.data_ptr() not in [parameter.data_ptr() for parameter in network.parameters() if parameter.requires_grad]
    for state in (found, averages):
        for values in optimizer.state.values():
            values["ema_params"].zero_()
        optimizer.load_ema_state_dict({name: value for name, value in state.items() if name != "2.weight"}, network)
        assert all(torch.equal(value, found[name]) for name, value in optimizer.ema_state_dict(network).items())


def test_averages_of_hooks_that_copy():
    """Copies under their own names are averages. A copy under another name can't be recognized."""
    network, optimizer = trained()
    averages = optimizer.ema_state_dict(network)
    handle = network._register_state_dict_hook(lambda module, state, *_: {name: value.clone() for name, value in state.items()})
    found = optimizer.ema_state_dict(network)
    assert all(torch.equal(value, found[name]) for name, value in averages.items())
    handle.remove()
    network._register_state_dict_hook(renamed(lambda name, value: value.clone()))
    with pytest.raises(ValueError, match="no entry for the parameter 0.weight, but it has 'first.weight', which is neither"):
        optimizer.ema_state_dict(network)


def test_averages_of_hooks_that_remove_parameters():
    network, optimizer = trained()
    network._register_state_dict_hook(lambda module, state, *_: {"0.weight": state["0.weight"]})
    assert list(optimizer.ema_state_dict(network)) == ["0.weight"]


def test_averages_of_a_model_with_its_own_state_dict():
    class Model(torch.nn.Linear):
        def state_dict(self):
            return {"model." + name: value for name, value in super().state_dict().items()}

    network = Model(2, 2)
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.1, ema_decay=0.5)
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    found = optimizer.ema_state_dict(network)
    assert list(found) == ["model.weight", "model.bias"]
    assert torch.equal(found["model.weight"], optimizer.state[network.weight]["ema_params"])


@needs_newer_torch(2, 1)
def test_averages_of_checkpoint_wrappers():
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    network = torch.nn.Sequential(torch.nn.Linear(2, 2))
    network[0] = checkpoint_wrapper(network[0])
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.1, ema_decay=0.5)
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    averages = optimizer.ema_state_dict(network)
    assert list(averages) == list(network.state_dict()) == ["0.weight", "0.bias"]
    for value, parameter in zip(averages.values(), network.parameters()):
        assert torch.equal(value, optimizer.state[parameter]["ema_params"]) and not torch.equal(value, parameter)
