# Averages that another program kept are continued: by name, by order, without a warm-up that discards them.
import copy
import warnings

import pytest

from conftest import needs_newer_torch, needs_torch, torch
from training import equal, model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = needs_torch


def averages_of(network):
    """The state dict of another model, whose values differ from the parameters."""
    return {name: value + 1 for name, value in network.state_dict().items()}


def require_next_decay(network, optimizer, before, decay):
    train(network, optimizer, 1)
    for name, parameter in network.named_parameters():
        want = decay * before[name] + (1 - decay) * parameter.detach()
        assert torch.allclose(optimizer.state[parameter]["ema_params"], want, atol=1e-5), name


def test_averaged_model_is_continued():
    """The steps before with AdamW and AveragedModel, and those after with FusedEmaAdamW, are those of AdamW and AveragedModel."""
    def average(old, new, count):
        return 0.9 * old + 0.1 * new

    theirs = model()
    adamw = torch.optim.AdamW(theirs.parameters(), lr=0.01)
    averaged = torch.optim.swa_utils.AveragedModel(theirs, avg_fn=average)
    averaged.update_parameters(theirs)

    def train_both(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(4):
            adamw.zero_grad()
            theirs(torch.randn(16, 6, generator=generator)).square().sum().backward()
            adamw.step()
            averaged.update_parameters(theirs)

    train_both(1)
    ours = copy.deepcopy(theirs)
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, ema_decay=0.9, ema_warmup=False)
    optimizer.load_state_dict(adamw.state_dict())
    optimizer.load_ema_state_dict(averaged.module.state_dict(), updates=averaged.n_averaged)
    assert optimizer.param_groups[0]["ema_updates"] == 5
    train_both(2)
    train(ours, optimizer, 4, seed=2)
    equal(ours, theirs, 1e-5)
    with optimizer.swap_ema():
        equal(ours, averaged.module, 1e-5)


def test_an_average_with_a_constant_decay_keeps_it():
    """A warm-up that started after 20 updates would discard the average."""
    network = model()
    adamw = torch.optim.AdamW(network.parameters(), lr=0.1)
    averaged = torch.optim.swa_utils.AveragedModel(network, avg_fn=lambda old, new, _: 0.999 * old + 0.001 * new)
    for step in range(20):
        train(network, adamw, 1, seed=step)
        averaged.update_parameters(network)
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.1, ema_decay=0.999)
    optimizer.load_state_dict(adamw.state_dict())
    brought = {name: value.clone() for name, value in averaged.module.state_dict().items()}
    optimizer.load_ema_state_dict(averaged.module.state_dict())
    require_next_decay(network, optimizer, brought, 0.999)


@pytest.mark.parametrize("update_after_step", [0, 3])
def test_the_warm_up_of_diffusers_continues(update_after_step):
    """diffusers computes the decay from the count after a step; openaclnn from the count before it."""
    def their_decay(optimization_step):
        n = max(0, optimization_step - update_after_step - 1)
        return min(0.999, (1 + n) / (10 + n))

    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01, ema_decay=0.999)
    brought, done = averages_of(network), 20
    optimizer.load_ema_state_dict(brought, updates=done - update_after_step - 1)
    require_next_decay(network, optimizer, brought, their_decay(done + 1))


@pytest.mark.parametrize("updates, decay", [(None, 0.999), (0, 2 / 11), (10000, 0.999), (88, 90 / 99)])
def test_the_warm_up_continues(updates, decay):
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01, ema_decay=0.999)
    brought = averages_of(network)
    optimizer.load_ema_state_dict(brought, updates=None if updates is None else torch.tensor(updates))
    require_next_decay(network, optimizer, brought, decay)


@pytest.mark.parametrize("decay", [0.0, 0.05, 0.5, 0.999, 0.9999, 0.999999, 1.0])
def test_the_warm_up_is_over(decay):
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.0, ema_decay=decay)
    brought = averages_of(network)
    optimizer.load_ema_state_dict(brought)
    require_next_decay(network, optimizer, brought, decay)


@pytest.mark.parametrize("how", ["state", "checkpoint", "checkpoint with steps"])
def test_averages_without_a_count_are_not_discarded(how):
    """Averages that a program put into the state, or into the checkpoint of an AdamW."""
    network = model()
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01, ema_decay=0.999)
    brought = averages_of(network)
    if how == "state":
        for name, parameter in network.named_parameters():
            optimizer.state[parameter]["ema_params"] = brought[name].clone()
    else:
        adamw = torch.optim.AdamW(network.parameters(), lr=0.01)
        train(network, adamw, 1)
        saved = adamw.state_dict()
        for n, name in enumerate(brought):
            saved["state"][n]["ema_params"] = brought[name].clone()
            saved["state"][n]["step"] = torch.tensor(20000.0 if how == "checkpoint with steps" else 0.0)
        for group in saved["param_groups"]:
            group.pop("ema_decay", None)
        optimizer.load_state_dict(saved)
    require_next_decay(network, optimizer, brought, 0.999)
    assert optimizer.param_groups[0]["ema_updates"] == (20001 if how == "checkpoint with steps" else 8991)


@pytest.mark.parametrize("options", [{}, dict(capturable=True, ema_warmup=False)])
def test_a_load_that_replaces_averages_warns(options):
    network = model()
    adamw = torch.optim.AdamW(network.parameters(), lr=0.01)
    train(network, adamw, 1)
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.load_state_dict(adamw.state_dict())  # it replaces nothing
    optimizer.load_ema_state_dict(averages_of(network))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    with pytest.warns(UserWarning, match="no averages.* call load_ema_state_dict.* after load_state_dict") as caught:
        optimizer.load_state_dict(adamw.state_dict())
    assert [warning.filename for warning in caught] == [__file__]


def test_names_come_from_the_model():
    """Groups reorder parameters, and buffers and frozen parameters belong to the state dict."""
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4))
    network[2].bias.requires_grad_(False)
    groups = [dict(params=[p for p in network.parameters() if p.dim() > 1]),
              dict(params=[p for p in network.parameters() if p.dim() == 1 and p.requires_grad], weight_decay=0)]
    optimizer = FusedEmaAdamW(groups, lr=0.01)
    brought = averages_of(network)
    with pytest.raises(ValueError, match="does not know the names of its 5 parameters in 2 groups.* pass the model"):
        optimizer.load_ema_state_dict(brought)
    optimizer.load_ema_state_dict(brought, network)
    averages = optimizer.ema_state_dict(network)
    for name, parameter in network.named_parameters():
        assert torch.equal(averages[name], brought[name] if parameter.requires_grad else parameter)
    for bad, text in (({f"module.{name}": value for name, value in brought.items()}, "no 'module.0.weight'.*without a prefix"),
                      ({name: value for name, value in brought.items() if name != "1.bias"}, "has no average"),
                      ({**brought, "1.bias": torch.zeros(5)}, r"average 1.bias has shape \[5\], but its parameter has \[4\]")):
        with pytest.raises(ValueError, match=text):
            optimizer.load_ema_state_dict(bad, network)
    with pytest.raises(ValueError, match="updates is -1"):
        optimizer.load_ema_state_dict(brought, network, updates=-1)
    for name, value in optimizer.ema_state_dict(network).items():
        assert torch.equal(value, averages[name])


@needs_newer_torch(2, 6)
def test_names_come_from_named_parameters():
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    optimizer = FusedEmaAdamW(reversed(list(network.named_parameters())), lr=0.01)
    brought = averages_of(network)
    optimizer.load_ema_state_dict(brought)
    for name, parameter in network.named_parameters():
        assert torch.equal(optimizer.state[parameter]["ema_params"], brought[name])


def test_sequences_have_the_order_of_the_parameters():
    """shadow_params of torch_ema and of diffusers. Names may be in another order than the optimizer's."""
    network = model()
    parameters = list(network.parameters())
    shadow = [value + 1 for value in averages_of(network).values()]
    first, second = FusedEmaAdamW(parameters, lr=0.01), FusedEmaAdamW(parameters[::-1], lr=0.01)
    first.load_ema_state_dict(shadow)
    second.load_ema_state_dict(shadow, network)
    for parameter, value in zip(parameters, shadow):
        for optimizer in (first, second):
            assert torch.equal(optimizer.state[parameter]["ema_params"], value)
    with pytest.raises(ValueError, match="5 averages for 6 parameters"):
        first.load_ema_state_dict(shadow[:-1])


def test_tied_and_16_bit_parameters():
    network = torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)).bfloat16()
    network[1].weight = network[0].weight
    optimizer = FusedEmaAdamW(network.parameters(), lr=0.01)
    value = torch.full((5, 3), 1 / 3)
    optimizer.load_ema_state_dict({"0.weight": value, "1.weight": value}, network)
    state = optimizer.state[network[0].weight]
    assert torch.equal(state["ema_params"], value) and state["ema_params"] is not value
    assert state["exp_avg"].eq(0).all() and state["step"] == 0  # a complete state, also for a checkpoint


@needs_newer_torch(2, 5)
@pytest.mark.slow
def test_whole_averages_of_sharded_parameters(tmp_path):
    """Every process passes the whole average and keeps its shard."""
    import torch.distributed as dist
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        parameter = torch.nn.Parameter(distribute_tensor(torch.ones(4, 3), mesh, [Shard(0)]))
        optimizer = FusedEmaAdamW([parameter], lr=0.1, ema_decay=0.5)
        optimizer.load_ema_state_dict([torch.full((4, 3), 3.0)])
        assert optimizer.state[parameter]["ema_params"].placements == parameter.placements
        parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        average = optimizer.state[parameter]["ema_params"].full_tensor()
        assert torch.allclose(average, 0.5 * 3 + 0.5 * parameter.full_tensor())
    finally:
        dist.destroy_process_group()
