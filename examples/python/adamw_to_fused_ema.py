# Moving from AdamW with AveragedModel to FusedEmaAdamW: before and after, the same loss, less time.
"""usage: adamw_to_fused_ema.py [--steps N] [--width N]

Trains a small network twice, from the same start on the same data. The losses agree to rounding, and so do those of the
averages; the time of the optimizer and the average is printed for both.
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


def before(width, steps):
    model = network(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    averaged = torch.optim.swa_utils.AveragedModel(
        model, avg_fn=lambda average, parameter, count: DECAY * average + (1 - DECAY) * parameter)
    averaged.update_parameters(model)  # it begins as a copy
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


def after(width, steps):
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
    results = {"AdamW + AveragedModel": before(options.width, options.steps),
               "FusedEmaAdamW": after(options.width, options.steps)}
    for name, (loss, average_loss, seconds) in results.items():
        print(f"{name:22} loss {loss:.5f}, of the average {average_loss:.5f}, optimizer {seconds / options.steps * 1e3:.2f} ms a step")
    (loss, average_loss, slow), (other, other_average, fast) = results.values()
    assert abs(loss - other) < 1e-3 and abs(average_loss - other_average) < 1e-3, "the two ways disagree"
    print(f"the same loss, the optimizer {slow / fast:.1f} times as fast")


if __name__ == "__main__":
    main()
