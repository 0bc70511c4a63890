# Averages of the parameters: swapped in and out, stored and restored, in the form of a model's state dict.
import copy
import pickle

import pytest

from conftest import needs_torch, torch
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
