# The gradient of weighted-pool token compression in Triton, as one would write it without this library: the peer of NsaCompressGrad.
"""usage: TRITON_INTERPRET=1 triton_pool.py     compares the kernels with autograd, on a machine without a GPU

Layout TND, one sequence: output_grad [windows, heads, dim], input [tokens, heads, dim], weight [block, heads]; window p covers the
tokens from p * stride to p * stride + block. dim is a power of two, and stride divides block, as in native sparse attention. Two
kernels without atomic operations: one gathers the gradient of the input, one leaves a partial sum of the gradient of the weight for
every window, which torch.sum adds up.
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def input_grad_kernel(output_grad, weight, input_grad, tokens, heads, windows, block: tl.constexpr, stride: tl.constexpr,
                      dim: tl.constexpr):
    """A program owns `stride` tokens of one head, which `block / stride` windows cover."""
    tile, head = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, dim)
    row = tl.arange(0, stride)
    total = tl.zeros((stride, dim), dtype=tl.float32)
    for back in range(block // stride):
        window = tile - back
        columns = tl.where((window >= 0) & (window < windows), dim, 0)
        grad = tl.load(output_grad + (window * heads + head) * dim + column, mask=column < columns, other=0.0)
        tap = tl.load(weight + (back * stride + row) * heads + head)
        total += tap.to(tl.float32)[:, None] * grad.to(tl.float32)[None, :]
    token = tile * stride + row
    tl.store(input_grad + (token[:, None] * heads + head) * dim + column[None, :], total, mask=token[:, None] < tokens)


@triton.jit
def weight_grad_kernel(output_grad, input, partial, heads, block: tl.constexpr, stride: tl.constexpr, dim: tl.constexpr):
    """A program owns one window of one head."""
    window, head = tl.program_id(0), tl.program_id(1)
    column, row = tl.arange(0, dim), tl.arange(0, block)
    grad = tl.load(output_grad + (window * heads + head) * dim + column).to(tl.float32)
    token = window * stride + row
    values = tl.load(input + (token[:, None] * heads + head) * dim + column[None, :]).to(tl.float32)
    tl.store(partial + (window * block + row) * heads + head, tl.sum(values * grad[None, :], axis=1))


def compress_grad(output_grad, input, weight, stride):
    """The gradients of input and weight."""
    tokens, heads, dim = input.shape
    windows, block = output_grad.shape[0], weight.shape[0]
    input_grad = torch.empty_like(input)
    partial = torch.empty(windows, block, heads, dtype=torch.float32, device=input.device)
    input_grad_kernel[(triton.cdiv(tokens, stride), heads)](output_grad, weight, input_grad, tokens, heads, windows, block, stride, dim)
    weight_grad_kernel[(windows, heads)](output_grad, input, partial, heads, block, stride, dim)
    return input_grad, partial.sum(0).to(weight.dtype)


def compress(input, weight, stride):
    """The forward in PyTorch: a view of all windows and a contraction."""
    return torch.einsum("pndl,ln->pnd", input.unfold(0, weight.shape[0], stride), weight)


def main():
    for tokens, heads, dim, block, stride in ((100, 3, 16, 32, 16), (129, 2, 32, 64, 16), (64, 1, 16, 16, 16)):
        torch.manual_seed(tokens)
        input = torch.randn(tokens, heads, dim, requires_grad=True)
        weight = torch.randn(block, heads, requires_grad=True)
        output = compress(input, weight, stride)
        output_grad = torch.randn(output.shape)
        wanted = torch.autograd.grad(output, (input, weight), output_grad)
        got = compress_grad(output_grad, input.detach(), weight.detach(), stride)
        for name, mine, theirs in zip(("input", "weight"), got, wanted):
            worst = (mine - theirs).abs().max().item()
            print(f"{tokens} tokens, windows of {block} every {stride}: gradient of {name} differs by at most {worst:.1e}")
            if not worst < 1e-4 * theirs.abs().max().item():
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
