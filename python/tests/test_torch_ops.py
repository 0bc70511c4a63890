# The operators of PyTorch: gradients, opcheck, torch.compile without graph breaks, modules, the override of aten.
import numpy as np
import pytest

from conftest import needs_newer_torch, needs_torch, torch, torch_version

if torch is not None:
    import openaclnn.torch as oat

pytestmark = needs_torch
HAS_OPCHECK = torch is not None and torch_version() >= (2, 4)


def examples():
    """Named calls: operator, arguments with gradients where they can have them."""
    table = torch.randn(7, 3, requires_grad=True)
    ids = torch.tensor([[1, 6], [1, 0]])
    rows, bias = torch.randn(9, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    ends = torch.tensor([2, 2, 8])
    tokens, weight = torch.randn(20, 2, 3, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    library = torch.ops.openaclnn
    states = [torch.rand(5) for _ in range(5)]
    lists = [[torch.rand(3), torch.rand(2, 2)] for _ in range(5)]
    return {
        "embedding": (library.embedding, (table, ids, -1, False)),
        "embedding padding": (library.embedding, (table, ids, 1, True)),
        "embedding_dense_backward": (library.embedding_dense_backward, (torch.randn(2, 2, 3), ids, 7, -1, False)),
        "embedding_counts": (library.embedding_counts, (ids, 7)),
        "grouped_bias_add": (library.grouped_bias_add, (rows, bias, ends, 0)),
        "grouped_bias_add sizes": (library.grouped_bias_add, (rows, bias, torch.tensor([2, 0, 6]), 1)),
        "grouped_bias_add_grad": (library.grouped_bias_add_grad, (rows.detach(), ends, 0)),
        "nsa_compress": (library.nsa_compress, (tokens, weight, 4, 2, None, 0)),
        "nsa_compress sequences": (library.nsa_compress, (tokens, weight, 4, 2, [9, 20], 0)),
        "nsa_compress_grad": (library.nsa_compress_grad,
                              (torch.randn(9, 2, 3), tokens.detach(), weight.detach(), 4, 2, None, 0)),
        "apply_fused_ema_adam_": (library.apply_fused_ema_adam_, (*states, torch.tensor([1]))),
        "apply_fused_ema_adam_list_": (library.apply_fused_ema_adam_list_, (*lists, torch.tensor([1]), None, None)),
    }


NAMES = list(examples()) if torch is not None else []


@needs_newer_torch(2, 4)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name):
    operator, arguments = examples()[name]
    torch.library.opcheck(operator.default, arguments)


@needs_newer_torch(2, 4)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_compile_without_graph_breaks(name):
    """aot_eager runs everything of torch.compile but the C++ compiler."""
    operator, arguments = examples()[name]
    other = [argument.clone() if isinstance(argument, torch.Tensor) else
             [tensor.clone() for tensor in argument] if isinstance(argument, list) and isinstance(argument[0], torch.Tensor)
             else argument for argument in arguments]

    def call(*given):
        result = operator(*given)
        return result if result is not None else given[1]

    expected = call(*arguments)
    torch._dynamo.reset()
    got = torch.compile(call, fullgraph=True, backend="aot_eager")(*other)
    for a, b in zip(*[value if isinstance(value, (tuple, list)) else [value] for value in (expected, got)]):
        assert torch.equal(a, b)


def gradients(function, *inputs):
    """Gradients of a random projection of the result; the same projection in every call."""
    inputs = [value.detach().clone().requires_grad_() for value in inputs]
    out = function(*inputs)
    generator = torch.Generator().manual_seed(7)
    (out * torch.randn(out.shape, generator=generator)).sum().backward()
    return out.detach(), [value.grad for value in inputs]


def check_against(ours, theirs, *inputs):
    out, grads = gradients(ours, *inputs)
    expected, wanted = gradients(theirs, *inputs)
    assert torch.allclose(out, expected, atol=1e-5)
    for got, want in zip(grads, wanted):
        assert torch.allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("padding, scale", [(-1, False), (2, False), (2, True)])
def test_embedding_against_torch(padding, scale):
    ids = torch.randint(0, 6, (4, 5))
    check_against(lambda table: oat.embedding(table, ids, padding, scale),
                  lambda table: torch.nn.functional.embedding(ids, table, padding if padding >= 0 else None,
                                                              scale_grad_by_freq=scale), torch.randn(6, 3))


def test_grouped_bias_add_against_torch():
    group_of_row = torch.tensor([0, 0, 2, 2, 2])
    check_against(lambda x, bias: oat.grouped_bias_add(x, bias, torch.tensor([2, 2, 5])),
                  lambda x, bias: x + bias[group_of_row], torch.randn(5, 3), torch.randn(3, 3))
    x = torch.randn(5, 3)
    assert torch.equal(oat.grouped_bias_add(x, torch.ones(1, 3), torch.tensor([2]))[2:], x[2:])
    with pytest.raises(IndexError, match=r"group_idx\[1\] = 1"):
        oat.grouped_bias_add(x, torch.ones(2, 3), torch.tensor([2, 1]))


def test_nsa_compress_against_torch():
    def formula(tokens, weight):
        pieces = [tokens[s:e].unfold(0, 4, 2) for s, e in ((0, 9), (9, 20))]
        return torch.einsum("jndl,ln->jnd", torch.cat(pieces), weight)

    check_against(lambda tokens, weight: oat.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[9, 20]), formula,
                  torch.randn(20, 2, 3), torch.randn(4, 2))


def test_second_derivative_of_embedding():
    ids = torch.tensor([0, 2, 2])
    grad, direction = torch.randn(3, 2, requires_grad=True), torch.randn(4, 2)
    oat.embedding_dense_backward(grad, ids, 4, 0).backward(direction)
    assert torch.equal(grad.grad, direction[ids] * torch.tensor([[0.0], [1.0], [1.0]]))
    with pytest.raises(NotImplementedError, match="second derivative"):
        oat.embedding_dense_backward(grad, ids, 4, 0, True).backward(direction)


def test_in_place_updates_are_seen_by_autograd():
    var = torch.ones(3, requires_grad=True)
    product = (var * var).sum()
    states = [torch.zeros(3) for _ in range(4)]
    with torch.no_grad():
        torch.ops.openaclnn.apply_fused_ema_adam_(states[0], var, *states[1:], torch.tensor([1]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_modules():
    embedding = oat.Embedding(5, 3, padding_idx=0)
    other = torch.nn.Embedding(5, 3, padding_idx=0)
    other.load_state_dict(embedding.state_dict())
    ids = torch.tensor([[0, 1, 1]])
    for module in (embedding, other):
        module(ids).square().sum().backward()
    assert torch.equal(embedding(ids), other(ids)) and torch.allclose(embedding.weight.grad, other.weight.grad)
    with pytest.raises(ValueError, match="sparse"):
        oat.Embedding(5, 3, sparse=True)
    bias = oat.GroupedBiasAdd(2, 3)
    bias(torch.randn(4, 3), torch.tensor([1, 4])).sum().backward()
    assert bias.bias.grad.tolist() == [[1, 1, 1], [3, 3, 3]] and "groups=2" in repr(bias)
    compress = oat.NsaCompress(2, 4, 2)
    assert torch.allclose(compress(torch.ones(8, 2, 3)), torch.ones(3, 2, 3)) and "stride=2" in repr(compress)


def test_counts_of_a_whole_batch_have_the_bits_of_one_call():
    ids, grad = torch.randint(0, 9, (40,)), torch.randn(40, 5)
    whole = oat.embedding_dense_backward(grad, ids, 9, 3, True)
    counted = oat.embedding_dense_backward(grad, ids, 9, 3, counts=oat.embedding_counts(ids, 9))
    assert torch.equal(whole, counted)


@needs_newer_torch(2, 1)
def test_override_of_aten():
    ids, weight = torch.randint(0, 50, (600,)), torch.randn(50, 8)

    def gradient():
        table = weight.clone().requires_grad_()
        torch.nn.functional.embedding(ids, table, padding_idx=3, scale_grad_by_freq=True).sin().sum().backward()
        return table.grad

    before = gradient()
    grad = torch.cos(torch.nn.functional.embedding(ids, weight))
    oat.enable_embedding_backward()
    try:
        assert torch.equal(gradient(), oat.embedding_dense_backward(grad, ids, 50, 3, True))
        double = torch.nn.functional.embedding(ids, weight.double().requires_grad_(), padding_idx=3)
        double.sum().backward()
    finally:
        oat.disable_embedding_backward()
    assert torch.equal(gradient(), before) and torch.allclose(before, oat.embedding_dense_backward(grad, ids, 50, 3, True),
                                                              atol=1e-5)


def test_functions_take_no_gradient_of_indices():
    with pytest.raises((IndexError, RuntimeError)):
        oat.embedding(torch.ones(3, 2), torch.tensor([5]))
    assert np.isfinite(oat.embedding(torch.ones(3, 2), torch.tensor([2])).sum().item())
