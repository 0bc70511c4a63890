# Tests the optimizers: the formula, conventions of torch.optim, mixed precision, averages.
import copy
import pickle
import warnings

import pytest

from conftest import needs_newer_torch, needs_torch, torch, torch_version
from training import equal, model, train

if torch is not None:
    from openaclnn.torch import FusedEmaAdam, FusedEmaAdamW, optim, options

pytestmark = needs_torch


@pytest.mark.parametrize("foreach", [None, False])
def test_the_trajectory_of_adamw(foreach):
    ours, theirs = model(), model()
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, weight_decay=0.1, foreach=foreach)
    train(ours, optimizer, 20)
    train(theirs, torch.optim.AdamW(theirs.parameters(), lr=0.01, weight_decay=0.1), 20)
    equal(ours, theirs, 1e-5)


@pytest.mark.parametrize("foreach", [None, False])
def test_errors_of_a_step_name_the_step(foreach):
    ours = model()
    optimizer = FusedEmaAdamW(ours.parameters(), foreach=foreach)
    train(ours, optimizer, 1)
    first = next(ours.parameters())
    optimizer.state[first]["exp_avg"] = torch.zeros(7)
    before = first.detach().clone()
    with pytest.raises(RuntimeError, match=r"^FusedEmaAdamW\.step: .*shape"):
        train(ours, optimizer, 1)
    assert torch.equal(first, before)


def test_the_trajectory_of_adam_with_l2_and_maximize():
    ours, theirs = model(), model()
    train(ours, FusedEmaAdam(ours.parameters(), lr=0.001, weight_decay=0.1, maximize=True))
    train(theirs, torch.optim.Adam(theirs.parameters(), lr=0.001, weight_decay=0.1, maximize=True))
    equal(ours, theirs, 1e-4)


def test_the_average_is_that_of_averaged_model():
    ours, theirs = model(), model()
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, ema_decay=0.9, ema_warmup=False)
    other = torch.optim.AdamW(theirs.parameters(), lr=0.01)
    averages = [parameter.detach().clone() for parameter in theirs.parameters()]

    def update():
        for average, parameter in zip(averages, theirs.parameters()):
            average.lerp_(parameter.detach(), 0.1)

    train(ours, optimizer, 10)
    generator = torch.Generator().manual_seed(5)
    for _ in range(10):
        other.zero_grad()
        theirs(torch.randn(16, 6, generator=generator)).square().sum().backward()
        other.step()
        update()
    for average, parameter in zip(averages, ours.parameters()):
        assert torch.allclose(optimizer.state[parameter]["ema_params"], average, atol=1e-5)


def test_one_update_of_the_warm_up():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = FusedEmaAdamW([parameter], lr=0.5, weight_decay=0, ema_decay=0.9999)
    parameter.grad = torch.ones(3)
    optimizer.step()
    decay = (1 + 1) / (10 + 1)
    assert torch.allclose(optimizer.state[parameter]["ema_params"], decay + (1 - decay) * parameter.detach())


def test_groups_schedulers_and_closures():
    ours, theirs = model(), model()

    def groups(network):
        weights = [p for p in network.parameters() if p.dim() > 1]
        others = [p for p in network.parameters() if p.dim() == 1]
        return [dict(params=weights, weight_decay=0.1), dict(params=others, weight_decay=0, lr=0.003)]

    first, second = FusedEmaAdamW(groups(ours), lr=0.01), torch.optim.AdamW(groups(theirs), lr=0.01)
    train(ours, first, 6, scheduler=torch.optim.lr_scheduler.StepLR(first, 2, 0.5))
    train(theirs, second, 6, scheduler=torch.optim.lr_scheduler.StepLR(second, 2, 0.5))
    equal(ours, theirs, 1e-5)
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = FusedEmaAdamW([parameter])

    def closure():
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0 and parameter[0].item() < 1


def test_parameters_that_join_later_count_for_themselves():
    first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = FusedEmaAdamW([first, second], lr=0.1, weight_decay=0)
    for step in range(3):
        first.grad = torch.ones(3)
        second.grad = torch.ones(3) if step == 2 else None
        optimizer.step()
    assert int(optimizer.state[first]["step"]) == 3 and int(optimizer.state[second]["step"]) == 1
    assert torch.allclose(second.detach(), torch.full((3,), 0.9), atol=1e-5)


@pytest.mark.parametrize("single", [0, 1, 2, 3, 6])
def test_capturable_parameters_that_join_later_count_for_themselves(single):
    """Counters are not read, even if some steps are skipped and parameters come and go. The first `single` steps make one
    call for each parameter."""
    def parameters():
        return [torch.nn.Parameter(torch.ones(3)) for _ in range(4)]

    ours, theirs = parameters(), parameters()
    optimizer = FusedEmaAdamW(ours, lr=0.1, weight_decay=0.1, capturable=True, ema_warmup=False)
    other = torch.optim.AdamW(theirs, lr=0.1, weight_decay=0.1)
    generator = torch.Generator().manual_seed(1)
    for step, present in enumerate(["13", "0", "013", "0123", "12", "0123"]):
        for n, (parameter, copied) in enumerate(zip(ours, theirs)):
            grad = torch.randn(3, generator=generator)
            parameter.grad, copied.grad = (grad, grad.clone()) if str(n) in present else (None, None)
        optimizer.param_groups[0]["foreach"] = False if step < single else None
        optimizer.found_inf = torch.tensor([float(step == 1)])
        optimizer.step()
        if step != 1:
            other.step()
        if step == 3:  # counters from a checkpoint
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert [int(optimizer.state[parameter]["step"]) for parameter in ours] == [3, 5, 3, 4]
    for parameter, copied in zip(ours, theirs):
        assert torch.allclose(parameter, copied, atol=1e-5)


@pytest.mark.parametrize("options", [{}, dict(foreach=False), dict(capturable=True, ema_warmup=False)])
def test_a_refused_step_counts_nothing(options):
    first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Embedding(4, 2, sparse=True)
    optimizer = FusedEmaAdamW([dict(params=[first]), dict(params=second.parameters())], lr=0.1, **options)
    first.grad = torch.ones(3)
    optimizer.step()
    second(torch.tensor([1])).sum().backward()
    before = first.detach().clone()
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()
    assert torch.equal(first, before)
    second.weight.grad = None
    first.grad = torch.ones(3, dtype=torch.complex64).conj().imag
    with pytest.raises(TypeError, match=r"the gradient of param_groups\[0\]\[\"params\"\]\[0\] is a negative"):
        optimizer.step()
    assert int(optimizer.state[first]["step"]) == 1
    assert [group["ema_updates"] for group in optimizer.param_groups] == [1, 1]


def test_every_group_of_a_step_counts():
    """Another process may have the gradients of a group."""
    first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = FusedEmaAdamW([dict(params=[first]), dict(params=[second])], lr=0.1)
    first.grad = torch.ones(3)
    optimizer.step()
    optimizer.found_inf = torch.ones(1)
    optimizer.step()
    assert [group["ema_updates"] for group in optimizer.param_groups] == [1, 1]


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_16_bit_parameters_have_float32_state_and_keep_it(name):
    network = model(getattr(torch, name)) if name == "bfloat16" else None
    if network is None:
        parameter = torch.nn.Parameter(torch.ones(5, dtype=torch.float16))
        parameter.grad = torch.full((5,), 0.25, dtype=torch.float16)
        optimizer = FusedEmaAdamW([parameter], lr=0.1)
        optimizer.step()
    else:
        optimizer = FusedEmaAdamW(network.parameters(), lr=0.01)
        train(network, optimizer)
        parameter = next(network.parameters())
    state = optimizer.state[parameter]
    assert state["ema_params"].dtype == torch.float32 and state["exp_avg"].dtype == torch.float32
    other = FusedEmaAdamW([torch.nn.Parameter(p.detach().clone()) for p in optimizer.param_groups[0]["params"]])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert torch.equal(other.state[other.param_groups[0]["params"][0]]["exp_avg_sq"], state["exp_avg_sq"])


@pytest.mark.parametrize("chosen", [lambda: "parameter", lambda: torch.bfloat16], ids=["parameter", "bfloat16"])
def test_frozen_averages_are_warned_of_once(monkeypatch, chosen):
    monkeypatch.setattr(options, "_is_warned_about_frozen_averages", False)
    parameter = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    with pytest.warns(UserWarning, match="doesn't change"):
        FusedEmaAdamW([parameter], state_dtype=chosen())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FusedEmaAdamW([parameter], state_dtype=chosen())


@pytest.mark.parametrize("options", [dict(fused=value, foreach=other) for value in (None, False, True) for other in (None, False)]
                         + [dict(foreach=True), dict(fused=False, foreach=True), dict(differentiable=False)])
def test_options_that_say_how_steps_run(options):
    """They change no result, and a checkpoint does not change them: it may come from an AdamW that is fused."""
    ours, theirs = model(), model()
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, **options)
    train(ours, optimizer, 2)
    train(theirs, FusedEmaAdamW(theirs.parameters(), lr=0.01), 2)
    equal(ours, theirs)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0].update(fused=True, foreach=False, differentiable=True)
    optimizer.load_state_dict(saved)
    assert {name: optimizer.param_groups[0][name] for name in options} == options


@pytest.mark.parametrize("options, is_internal", [({}, False), (dict(amp_scaling=True), True), (dict(amp_scaling=False), False),
                                                  (dict(capturable=True, ema_warmup=False), True),
                                                  (dict(capturable=True, ema_warmup=False, amp_scaling=False), False)])
def test_who_divides_scaled_gradients(options, is_internal):
    """GradScaler and trainers read the attribute; copies and pickles keep it."""
    for kind in (FusedEmaAdam, FusedEmaAdamW):
        optimizer = kind([torch.nn.Parameter(torch.ones(2))], **options)
        for each in (optimizer, copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            assert each._step_supports_amp_scaling is is_internal


@needs_newer_torch(2, 3)
@pytest.mark.parametrize("amp_scaling", [None, False, True])
@pytest.mark.parametrize("clips", [False, True])
def test_gradient_scaler(amp_scaling, clips):
    ours, theirs = model(), model()
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, amp_scaling=amp_scaling)
    other = torch.optim.AdamW(theirs.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(6):
        values = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        other.zero_grad()
        scaler.scale(ours(values).square().sum()).backward()
        theirs(values).square().sum().backward()
        if step == 3:
            next(ours.parameters()).grad[0, 0] = float("inf")
        if clips:
            scaler.unscale_(optimizer)
            for network in (ours, theirs):
                torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        if step != 3:
            other.step()
        scaler.step(optimizer)
        scaler.update()
    equal(ours, theirs, 1e-5)
    assert optimizer.param_groups[0]["ema_updates"] == 5
    assert int(optimizer.state[next(ours.parameters())]["step"]) == 5


def test_capturable_counts_in_tensors():
    ours, theirs = model(), model()
    optimizer = FusedEmaAdamW(ours.parameters(), lr=0.01, capturable=True, ema_warmup=False)
    train(ours, optimizer, 3)
    optimizer.found_inf = torch.ones(1)
    train(ours, optimizer, 1)  # skipped and reverted
    optimizer.found_inf = torch.zeros(1)
    train(ours, optimizer, 3, seed=6)
    other = torch.optim.AdamW(theirs.parameters(), lr=0.01)
    train(theirs, other, 3)
    train(theirs, other, 3, seed=6)
    equal(ours, theirs, 1e-5)
    step = optimizer.state[next(ours.parameters())]["step"]
    assert step.dtype == torch.int64 and step.item() == 6


@pytest.mark.parametrize("single", [False, True], ids=["one call", "many calls"])
def test_capturable_steps_read_no_tensor(monkeypatch, single):
    """Neither counters nor found_inf, also after a load, of parameters that joined at different times."""
    network = model()
    first, *others = network.parameters()
    options = dict(lr=0.01, capturable=True, ema_warmup=False, foreach=not single)
    optimizer = FusedEmaAdamW(network.parameters(), **options)
    calls = []
    native = optim.calls._native.apply_fused_ema_adam_

    def counted(*given, found_inf, **more):
        if not isinstance(found_inf, float):  # which a check of a later call passes
            calls.append(1)
        native(*given, found_inf=found_inf, **more)

    monkeypatch.setattr(optim.calls, "_native", type("Counted", (), {"apply_fused_ema_adam_": staticmethod(counted)}))

    def step():
        for parameter in others if optimizer.param_groups[0]["ema_updates"] == 0 else network.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.found_inf = torch.zeros(1)
        with monkeypatch.context() as patch:
            for name in ("item", "tolist", "numpy", "__int__", "__float__", "__bool__", "__index__", "__array__"):
                patch.setattr(torch.Tensor, name, lambda *_: pytest.fail("Python reads a tensor"))
            optimizer.step()

    for _ in range(3):
        step()
    assert len(calls) == (5 + 6 + 6 if single else 1 + 2 + 2)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step()
    assert [int(optimizer.state[parameter]["step"]) for parameter in network.parameters()] == [3] + 5 * [4]
    assert len(calls) == (5 + 6 + 6 + 6 if single else 1 + 2 + 2 + 2)


@pytest.mark.parametrize("options, error, text", [
    (dict(amsgrad=True), ValueError, "amsgrad"), (dict(lr=-1), ValueError, "lr is -1"),
    (dict(betas=(0.9, 1.5)), ValueError, r"betas\[1\]"), (dict(betas=(1.0, 0.9)), ValueError, r"betas\[0\] is 1.0"),
    (dict(betas=(0.9, 1.0)), ValueError, r"betas\[1\] is 1.0"), (dict(ema_decay=2), ValueError, "ema_decay"),
    (dict(capturable=True), ValueError, "ema_warmup=False"),
    (dict(differentiable=True), ValueError, "not differentiable: it writes parameters and state in place"),
    (dict(fused=True, foreach=True), ValueError, "fused=True and foreach=True exclude each other")])
def test_refused_options(options, error, text):
    with pytest.raises(error, match=text):
        FusedEmaAdamW([torch.nn.Parameter(torch.ones(2))], **options)


@pytest.mark.parametrize("options, error, text", [
    (dict(lr=-1), ValueError, "lr is -1"), (dict(ema_decay=7), ValueError, "ema_decay is 7"),
    (dict(betas=(0.9, 0.99, 0.9)), ValueError, "two numbers"), (dict(state_dtype="fp32"), ValueError, "state_dtype is 'fp32'"),
    (dict(state_dtype="float64"), ValueError, "state_dtype is torch.float64"),
    (dict(state_dtype="bfloat16"), TypeError, "a parameter is torch.float32"), (dict(amsgrad=True), ValueError, "amsgrad")])
def test_a_refused_group_is_not_added(options, error, text):
    if options.get("state_dtype") in ("float64", "bfloat16"):
        options = dict(state_dtype=getattr(torch, options["state_dtype"]))
    optimizer = FusedEmaAdamW([torch.nn.Parameter(torch.ones(2))])
    with pytest.raises(error, match=text):
        optimizer.add_param_group(dict(params=[torch.nn.Parameter(torch.ones(2))], **options))
    with pytest.raises(TypeError, match="float64"):
        optimizer.add_param_group(dict(params=[torch.nn.Parameter(torch.ones(2, dtype=torch.float64))]))
    assert len(optimizer.param_groups) == 1
    with pytest.raises(error, match=text):
        FusedEmaAdamW([dict(params=[torch.nn.Parameter(torch.ones(2))], **options)])


def test_state_in_the_16_bits_of_the_parameters():
    parameter = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = FusedEmaAdamW([parameter], ema_decay=0.9, state_dtype=torch.bfloat16)
    parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert optimizer.state[parameter]["ema_params"].dtype == torch.bfloat16


def test_refused_parameters_and_gradients():
    with pytest.raises(TypeError, match="float64"):
        FusedEmaAdamW([torch.nn.Parameter(torch.ones(2, dtype=torch.float64))])
    embedding = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = FusedEmaAdamW(embedding.parameters())
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()


def test_strided_parameters_and_tied_groups():
    base = torch.zeros(4, 6)
    parameter = torch.nn.Parameter(base.t()[1:4])
    parameter.grad = torch.ones(3, 4)
    FusedEmaAdamW([parameter], lr=0.1, weight_decay=0).step()
    assert torch.allclose(base[:, 1:4], torch.full((4, 3), -0.1), atol=1e-6) and base[:, 0].eq(0).all()


def test_profilers_hooks_and_copies_know_the_class():
    optimizer = FusedEmaAdamW([torch.nn.Parameter(torch.ones(2))])
    again = copy.deepcopy(optimizer)
    assert isinstance(again, torch.optim.Optimizer) and "ema_decay: 0.9999" in repr(again)
    if torch_version() >= (2, 0):
        seen = []
        again.register_step_post_hook(lambda *arguments: seen.append(1))
        again.step()
        assert seen == [1]
