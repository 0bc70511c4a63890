# Trains as torchtitan does: options of AdamW by implementation, accumulated and clipped gradients, flat distributed checkpoints.
import pytest

from conftest import needs_newer_torch, needs_torch, torch
from training import equal, model

if torch is not None:
    from openaclnn.torch import FusedEmaAdamW

pytestmark = [needs_torch, needs_newer_torch(2, 6), pytest.mark.slow]
IMPLEMENTATIONS = {"for-loop": dict(fused=False, foreach=False), "foreach": dict(fused=False, foreach=True),
                   "fused": dict(fused=True, foreach=False)}


def training(kind, implementation):
    """A container of one optimizer for each part of a model, as for pipeline stages."""
    parts = [model(), model()]
    optimizers = [kind(part.parameters(), lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, **IMPLEMENTATIONS[implementation])
                  for part in parts]
    schedulers = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 4)) for optimizer in optimizers]
    return parts, optimizers, schedulers


def train(parts, optimizers, schedulers, start=0, steps=6):
    for step in range(start, start + steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for part in parts:
            for micro in range(2):
                (part(torch.randn(8, 6, generator=torch.Generator().manual_seed(2 * step + micro))).square().sum() / 2).backward()
        torch.nn.utils.clip_grad_norm_([value for part in parts for value in part.parameters()], 0.5, foreach=True)
        for each in optimizers + schedulers:
            each.step()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_options_of_adamw(implementation):
    ours, theirs = training(FusedEmaAdamW, implementation), training(torch.optim.AdamW, "foreach")
    train(*ours)
    train(*theirs)
    for mine, copied in zip(ours[0], theirs[0]):
        equal(mine, copied, 1e-5)


def test_flat_checkpoints_continue():
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_optimizer_state_dict

    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    whole, first, second = (training(FusedEmaAdamW, "fused") for _ in range(3))
    train(*whole)
    train(*first, steps=3)
    for part, optimizer, scheduler, fresh, again, other in zip(*first, *second):
        fresh.load_state_dict(part.state_dict())
        set_optimizer_state_dict(fresh, again, get_optimizer_state_dict(part, optimizer, options=flat), options=flat)
        other.load_state_dict(scheduler.state_dict())
        assert again.param_groups[0]["ema_updates"] == 3
    train(*second, start=3, steps=3)
    for mine, copied, one, other in zip(whole[0], second[0], whole[1], second[1]):
        equal(mine, copied)
        for parameter, same in zip(mine.parameters(), copied.parameters()):
            assert torch.equal(one.state[parameter]["ema_params"], other.state[same]["ema_params"])
