# The migration from AdamW and AveragedModel to FusedEmaAdamW: before, after, the same loss.
"""usage: adamw_to_fused_ema.py [--steps N] [--width N]

Trains a small network in three ways, from the same start on the same data: with FusedEmaAdamW, with AdamW and AveragedModel in the usual form, and
with the fastest form of these (a fused step and a foreach average). The losses agree up to rounding. It prints the time of optimizer and average for
each way, measured once. python/bench/optimizer.py compares steps in alternation.
"""
import argparse
import time

import torch

from openaclnn.torch import FusedEmaAdamW

DECAY = 0.99


def network(width):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(32, width), torch.nn.GELU(), torch.nn.Linear(width, width), torch.nn.GELU(),
                               torch.nn.Linear(width, 1))


def batch(step):
    generator = torch.Generator().manual_seed(step)
    values = torch.randn(64, 32, generator=generator)
    return values, values[:, :4].prod(1, keepdim=True).tanh()


def loss_of(model, step):
    values, target = batch(step)
    return torch.nn.functional.mse_loss(model(values), target)


def average_of(average, parameter, count):
    return DECAY * average + (1 - DECAY) * parameter


def before(width, steps, average=None, **options):
    """Returns losses of the model and of its average, and the seconds of AdamW and AveragedModel."""
    model = network(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01, **options)
    averaged = torch.optim.swa_utils.AveragedModel(model, **(average or {"avg_fn": average_of}))
    # The average starts as a copy of the parameters.
    averaged.update_parameters(model)
    seconds = 0.0
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        start = time.perf_counter()
        optimizer.step()
        averaged.update_parameters(model)
        seconds += time.perf_counter() - start
    with torch.no_grad():
        return loss_of(model, steps).item(), loss_of(averaged, steps).item(), seconds


def fastest_before(width, steps):
    """As before(), with the fused step and the foreach average. None if this version of PyTorch lacks them on CPUs."""
    if not hasattr(torch.optim.swa_utils, "get_ema_multi_avg_fn"):
        return None
    try:
        return before(width, steps, {"multi_avg_fn": torch.optim.swa_utils.get_ema_multi_avg_fn(DECAY)}, fused=True)
    except RuntimeError as error:
        if "fused" not in str(error):
            raise
        return None


def after(width, steps):
    """As before(), for FusedEmaAdamW."""
    model = network(width)
    optimizer = FusedEmaAdamW(model.parameters(), lr=3e-4, weight_decay=0.01, ema_decay=DECAY, ema_warmup=False)
    seconds = 0.0
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        start = time.perf_counter()
        optimizer.step()
        seconds += time.perf_counter() - start
    with torch.no_grad():
        loss = loss_of(model, steps).item()
        with optimizer.swap_ema():
            return loss, loss_of(model, steps).item(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--width", type=int, default=1024)
    options = parser.parse_args()
    ours = after(options.width, options.steps)
    rivals = {"fused AdamW, foreach average": fastest_before(options.width, options.steps),
              "AdamW, AveragedModel": before(options.width, options.steps)}
    if rivals["fused AdamW, foreach average"] is None:
        print(f"PyTorch {torch.__version__} has no fused AdamW with a foreach average on CPUs, the fastest rival of FusedEmaAdamW")
    rivals = {name: result for name, result in rivals.items() if result is not None}
    for name, (loss, average_loss, seconds) in {"FusedEmaAdamW": ours, **rivals}.items():
        print(f"{name:28}  loss {loss:.5f}, of the average {average_loss:.5f}, optimizer {seconds / options.steps * 1e3:.2f} ms a step")
        assert abs(loss - ours[0]) < 1e-3 and abs(average_loss - ours[1]) < 1e-3, f"{name} disagrees with FusedEmaAdamW"
    for name, (_, _, seconds) in rivals.items():
        print(f"{name:28}  takes {seconds / ours[2]:.2f} times as long as FusedEmaAdamW")


if __name__ == "__main__":
    main()
