# Tests optimizers whose state is in the host's memory: the same bits, in any legal order of the streams, and all that moves state.
import contextlib
import copy
import pickle

import pytest

from conftest import needs_newer_torch, needs_torch, torch
from later_link import LaterLink, LinkWithFreedMemory
from training import model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdam, FusedEmaAdamW, host_memory, offload

pytestmark = needs_torch
OFFLOADS = ["average", "state"]
OPTIONS = dict(lr=0.01, weight_decay=0.1, ema_decay=0.9)


@pytest.fixture(params=["host", "emulated GPU"])
def links(request, monkeypatch):
    """Runs a test with state beside the parameters, and on the other side of emulated streams, in buckets of few elements."""
    monkeypatch.setattr(offload, "BUCKET_ELEMENTS", 64)
    monkeypatch.setattr(offload, "ALIGNMENT", 16)
    if request.param != "host":
        monkeypatch.setattr(offload, "make_link", LaterLink)
    return request.param


def large_model(dtype=None):
    """Weights longer than a bucket and many parameters in one bucket."""
    torch.manual_seed(4)
    layers = [torch.nn.Linear(6, 40), torch.nn.Tanh(), torch.nn.LayerNorm(40), torch.nn.Linear(40, 5), torch.nn.Linear(5, 2)]
    return torch.nn.Sequential(*layers).to(dtype)


def train_in_backward(network, optimizer, steps=6, seed=5, scheduler=None):
    """Trains as training.train does."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        values = torch.randn(16, 6, generator=generator).to(next(network.parameters()).dtype)
        optimizer.zero_grad()
        with optimizer.step_in_backward():
            network(values).square().sum().backward()
        if scheduler is not None:
            scheduler.step()
    return network


def require_same_bits(one, other, one_network, other_network):
    one.state_dict()  # waits for updates
    other.state_dict()
    for a, b in zip(one_network.parameters(), other_network.parameters()):
        assert torch.equal(a, b)
        assert (a in one.state) == (b in other.state)
        for name, value in one.state[a].items():
            assert torch.equal(value, other.state[b][name]), name


@pytest.mark.parametrize("state", OFFLOADS)
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "bfloat16 state"])
@pytest.mark.filterwarnings("ignore:.*average.*")
def test_the_same_bits(links, state, kind):
    dtype = torch.float32 if kind == "float32" else torch.bfloat16
    options = dict(OPTIONS, state_dtype="parameter" if "state" in kind else None)
    ours, theirs = large_model(dtype), large_model(dtype)
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload=state, **options), FusedEmaAdamW(theirs.parameters(), **options)
    train(ours, offloaded), train(theirs, resident)
    require_same_bits(offloaded, resident, ours, theirs)
    if hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
        train_in_backward(ours, offloaded, seed=6), train(theirs, resident, seed=6)
        require_same_bits(offloaded, resident, ours, theirs)


@needs_newer_torch(2, 1)
def test_groups_schedulers_and_l2_in_a_backward_pass(links):
    ours, theirs = large_model(), large_model()

    def made(network, **options):
        weights, others = ([p for p in network.parameters() if (p.dim() > 1) == many] for many in (True, False))
        return FusedEmaAdam([dict(params=weights, weight_decay=0.1), dict(params=others, lr=0.003)], maximize=True, **options)

    offloaded, resident = made(ours, offload="state"), made(theirs)
    train_in_backward(ours, offloaded, scheduler=torch.optim.lr_scheduler.StepLR(offloaded, 2, 0.5))
    train(theirs, resident, scheduler=torch.optim.lr_scheduler.StepLR(resident, 2, 0.5))
    require_same_bits(offloaded, resident, ours, theirs)
    assert [group["ema_updates"] for group in offloaded.param_groups] == [6, 6]


@needs_newer_torch(2, 1)
def test_parameters_without_a_gradient_and_gradients_from_before(links):
    def made():
        torch.manual_seed(4)
        return [torch.nn.Parameter(torch.randn(n)) for n in (100, 3, 70, 1, 0)]

    ours, theirs = made(), made()
    offloaded, resident = FusedEmaAdamW(ours, offload="state", **OPTIONS), FusedEmaAdamW(theirs, **OPTIONS)
    for step in range(4):
        # The second one has a gradient from before in each step, the third one none in the first steps.
        for parameters in (ours, theirs):
            parameters[1].grad = torch.full((3,), 0.5 + step)
        loss = lambda p: p[0].square().sum() + p[3].sum() + p[4].sum() + (p[2].sum() if step > 1 else 0)  # noqa: E731
        with offloaded.step_in_backward():
            loss(ours).backward()
            ours[0].grad = None  # a program that frees memory
        loss(theirs).backward()
        resident.step()
        offloaded.zero_grad(), resident.zero_grad()
    offloaded.state_dict()
    for a, b in zip(ours, theirs):
        assert torch.equal(a, b) and int(offloaded.state[a]["step"]) == int(resident.state[b]["step"])
        assert torch.equal(offloaded.state[a]["ema_params"], resident.state[b]["ema_params"])


def test_gradients_and_parameters_with_other_strides(links):
    def made():
        torch.manual_seed(4)
        return torch.nn.Parameter(torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last))

    ours, theirs = made(), made()
    offloaded, resident = FusedEmaAdamW([ours], offload="state", **OPTIONS), FusedEmaAdamW([theirs], **OPTIONS)
    for step in range(3):
        ours.grad = torch.full((3, 4, 5, 6), 1.0).cumsum(step)  # contiguous
        theirs.grad = ours.grad.clone()
        offloaded.step(), resident.step()
    offloaded.state_dict()
    assert torch.equal(ours, theirs) and torch.equal(offloaded.state[ours]["ema_params"], resident.state[theirs]["ema_params"])
    assert offloaded.state[ours]["exp_avg"].stride() == ours.stride()


def test_averages_are_complete_when_they_are_used(links):
    ours, theirs = large_model(), large_model()
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload="average", **OPTIONS), FusedEmaAdamW(theirs.parameters(), **OPTIONS)
    train(ours, offloaded), train(theirs, resident)
    expected = resident.ema_state_dict(theirs)
    assert all(torch.equal(value, expected[name]) for name, value in offloaded.ema_state_dict(ours).items())
    train(ours, offloaded, 1), train(theirs, resident, 1)
    with offloaded.swap_ema(), resident.swap_ema():
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters()))
    train(ours, offloaded, 1), train(theirs, resident, 1)
    for optimizer, network in ((offloaded, ours), (resident, theirs)):
        optimizer.load_ema_state_dict(expected, network)
        train(network, optimizer, 1)
    require_same_bits(offloaded, resident, ours, theirs)


@pytest.mark.parametrize("state", OFFLOADS)
def test_checkpoints_copies_and_pickles(links, state):
    """State moves between optimizers with and without offloading, and each copy has memory of its own."""
    ours, theirs = large_model(), large_model()
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload=state, **OPTIONS), FusedEmaAdamW(theirs.parameters(), **OPTIONS)
    train(ours, offloaded), train(theirs, resident)
    saved = pickle.loads(pickle.dumps(offloaded.state_dict()))
    for source, target, network in ((saved, resident, theirs), (resident.state_dict(), offloaded, ours)):
        target.load_state_dict(source)
        assert target.param_groups[0]["offload"] == (state if target is offloaded else None)
    train(ours, offloaded), train(theirs, resident)
    require_same_bits(offloaded, resident, ours, theirs)
    other = pickle.loads(pickle.dumps(offloaded))
    assert other.param_groups[0]["offload"] == state
    twin_network, twin = copy.deepcopy((ours, offloaded))
    train(twin_network, twin), train(theirs, resident)
    require_same_bits(twin, resident, twin_network, theirs)
    train(ours, offloaded)
    require_same_bits(offloaded, twin, ours, twin_network)


def test_state_that_a_program_replaces_is_used(links):
    ours, theirs = large_model(), large_model()
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload="state", **OPTIONS), FusedEmaAdamW(theirs.parameters(), **OPTIONS)
    train(ours, offloaded), train(theirs, resident)
    for network, optimizer in ((ours, offloaded), (theirs, resident)):
        for parameter in network.parameters():
            optimizer.state[parameter]["exp_avg"] = torch.ones_like(parameter)
    train(ours, offloaded, 2), train(theirs, resident, 2)
    require_same_bits(offloaded, resident, ours, theirs)


def test_a_group_that_joins_later(links):
    ours, theirs = large_model(), large_model()
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload="state", **OPTIONS), FusedEmaAdamW(theirs.parameters(), **OPTIONS)
    train(ours, offloaded, 2), train(theirs, resident, 2)
    extra = [torch.nn.Parameter(torch.ones(100)) for _ in range(2)]
    for optimizer, parameter in ((offloaded, extra[0]), (resident, extra[1])):
        optimizer.add_param_group(dict(params=[parameter]))
        parameter.grad = torch.arange(100.0)
    train(ours, offloaded, 2), train(theirs, resident, 2)
    assert torch.equal(*extra)
    require_same_bits(offloaded, resident, ours, theirs)


def test_new_memory_of_a_gpu_waits_for_its_earlier_use(monkeypatch):
    monkeypatch.setattr(offload, "make_link", LinkWithFreedMemory)
    for _ in range(50):
        parameter = torch.nn.Parameter(torch.ones(500))
        optimizer = FusedEmaAdamW([parameter], offload="state")
        parameter.grad = torch.ones(500)
        optimizer.step()
        optimizer.state_dict()
        assert LinkWithFreedMemory.made[-1].read == [6144]


@needs_newer_torch(2, 1)
def test_gradients_of_a_bucket_come_from_several_streams(monkeypatch):
    links = []
    monkeypatch.setattr(offload, "make_link", lambda device: links.append(LaterLink(device)) or links[-1])
    for _ in range(50):
        own = [torch.nn.Parameter(torch.ones(8)) for _ in range(2)]
        optimizer = FusedEmaAdamW(own, offload="state", lr=0.1)
        with optimizer.step_in_backward():
            for n, parameter in enumerate(own):
                links[-1].caller = f"caller {n}"
                for _ in range(20 * (1 - n)):  # the first stream is late
                    links[-1].add_to_caller(lambda: None)
                parameter.grad = torch.full((8,), float("nan"))
                links[-1].add_to_caller(lambda grad=parameter.grad: grad.fill_(1.0))
                next(iter(parameter._post_accumulate_grad_hooks.values()))(parameter)
        optimizer.state_dict()
        assert not any(parameter.isnan().any() for parameter in own)


@pytest.mark.parametrize("state", OFFLOADS)
def test_parameters_whose_strides_change(links, state):
    def made():
        torch.manual_seed(4)
        return torch.nn.Conv2d(3, 4, 5)

    ours, theirs = made(), made()
    offloaded, resident = FusedEmaAdamW(ours.parameters(), offload=state, **OPTIONS), FusedEmaAdamW(theirs.parameters(), **OPTIONS)
    for step in range(4):
        for network, optimizer in ((ours, offloaded), (theirs, resident)):
            network(torch.arange(300.0).reshape(1, 3, 10, 10).sin()).square().sum().backward()
            optimizer.step(), optimizer.zero_grad()
            network.to(memory_format=torch.channels_last if step % 2 == 0 else torch.contiguous_format)
    require_same_bits(offloaded, resident, ours, theirs)
    memory = torch.ones(4, 8)
    ours.weight.data = memory[:, :3].as_strided((4, 3, 5, 5), (8, 1, 0, 0))
    ours.weight.grad = torch.ones(4, 3, 5, 5)
    with pytest.raises(ValueError, match="without gaps or overlaps"):
        offloaded.step()
    assert torch.equal(memory, torch.ones(4, 8))


def test_a_parameter_that_moves_to_another_group(links):
    def made(state):
        own = [torch.nn.Parameter(torch.ones(4)) for _ in range(3)]
        optimizer = FusedEmaAdamW([dict(params=own[:2], lr=0.1), dict(params=own[2:], lr=0.2)], offload=state, weight_decay=0)
        for step in range(2):
            for parameter in own:
                parameter.grad = torch.ones(4)
            optimizer.step()
            if step == 0:
                optimizer.param_groups[1]["params"].append(optimizer.param_groups[0]["params"].pop())
        return own

    assert all(torch.equal(a, b) for a, b in zip(made("state"), made(None)))


def test_a_step_with_an_error_updates_nothing(links):
    own = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]
    optimizer = FusedEmaAdamW(own, offload="state")
    own[0].grad = torch.ones(4)
    own[1].data, own[1].grad = torch.ones(4), torch.ones(4)
    own[1].data = torch.ones(5)
    with pytest.raises(ValueError, match=r"a gradient has shape \[4\], but its parameter has \[5\]"):
        optimizer.step()
    assert torch.equal(own[0], torch.ones(4)) and all(int(optimizer.state[parameter]["step"]) == 0 for parameter in own)


@needs_newer_torch(2, 1)
def test_errors_at_the_end_of_a_block_count_what_was_updated(links):
    own = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]
    optimizer = FusedEmaAdamW(own, offload="state", weight_decay=0)
    handle = optimizer.register_step_pre_hook(lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        with optimizer.step_in_backward():
            own[0].sum().backward()
    handle.remove()
    assert own[0][0] < 1 and [int(optimizer.state[parameter]["step"]) for parameter in own] == [1, 0]
    before = own[0].detach().clone()
    own[0].grad = torch.ones(4)
    optimizer.step()
    assert not torch.equal(own[0], before) and int(optimizer.state[own[0]]["step"]) == 2


@needs_newer_torch(2, 1)
def test_a_warm_up_survives_a_block_without_gradients(links):
    parameter = torch.nn.Parameter(torch.ones(4))
    optimizer = FusedEmaAdamW([parameter], offload="state")
    with pytest.raises(ZeroDivisionError):
        with optimizer.step_in_backward():
            1 / 0
    optimizer.load_state_dict(optimizer.state_dict())
    parameter.grad = torch.ones(4)
    optimizer.step()
    assert optimizer.param_groups[0]["ema_updates"] == 1


@needs_newer_torch(2, 1)
def test_a_backward_pass_that_fails_leaves_whole_parameters(links):
    ours = large_model()
    optimizer = FusedEmaAdamW(ours.parameters(), offload="state", **OPTIONS)
    train(ours, optimizer, 1)
    before = [parameter.detach().clone() for parameter in ours.parameters()]
    ours[3].weight.register_hook(lambda grad: 1 / 0)
    optimizer.zero_grad()
    with pytest.raises(ZeroDivisionError):
        with optimizer.step_in_backward():
            ours(torch.ones(2, 6)).sum().backward()
    changed = [not torch.equal(a, b) for a, b in zip(before, ours.parameters())]
    assert any(changed) and not all(changed)
    assert [int(optimizer.state[parameter]["step"]) for parameter in ours.parameters()] == [1 + is_new for is_new in changed]


@needs_newer_torch(2, 1)
def test_misuse_has_a_sentence(monkeypatch):
    network = model()
    plain, optimizer = FusedEmaAdamW(network.parameters()), FusedEmaAdamW(network.parameters(), offload="state")
    with pytest.raises(RuntimeError, match="needs offload="):
        with plain.step_in_backward():
            pass
    single = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(RuntimeError, match="a parameter got a second gradient"):
        with FusedEmaAdamW([single], offload="state").step_in_backward():
            single.sum().backward()
            single.sum().backward()
    with pytest.raises(RuntimeError, match=r"step\(\) inside step_in_backward"):
        with optimizer.step_in_backward():
            optimizer.step()
    for use in (optimizer.state_dict, optimizer.store, lambda: copy.deepcopy(optimizer), lambda: optimizer.load_state_dict({})):
        with pytest.raises(RuntimeError, match="has updated only some parameters"):
            with optimizer.step_in_backward():
                use()
    removed = single.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", None))
    with pytest.raises(RuntimeError, match="another hook removed a gradient"):
        with FusedEmaAdamW([single], offload="state").step_in_backward():
            single.sum().backward()
    removed.remove()
    with monkeypatch.context() as distributed:
        distributed.setattr(offload.versions, "processes", lambda: 2)
        with pytest.raises(RuntimeError, match="in a group of 2 processes: a gradient comes before"):
            with optimizer.step_in_backward():
                pass
    with pytest.raises(RuntimeError, match="inside swap_ema"):
        with optimizer.swap_ema(), optimizer.step_in_backward():
            pass
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # by autograd: the weight is needed after its gradient
        weight = torch.nn.Parameter(torch.ones(3))
        with FusedEmaAdamW([weight], offload="state").step_in_backward():
            values = torch.ones(3, requires_grad=True)
            ((values * weight.detach()).exp() * weight).sum().backward()


class FakeDriver:
    """The part of CUDA's runtime that pins memory. Calls as torch.cuda, torch.cuda.device and cudart do."""

    def __init__(self, code):
        self.code, self.pinned = code, {}

    def cudart(self):
        return self

    def cudaHostRegister(self, address, count, flags):
        self.pinned[address] = count
        return self.code

    def cudaHostUnregister(self, address):
        del self.pinned[address]


def test_pinned_memory_has_the_requested_size_and_ends_with_its_last_tensor(monkeypatch):
    driver = FakeDriver(0)
    monkeypatch.setattr(torch.cuda, "cudart", driver.cudart)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    rows = host_memory.pinned(3, 100_003, torch.float32, "cuda:0")
    assert rows.shape == (3, 100_003) and not rows.any() and list(driver.pinned.items()) == [(rows.data_ptr(), 1_200_036)]
    part = rows[1, 5:7]
    del rows
    assert driver.pinned
    del part
    assert not driver.pinned
    assert host_memory.pinned(3, 0, torch.bfloat16, "cuda:0").numel() == 0 and not driver.pinned
    driver.code = 2
    with pytest.raises(RuntimeError, match=r"^1024 bytes of the host's memory cannot be pinned .* \(CUDA error 2\); free memory"):
        host_memory.pinned(1, 256, torch.float32, "cuda:0")


def test_options_are_checked():
    parameter = torch.nn.Parameter(torch.ones(4, 4))
    for options, message in ((dict(offload="disk"), "it must be None"), (dict(offload="state", capturable=True, ema_warmup=False), "exclude")):
        with pytest.raises(ValueError, match=message):
            FusedEmaAdamW([parameter], **options)
    gaps = torch.nn.Parameter(torch.ones(4, 4)[:, :2])
    with pytest.raises(ValueError, match="without gaps"):
        FusedEmaAdamW([gaps], offload="average")
