# Tests the permutation of tokens by expert, its inverse and the gate against loops over tokens.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import moe  # noqa: E402

T, K, H, EXPERTS = 7, 3, 4, 5


def routing():
    """The experts of each token, all different."""
    generator = torch.Generator().manual_seed(3)
    return torch.stack([torch.randperm(EXPERTS, generator=generator)[:K] for _ in range(T)])


def permute(tokens, indices):
    """Rows and the row of each copy, by a loop over experts, tokens and copies."""
    indices = indices.reshape(len(tokens), -1)
    rows, row_of = [], torch.zeros(indices.numel(), dtype=torch.int32)
    for expert in range(EXPERTS):
        for token in range(len(tokens)):
            for copy in range(indices.shape[1]):
                if indices[token, copy] == expert:
                    row_of[token * indices.shape[1] + copy] = len(rows)
                    rows.append(tokens[token])
    return torch.stack(rows), row_of


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("indices", [routing(), routing().int(), routing()[:, 0]], ids=["int64", "int32", "one"])
def test_permute(dtype, indices):
    tokens = random(T, H, dtype=getattr(torch, dtype))
    got, sorted_indices = moe.npu_moe_token_permute(tokens, indices)
    rows, row_of = permute(tokens, indices)
    assert torch.equal(got, rows) and torch.equal(sorted_indices, row_of) and sorted_indices.dtype == torch.int32


@pytest.mark.parametrize("wanted, count", [(None, T * K), (0, T * K), (5, 5), (1000, T * K), (-4, T * K - 4), (-1000, 0)])
def test_permute_cuts_rows(wanted, count):
    tokens = random(T, H)
    whole, row_of = moe.npu_moe_token_permute(tokens, routing())
    got, sorted_indices = moe.npu_moe_token_permute(tokens, routing(), wanted)
    assert torch.equal(got, whole[:count]) and torch.equal(sorted_indices, row_of)


@pytest.mark.parametrize("with_probs", [False, True])
def test_unpermute(with_probs):
    rows, per_token = random(T * K, H), K if with_probs else 1
    row_of = torch.randperm(T * K, generator=torch.Generator().manual_seed(1)).int()
    probs = random(T, K).abs() if with_probs else None
    want = torch.zeros(T * K // per_token, H)
    for token in range(len(want)):
        for copy in range(per_token):
            want[token] += rows[row_of[token * per_token + copy]] * (probs[token, copy] if with_probs else 1)
    torch.testing.assert_close(moe.npu_moe_token_unpermute(rows, row_of, probs), want)
    assert torch.equal(moe.npu_moe_token_unpermute(rows, row_of, probs, restore_shape=[1, 2]),
                       moe.npu_moe_token_unpermute(rows, row_of, probs, False))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_round_trip(dtype):
    tokens, indices = random(T, H, dtype=getattr(torch, dtype)), routing()
    rows, row_of = moe.npu_moe_token_permute(tokens, indices)
    probs = torch.tensor([0.5, 0.25, 0.25]).expand(T, K)  # products and sums are exact
    assert torch.equal(moe.npu_moe_token_unpermute(rows, row_of, probs), tokens)
    one, order = moe.npu_moe_token_permute(tokens, indices[:, 0])
    assert torch.equal(moe.npu_moe_token_unpermute(one, order), tokens)


def test_cut_rows_count_as_zero():
    tokens, indices, probs = random(T, H), routing(), random(T, K).abs()
    whole, row_of = moe.npu_moe_token_permute(tokens, indices)
    cut = moe.npu_moe_token_permute(tokens, indices, 10)[0]
    zeros = whole.clone()
    zeros[10:] = 0
    torch.testing.assert_close(moe.npu_moe_token_unpermute(cut, row_of, probs), moe.npu_moe_token_unpermute(zeros, row_of, probs))
    assert not moe.npu_moe_token_unpermute(cut[:0], row_of, probs).any()


@pytest.mark.parametrize("wanted", [None, 10])
def test_permute_backward(wanted):
    tokens = random(T, H).requires_grad_()
    rows, row_of = moe.npu_moe_token_permute(tokens, routing(), wanted)
    grad = random(*rows.shape, seed=1)
    want = torch.zeros(T, H)
    for place, row in enumerate(row_of.tolist()):
        if row < len(grad):
            want[place // K] += grad[row]
    torch.testing.assert_close(torch.autograd.grad(rows, tokens, grad)[0], want)
    got = moe.npu_moe_token_permute_grad_v2(grad, row_of, T, torch.float32, K, False)
    torch.testing.assert_close(got, want)
    assert moe.npu_moe_token_permute_grad_v2(grad, row_of, T, torch.bfloat16, K).dtype == torch.bfloat16


@pytest.mark.parametrize("with_probs", [False, True])
@pytest.mark.parametrize("rows_there", [T * K, 10])
def test_unpermute_backward(with_probs, rows_there):
    rows, per_token = random(rows_there, H).requires_grad_(), K if with_probs else 1
    probs = random(T, K).requires_grad_() if with_probs else None
    row_of = torch.randperm(T * K, generator=torch.Generator().manual_seed(1))
    out = moe.npu_moe_token_unpermute(rows, row_of, probs)
    grad = random(*out.shape, seed=2)
    of_rows, of_probs = torch.zeros(rows_there, H), torch.zeros(T, K)
    for place, row in enumerate(row_of.tolist()):
        if row < rows_there:
            token, copy = divmod(place, per_token)
            of_rows[row] = grad[token] * (probs[token, copy].detach() if with_probs else 1)
            if with_probs:
                of_probs[token, copy] = rows[row].detach() @ grad[token]
    inputs = (rows, probs) if with_probs else (rows,)
    for got, want in zip(torch.autograd.grad(out, inputs, grad), (of_rows, of_probs)):
        torch.testing.assert_close(got, want)
    got = moe.npu_moe_token_unpermute_grad_v2(grad, row_of, rows_there, torch.float32, probs, permuted_tokens=rows)
    torch.testing.assert_close(got[0], of_rows)
    assert got[1] is None if not with_probs else torch.allclose(got[1], of_probs, atol=1e-6)


def test_probabilities_keep_their_dtype_in_gradients():
    rows = random(T * K, H, dtype=torch.bfloat16).requires_grad_()
    probs = random(T, K).requires_grad_()
    out = moe.npu_moe_token_unpermute(rows, torch.arange(T * K), probs)
    assert out.dtype == torch.bfloat16
    out.sum().backward()
    assert rows.grad.dtype == torch.bfloat16 and probs.grad.dtype == torch.float32
    got = moe.npu_moe_token_unpermute_grad_v2(torch.ones_like(out), torch.arange(T * K), T * K, torch.bfloat16, probs.detach(),
                                              permuted_tokens=rows.detach())
    assert [one.dtype for one in got] == [torch.bfloat16, torch.float32]


def test_rows_are_not_saved_without_probabilities():
    rows, saved = random(T, H).requires_grad_(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
        moe.npu_moe_token_unpermute(rows, torch.arange(T))
    assert saved and not any(tensor.is_floating_point() for tensor in saved)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape, k", [((6, 8), 1), ((6, 8), 3), ((2, 3, 8), 8)])
def test_gating(dtype, shape, k):
    x = random(*shape, dtype=getattr(torch, dtype))
    x.view(-1, 8)[0] = 1.0  # ties
    y, experts, numbers = moe.npu_moe_gating_top_k_softmax(x, k=k)
    assert y.dtype == x.dtype and experts.dtype == numbers.dtype == torch.int32
    softmax = x.float().softmax(-1).view(-1, 8)
    for r, row in enumerate(softmax.tolist()):
        order = sorted(range(8), key=lambda expert: (-row[expert], expert))[:k]
        assert experts.view(-1, k)[r].tolist() == order
        assert torch.equal(y.view(-1, k)[r], softmax[r, order].to(x.dtype))
        assert numbers.view(-1, k)[r].tolist() == [c * len(softmax) + r for c in range(k)]


def test_gating_of_finished_rows():
    x, finished = random(4, 6), torch.tensor([True, False, False, True])
    y, experts, _ = moe.npu_moe_gating_top_k_softmax(x, finished, 2)
    open_y, open_experts, _ = moe.npu_moe_gating_top_k_softmax(x, None, 2)
    assert torch.equal(y, open_y) and (experts[finished] == 6).all() and torch.equal(experts[~finished], open_experts[~finished])


def test_gating_v2():
    x = random(4, 6, dtype=torch.bfloat16)
    y, experts, softmax = moe.npu_moe_gating_top_k_softmax_v2(x, k=2)
    old = moe.npu_moe_gating_top_k_softmax(x, None, 2)
    assert torch.equal(y, old[0]) and torch.equal(experts, old[1]) and softmax.shape == (0,)
    softmax = moe.npu_moe_gating_top_k_softmax_v2(x, k=2, output_softmax=True)[2]
    assert softmax.dtype == torch.float32 and torch.equal(softmax, x.float().softmax(-1))
    y, experts, softmax = moe.npu_moe_gating_top_k_softmax_v2(x, k=2, renorm=1, output_softmax=True)
    assert softmax.shape == (0,) and torch.equal(experts, old[1])
    assert torch.equal(y, x.float().gather(1, experts.long()).softmax(-1).to(x.dtype))


ROWS, ORDER = torch.ones(6, 4), torch.arange(6)


@pytest.mark.parametrize("call, words", [
    (lambda: moe.npu_moe_token_permute(ROWS[0], ORDER), "The dims of input tokens should be 2 dimensional, but got 1"),
    (lambda: moe.npu_moe_token_permute(ROWS, ORDER.view(1, 2, 3)), "The dims of input indices should be 2 or 1 dimensional, but got 3"),
    (lambda: moe.npu_moe_token_permute(ROWS, ORDER[:5]), "indices has shape [5] but tokens has [6, 4]"),
    (lambda: moe.npu_moe_token_permute(ROWS, ORDER.float()), "indices has dtype float32; accepted: int32, int64"),
    (lambda: moe.npu_moe_token_permute_grad_v2(ROWS, ORDER, 3, torch.float32, 3), "sorted_indices has shape [6]; it must be [9]"),
    (lambda: moe.npu_moe_token_unpermute(ROWS[0], ORDER), "The dims of input permuted_tokens should be 2 dimensional, but got 1"),
    (lambda: moe.npu_moe_token_unpermute(ROWS, ORDER.view(2, 3)), "The dims of input sorted_indices should be 1 dimensional, but got 2"),
    (lambda: moe.npu_moe_token_unpermute(ROWS, ORDER, ROWS[0]), "The dims of input probs should be 2 dimensional, but got 1"),
    (lambda: moe.npu_moe_token_unpermute(ROWS, ORDER, ROWS), "probs has shape [6, 4] but sorted_indices has 6 elements"),
    (lambda: moe.npu_moe_token_unpermute_grad_v2(ROWS[:3], ORDER, 6, torch.float32, torch.ones(3, 2)),
     "permuted_tokens is None; with probs it must be a tensor"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS[0]), "the x shape support only 2d and 3d"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS, k=5), "k is 5; accepted: 1 to 4"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS, k=0), "k is 0; accepted: 1 to 4"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS, ORDER > 2, 5), "k is 5"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS, ORDER), "finished has dtype int64; accepted: bool"),
    (lambda: moe.npu_moe_gating_top_k_softmax(ROWS, ORDER[:5] > 2), "finished has shape [5]; it must be [6]"),
    (lambda: moe.npu_moe_gating_top_k_softmax_v2(ROWS, k=2, renorm=2), "renorm is 2; accepted: 0 or 1"),
])
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(RuntimeError, match="^npu_moe_") as caught:
        call()
    assert words in str(caught.value)
