# Tests the permutation of tokens by a map of tokens and experts, and its inverse, against loops.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import moe_routing_map as moe  # noqa: E402

T, K, H, E = 6, 2, 4, 3
permute, unpermute = moe.npu_moe_token_permute_with_routing_map, moe.npu_moe_token_unpermute_with_routing_map


def routing_map(uneven=False):
    generator = torch.Generator().manual_seed(5)
    chosen = torch.zeros(T, E, dtype=torch.bool)
    for token in range(T):
        chosen[token, torch.randperm(E, generator=generator)[:K - (uneven and token == 2)]] = True
    return chosen


def pairs(chosen, capacity=None):
    """(token, expert) of each row: all chosen pairs, or for each expert as many tokens, the chosen ones first."""
    if capacity is None:
        return [(token, expert) for expert in range(E) for token in range(T) if chosen[token, expert]]
    return [(token, expert) for expert in range(E) for token in sorted(range(T), key=lambda t: not chosen[t, expert])[:capacity]]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("with_probs", [False, True])
@pytest.mark.parametrize("map_dtype", ["bool", "int8"])
def test_permute(dtype, with_probs, map_dtype):
    tokens, probs = random(T, H, dtype=getattr(torch, dtype)), random(T, E) if with_probs else None
    rows = pairs(routing_map())
    got, chosen, order = permute(tokens, routing_map().to(getattr(torch, map_dtype)), probs=probs, num_out_tokens=T * K)
    ids = [token for token, _ in rows]
    assert torch.equal(got, tokens[ids]) and order.dtype == torch.int32
    assert order.tolist() == sorted(range(len(ids)), key=lambda row: ids[row])
    assert chosen is None if not with_probs else torch.equal(chosen, torch.stack([probs[pair] for pair in rows]))


def test_permute_returns_a_row_per_token_by_default():
    tokens = random(T, H)
    got, _, order = permute(tokens, routing_map())
    assert torch.equal(got, tokens[[token for token, _ in pairs(routing_map())[:T]]]) and order.shape == (T,)


def test_permute_cuts_rows():
    tokens = random(T, H)
    got, _, order = permute(tokens, routing_map(), num_out_tokens=T + 3)
    ids = [token for token, _ in pairs(routing_map())[:T + 3]]
    assert torch.equal(got, tokens[ids]) and order.tolist() == sorted(range(T + 3), key=lambda row: ids[row])[:T]


@pytest.mark.parametrize("with_probs", [False, True])
def test_permute_with_capacity(with_probs):
    tokens, probs = random(T, H), random(T, E) if with_probs else None
    rows = pairs(routing_map(), 5)
    got, chosen, ids = permute(tokens, routing_map(), probs=probs, num_out_tokens=5 * E + 1, drop_and_pad=True)
    assert torch.equal(got, tokens[[token for token, _ in rows]]) and ids.tolist() == [token for token, _ in rows]
    assert chosen is None if not with_probs else torch.equal(chosen, torch.stack([probs[pair] for pair in rows]))


@pytest.mark.parametrize("drop_and_pad", [False, True])
@pytest.mark.parametrize("uneven", [False, True])
def test_permute_backward(drop_and_pad, uneven):
    tokens, probs = random(T, H).requires_grad_(), random(T, E).requires_grad_()
    chosen = routing_map(uneven)
    count = 4 * E if drop_and_pad else int(chosen.sum())
    got, factors, order = permute(tokens, chosen, probs=probs, num_out_tokens=count, drop_and_pad=drop_and_pad)
    grad, of_factors = random(count, H, seed=1), random(count, seed=2)
    want = torch.zeros(T, H), torch.zeros(T, E)
    for row, (token, expert) in enumerate(pairs(chosen, 4 if drop_and_pad else None)):
        want[0][token] += grad[row]
        want[1][token, expert] += of_factors[row]
    torch.testing.assert_close(torch.autograd.grad((got, factors), (tokens, probs), (grad, of_factors)), want)
    own = moe.npu_moe_token_permute_with_routing_map_grad(grad, of_factors, order, chosen, E, T, drop_and_pad)
    torch.testing.assert_close(own, want)
    assert moe.npu_moe_token_permute_with_routing_map_grad(grad, None, order, chosen, E, T, drop_and_pad)[1] is None


@pytest.mark.parametrize("with_probs", [False, True])
@pytest.mark.parametrize("drop_and_pad", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_unpermute(with_probs, drop_and_pad, dtype):
    chosen, count = routing_map(), 4 * E if drop_and_pad else T * K
    rows, probs = random(count, H, dtype=getattr(torch, dtype)), random(T, E) if with_probs else None
    order = permute(random(T, H), chosen, num_out_tokens=count, drop_and_pad=drop_and_pad)[2]
    want = torch.zeros(T, H, dtype=torch.float64)
    for row, pair in enumerate(pairs(chosen, 4 if drop_and_pad else None)):
        want[pair[0]] += rows[row].double() * (probs[pair].double() if with_probs else 1)
    got = unpermute(rows, order, [T, H], probs=probs, routing_map=chosen, drop_and_pad=drop_and_pad)
    torch.testing.assert_close(got, want.to(rows.dtype), rtol=1e-5 if dtype == "float32" else 2**-7, atol=1e-6)
    if not with_probs or drop_and_pad:
        assert torch.equal(unpermute(rows, order, [T, H], probs=probs, drop_and_pad=drop_and_pad), got)


def test_round_trip():
    tokens, probs = random(T, H), torch.full((T, E), 1 / K)
    rows, _, order = permute(tokens, routing_map(), num_out_tokens=T * K)
    torch.testing.assert_close(unpermute(rows, order, tokens.shape, probs=probs, routing_map=routing_map()), tokens)


def test_unpermute_shows_its_summands():
    order = permute(random(T, H), routing_map(), num_out_tokens=4 * E, drop_and_pad=True)[2]
    rows, probs = random(4 * E, H), random(T, E)
    out, index, ids, factors = moe._npu_moe_token_unpermute_with_routing_map(rows, order, [T, H], probs=probs, drop_and_pad=True)
    assert torch.equal(out, unpermute(rows, order, [T, H], probs=probs, drop_and_pad=True))
    assert index.tolist() == sorted(range(4 * E), key=lambda row: order[row].item()) and torch.equal(ids, order.sort()[0])
    all_factors = torch.stack([probs[pair] for pair in pairs(routing_map(), 4)])
    assert torch.equal(factors, all_factors[index.long()])


@pytest.mark.parametrize("with_probs", [False, True])
@pytest.mark.parametrize("drop_and_pad", [False, True])
def test_unpermute_backward(with_probs, drop_and_pad):
    chosen, count = routing_map(), 4 * E if drop_and_pad else T * K
    rows, probs = random(count, H).requires_grad_(), random(T, E).requires_grad_() if with_probs else None
    order = permute(random(T, H), chosen, num_out_tokens=count, drop_and_pad=drop_and_pad)[2]
    out, index, ids, _ = moe._npu_moe_token_unpermute_with_routing_map(rows, order, [T, H], probs=probs, routing_map=chosen,
                                                                       drop_and_pad=drop_and_pad)
    grad = random(T, H, seed=3)
    of_rows, of_probs = torch.zeros(count, H), torch.zeros(T, E)
    for row, (token, expert) in enumerate(pairs(chosen, 4 if drop_and_pad else None)):
        of_rows[row] = grad[token] * (probs[token, expert].detach() if with_probs else 1)
        of_probs[token, expert] = grad[token] @ rows[row].detach()
    want = (of_rows, of_probs) if with_probs else (of_rows,)
    torch.testing.assert_close(torch.autograd.grad(out, (rows, probs) if with_probs else (rows,), grad), want)
    got = moe.npu_moe_token_unpermute_with_routing_map_grad(grad, index, ids, chosen, rows.detach() if with_probs else None,
                                                            probs, drop_and_pad, [T, H])
    torch.testing.assert_close(got[0], of_rows)
    assert got[1] is None if not with_probs else torch.allclose(got[1], of_probs, atol=1e-6)


X, MAP, ORDER = torch.ones(T, H), routing_map(), torch.arange(T * K)


@pytest.mark.parametrize("call, words", [
    (lambda: permute(X[0], MAP), "The dims of input tokens should be 2 dimensional, but got 1"),
    (lambda: permute(X, MAP.long()), "routing_map has dtype int64; accepted: bool, int8"),
    (lambda: permute(X, MAP[:5]), "routing_map has shape [5, 3]; it must be [6, E]"),
    (lambda: permute(X, MAP, probs=torch.ones(T, 2)), "probs has shape [6, 2]; it must be [6, 3], that of routing_map"),
    (lambda: permute(X, MAP, num_out_tokens=13), "13 rows are needed but routing_map chooses 12 pairs"),
    (lambda: permute(X, MAP, num_out_tokens=21, drop_and_pad=True), "num_out_tokens is 21, 7 rows per expert"),
    (lambda: unpermute(X, ORDER, [T, 3]), "restore_shape is [6, 3]; it must be [T, 4]"),
    (lambda: unpermute(X, ORDER[:7], [T, H]), "sorted_indices has shape [7]; it must have one dimension, with a multiple of 6"),
    (lambda: unpermute(X, ORDER, [T, H], drop_and_pad=True), "sorted_indices has shape [12]; it must be [6]"),
    (lambda: unpermute(torch.ones(12, H), ORDER, [T, H], probs=torch.ones(5, E)), "probs has shape [5, 3]; it must be [6, E]"),
    (lambda: unpermute(torch.ones(12, H), ORDER, [T, H], probs=torch.ones(T, E)), "routing_map is None; with probs and without"),
    (lambda: unpermute(torch.ones(12, H), ORDER, [T, H], probs=torch.ones(T, E), routing_map=routing_map(True)),
     "routing_map has rows with [1, 2] experts; sorted_indices has 2 for each row"),
    (lambda: moe.npu_moe_token_unpermute_with_routing_map_grad(X, ORDER, ORDER // 2, MAP, None, torch.ones(T, E), False, [T, H]),
     "permuted_tokens is None; with probs it must be a tensor"),
    (lambda: moe.npu_moe_token_permute_with_routing_map_grad(X, X[:5, 0], ORDER, MAP, E, T, False), "probs_grad has shape [5]"),
])
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(RuntimeError, match="^npu_moe_token_") as caught:
        call()
    assert words in str(caught.value)
