# A small model and its training loop, for the tests of optimizers.
from conftest import torch


def model(dtype=None):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)).to(dtype)


def train(network, optimizer, steps=6, seed=5, before_step=None, scheduler=None):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        values = torch.randn(16, 6, generator=generator).to(next(network.parameters()).dtype)
        optimizer.zero_grad()
        network(values).square().sum().backward()
        if before_step is not None:
            before_step()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return network


def equal(a, b, tolerance=0.0):
    for x, y in zip(a.parameters(), b.parameters()):
        assert torch.allclose(x.float(), y.float(), rtol=tolerance, atol=tolerance), (x - y).abs().max()
