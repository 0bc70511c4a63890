# Trains with accelerate: mixed precision, clipped gradients, saved and loaded state.
import pytest

from conftest import needs_torch, optional, torch
from training import equal, model

pytestmark = [needs_torch, pytest.mark.slow]
accelerate = optional("accelerate")
if torch is None or accelerate is None:
    pytest.skip("accelerate is not installed (pip install accelerate)", allow_module_level=True)

from openaclnn.torch import FusedEmaAdamW  # noqa: E402


def prepared(make_optimizer, precision="bf16"):
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=2)
    network = model()
    optimizer = make_optimizer(network.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    return accelerator, *accelerator.prepare(network, optimizer, scheduler)


def train(accelerator, network, optimizer, scheduler, start=0, steps=8):
    for step in range(start, start + steps):
        with accelerator.accumulate(network):
            values = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))
            accelerator.backward(network(values).float().square().sum())
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return network


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_clipped_and_accumulated_gradients(precision):
    ours = prepared(lambda values: FusedEmaAdamW(values, lr=0.01), precision)
    theirs = prepared(lambda values: torch.optim.AdamW(values, lr=0.01), precision)
    equal(train(*ours), train(*theirs), 1e-5)
    assert ours[2].optimizer.param_groups[0]["ema_updates"] == 4


def test_a_gradient_scaler():
    """On CPUs accelerate makes no scaler for 16 bits; its optimizer's class takes one."""
    networks = model(), model()
    optimizer = FusedEmaAdamW(networks[0].parameters(), lr=0.01)
    other = torch.optim.AdamW(networks[1].parameters(), lr=0.01)
    scalers = [torch.amp.GradScaler("cpu", init_scale=256.0) for _ in networks]
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.Accelerator(cpu=True)
    wrapped = [accelerate.optimizer.AcceleratedOptimizer(one, scaler=scaler) for one, scaler in zip((optimizer, other), scalers)]
    for step in range(4):
        for network, one, scaler in zip(networks, wrapped, scalers):
            values = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))
            scaler.scale(network(values).square().sum()).backward()
            scaler.unscale_(one.optimizer)
            torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            if step == 2:
                network[0].weight.grad[0, 0] = float("inf")
                scaler._per_optimizer_states.clear()  # unscales again, which finds it
            one.step()
            one.zero_grad()
    assert all(one.step_was_skipped is False for one in wrapped)
    assert optimizer.param_groups[0]["ema_updates"] == 3
    equal(*networks, 1e-5)


def test_saved_state_continues(tmp_path):
    def make(values):
        return FusedEmaAdamW(values, lr=0.01, ema_decay=0.9)

    whole = prepared(make)
    train(*whole)
    first = prepared(make)
    train(*first, steps=4)
    first[0].save_state(str(tmp_path / "half"))
    second = prepared(make)
    second[0].load_state(str(tmp_path / "half"))
    train(*second, start=4, steps=4)
    equal(whole[1], second[1])
    for one, other in zip(*(each[2].optimizer.state.values() for each in (whole, second))):
        assert torch.equal(one["ema_params"], other["ema_params"])
