# Biases of a mixture of experts: rows sorted by expert, one module for all experts, its gradient against autograd's own.
"""usage: expert_bias.py

Trains routing biases of eight experts for some steps and compares the gradient with that of indexing bias[expert].
"""
import torch

from openaclnn.torch import FusedEmaAdamW, GroupedBiasAdd

EXPERTS, FEATURES, ROWS = 8, 64, 512


def sorted_by_expert(values, expert):
    """Returns rows in the order of their experts, and the row after the last of each expert."""
    order = torch.argsort(expert, stable=True)
    return values[order], torch.bincount(expert, minlength=EXPERTS).cumsum(0), expert[order]


def main():
    torch.manual_seed(0)
    module = GroupedBiasAdd(EXPERTS, FEATURES)
    wanted = torch.randn(EXPERTS, FEATURES)
    optimizer = FusedEmaAdamW(module.parameters(), lr=0.1, weight_decay=0, ema_decay=0.9)
    for step in range(60):
        rows, ends, expert = sorted_by_expert(torch.randn(ROWS, FEATURES), torch.randint(0, EXPERTS, (ROWS,)))
        loss = (module(rows, ends) - (rows + wanted[expert])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3}: loss {loss.item():.5f}")
    bias = module.bias.detach().clone().requires_grad_()
    (rows + bias[expert] - (rows + wanted[expert])).square().mean().backward()
    module.zero_grad()
    (module(rows, ends) - (rows + wanted[expert])).square().mean().backward()
    assert torch.allclose(module.bias.grad, bias.grad, atol=1e-6), "the gradients disagree"
    print(f"step  60: loss {loss.item():.5f}; the gradient agrees with autograd's own to "
          f"{(module.bias.grad - bias.grad).abs().max():.1e}")
    assert loss.item() < 0.1


if __name__ == "__main__":
    main()
