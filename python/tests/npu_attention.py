# Shared by the tests of attention: the formulas with whole matrices, written from the documentation, and tensors in all layouts.
"""Formulas take tensors [batch, heads, tokens, numbers]."""
import math

import pytest
import torch

MOST = 2147483647
COMPRESSED = torch.triu(torch.ones(2048, 2048), diagonal=1).bool()
WITH_PREFIX = torch.cat([COMPRESSED, torch.cat([torch.zeros(1024, 1024), torch.ones(1024, 1024)], 1).bool()])


@pytest.fixture(autouse=True)
def one_thread():
    """Tests have tiny tensors. On a busy machine each parallel loop would wait for a second core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def hidden(mode, rows, columns, before=MOST, after=MOST, prefix=0):
    """Returns which keys a mode hides, [rows, columns], by the rule of each element."""
    def hides(i, j):
        corner = i + columns - rows
        return {0: j - i > after or i - j > before, 1: False, 2: j > i, 3: j > corner,
                4: j - corner > after or corner - j > before, 6: j > corner and j >= prefix}[mode]

    return torch.tensor([[hides(i, j) for j in range(columns)] for i in range(rows)], dtype=torch.bool).reshape(rows, columns)


def dense(query, key, value, hides=None, scale=1.0, inside=None, outside=None, sink=None, factors=None):
    """Returns output, maxima and sums. `inside` is added before the scale, `outside` after it; queries without keys give 0."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3)
    scores = scale * (scores if inside is None else scores + inside)
    scores = scores if outside is None else scores + outside
    if hides is not None:
        scores = scores.masked_fill(hides, -math.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], 3)
    empty = (scores == -math.inf).all(3, keepdim=True)
    scores = torch.where(empty, torch.zeros_like(scores), scores)
    weights = torch.where(empty, torch.zeros_like(scores), torch.softmax(scores, 3))[..., :key.shape[2]]
    top = scores.amax(3)
    sums = (scores - top.unsqueeze(3)).exp().sum(3)
    empty = empty.squeeze(3)
    top = torch.where(empty, torch.full_like(top, torch.finfo(top.dtype).min), top)
    return (weights if factors is None else weights * factors) @ value, top, torch.where(empty, torch.ones_like(sums), sums)


def random_tensors(batches=2, heads=4, kv_heads=2, rows=13, columns=19, numbers=8, of_value=8, dtype=torch.float64):
    """Returns query, key, value and a gradient of the output."""
    shapes = [(heads, rows, numbers), (kv_heads, columns, numbers), (kv_heads, columns, of_value), (heads, rows, of_value)]
    return [torch.randn(batches, *shape, dtype=torch.float64).to(dtype) for shape in shapes]


def laid_out(tensor, layout):
    """Returns a tensor [B, N, S, D] in a layout of the function."""
    if layout == "TND":
        return tensor[0].transpose(0, 1)
    order = {"BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3), "BSND": (0, 2, 1, 3), "BNSD": (0, 1, 2, 3)}[layout]
    tensor = tensor.permute(order)
    return tensor.flatten(2) if layout in ("BSH", "SBH") else tensor


def gradients(function, tensors, grad):
    """Returns the results of a function, and the gradients of its first result for the tensors."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    results = function(*leaves)
    return results, torch.autograd.grad(results[0], leaves, grad)


def assert_equal(got, want, tolerance=1e-10, what=""):
    got, want = got.detach(), want.detach()
    assert got.shape == want.shape and got.dtype == want.dtype, (what, got.shape, want.shape, got.dtype, want.dtype)
    difference = float((got.double() - want.double()).abs().max()) if got.numel() else 0.0
    assert difference <= tolerance * max(1.0, float(want.double().abs().clamp(max=1e30).max() if want.numel() else 0)), (what, difference)


def merged(one, other):
    """Returns output, maxima and sums of all keys from those of two parts."""
    top = torch.maximum(one[1], other[1])
    shares = [part[2] * (part[1] - top).exp() for part in (one, other)]
    total = shares[0] + shares[1]
    out = (one[0] * shares[0][..., :1] + other[0] * shares[1][..., :1]) / total[..., :1]
    return out, top, total
