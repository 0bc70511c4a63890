# Tests the operators of PyTorch: opcheck, torch.compile without graph breaks, modules, rejected arguments.
import re

import numpy as np
import pytest

import openaclnn
from conftest import needs_newer_torch, needs_torch, torch

if torch is not None:
    import openaclnn.torch as oat

pytestmark = needs_torch


def examples():
    """Yields named calls: operator, arguments with gradients where they can have them."""
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
        "grouped_bias_add_grad": (library.grouped_bias_add_grad, (rows, ends, 0)),
        "grouped_bias_add_grad of equal groups": (library.grouped_bias_add_grad, (tokens, None, 0)),
        "nsa_compress": (library.nsa_compress, (tokens, weight, 4, 2, None, 0)),
        "nsa_compress sequences": (library.nsa_compress, (tokens, weight, 4, 2, [9, 20], 0)),
        "nsa_compress_grad": (library.nsa_compress_grad, (torch.randn(9, 2, 3), tokens, weight, 4, 2, None, 0)),
        "nsa_compress_with_cache_": (library.nsa_compress_with_cache_, (
            tokens.detach(), weight.detach(), torch.tensor([1, 0], dtype=torch.int32), torch.zeros(3, 2, 3), 4, 2, [6, 7])),
        "nsa_compress_with_cache_ pages": (library.nsa_compress_with_cache_, (
            torch.randn(3, 4, 2, 3), weight.detach(), torch.tensor([1], dtype=torch.int32), torch.zeros(3, 2, 3), 4, 2, [6],
            torch.tensor([[2, 0]], dtype=torch.int32), 4)),
        "apply_adam_w_": (library.apply_adam_w_, (*states[:4], torch.tensor([1]))),
        "apply_adam_w_ largest": (library.apply_adam_w_, (*states[:4], torch.tensor([1]), 1e-3, 0.9, 0.999, 1e-8, 0.0, states[4], True)),
        "apply_fused_ema_adam_": (library.apply_fused_ema_adam_, (*states, torch.tensor([1]))),
        "apply_fused_ema_adam_list_": (library.apply_fused_ema_adam_list_, (*lists, torch.tensor([1]), None, None)),
        "fused_ema_adam_step_": (library.fused_ema_adam_step_, (
            *lists, [torch.tensor(1.0) for _ in lists[0]], None, None, torch.tensor(0.1), None, torch.tensor(0.99), 0.0, 0.9, 0.9, 0.0, 1e-8, 1,
            True, 0.0, True, True, 3, True, "FusedEmaAdamW")),
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
    """aot_eager runs all of torch.compile except the C++ compiler."""
    operator, arguments = examples()[name]
    other = [argument.clone() if isinstance(argument, torch.Tensor) else
             [tensor.clone() for tensor in argument] if isinstance(argument, list) and isinstance(argument[0], torch.Tensor)
             else argument for argument in arguments]

    def call(*given):
        result = operator(*given)
        return result if result is not None else given[3 if "cache" in name else 1]

    expected = call(*arguments)
    torch._dynamo.reset()
    got = torch.compile(call, fullgraph=True, backend="aot_eager")(*other)
    for a, b in zip(*[value if isinstance(value, (tuple, list)) else [value] for value in (expected, got)]):
        assert torch.equal(a, b)


@pytest.mark.parametrize("shape", [(3,), ()])
def test_in_place_updates_are_seen_by_autograd(shape):
    var = torch.ones(shape, requires_grad=True)
    product = (var * var).sum()
    states = [torch.zeros(shape) for _ in range(4)]
    with torch.no_grad():
        torch.ops.openaclnn.apply_fused_ema_adam_(states[0], var, *states[1:], torch.tensor([1]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_the_cache_of_compressed_tokens_takes_no_gradient():
    tokens, weight = torch.randn(8, 2, 3, requires_grad=True), torch.nn.Parameter(torch.randn(4, 2))
    slots, cache = torch.tensor([2], dtype=torch.int32), torch.zeros(3, 2, 3)
    version = cache._version
    assert oat.nsa_compress_with_cache_(tokens, weight, slots, cache, 4, 2, torch.tensor([8])) is cache
    assert not cache.requires_grad and cache._version > version
    assert torch.equal(cache[2], oat.nsa_compress(tokens, weight, 4, 2)[-1]) and not cache[:2].any()
    oat.nsa_compress_with_cache_(tokens[:0], weight, slots[:0], cache, 4, 2, [])
    version = cache._version
    with pytest.raises(IndexError, match=r"slot_mapping\[0\] = 3"):
        oat.nsa_compress_with_cache_(tokens, weight, slots + 1, cache, 4, 2, [8])
    assert cache._version > version  # blocks of other sequences would be written
    with pytest.raises(RuntimeError, match="cache requires a gradient"):
        oat.nsa_compress_with_cache_(tokens, weight, slots, cache.requires_grad_(), 4, 2, [8])


def test_the_cache_under_autocast():
    tokens, weight = torch.randn(4, 2, 3), torch.randn(4, 2)
    slots, cache = torch.tensor([0], dtype=torch.int32), torch.zeros(1, 2, 3, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        oat.nsa_compress_with_cache_(tokens.bfloat16(), weight, slots, cache, 4, 2, [4])
        assert torch.equal(cache, oat.nsa_compress(tokens, weight, 4, 2))


@pytest.mark.parametrize("steps_done", [2, 2.0])
def test_adam_w_of_tensors(steps_done):
    states = [torch.rand(5) for _ in range(4)]
    expected = [state.numpy().copy() for state in states]
    openaclnn.apply_adam_w_(*expected, 2, maximize=True)
    var = torch.nn.Parameter(states[1])
    result = oat.apply_adam_w_(states[0], var, *states[2:], torch.tensor([steps_done]), maximize=True)
    assert result[0] is var and all(np.array_equal(a.detach().numpy(), b) for a, b in zip(result, expected[1:]))
    with pytest.raises(openaclnn.AclnnError, match="max_v"):
        oat.apply_adam_w_(states[0], var, *states[2:], 2, max_v=torch.zeros(2))


@pytest.mark.parametrize("steps_done", [1.5, 2.0, "2", [2], None, 2**64, -2**63 - 1, np.float32(2)])
def test_steps_of_adam_w_that_are_not_whole(steps_done):
    states = [torch.rand(5) for _ in range(4)]
    with pytest.raises(TypeError, match=f"steps_done is {re.escape(repr(steps_done))}; an int of 64 bits or an array of one element"):
        oat.apply_adam_w_(*states, steps_done)


@pytest.mark.parametrize("steps_done", [2, True, np.int32(2), np.array([2]), np.array(2), np.array([2.0], np.float32)])
def test_steps_of_adam_w_of_other_types(steps_done):
    states = [torch.rand(5) for _ in range(4)]
    expected = [state.clone() for state in states]
    oat.apply_adam_w_(*expected, torch.tensor([int(np.ravel(steps_done)[0])]))
    assert torch.equal(oat.apply_adam_w_(*states, steps_done)[0], expected[1])
    with pytest.raises(ValueError, match="steps_done is -2; it must be at least 0"):
        oat.apply_adam_w_(*states, -2)


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


@pytest.mark.parametrize("make", [lambda device: oat.NsaCompress(2, 4, 2, device=device, dtype=torch.half),
                                  lambda device: oat.GroupedBiasAdd(2, 3, device=device)])
def test_modules_made_on_meta_get_their_first_values(make):
    module = make("meta").to_empty(device="cpu")
    for parameter in module.parameters():
        parameter.data.fill_(7)
    module.reset_parameters()
    for name, value in make("cpu").state_dict().items():
        assert torch.equal(module.state_dict()[name], value) and value.dtype == module.state_dict()[name].dtype
    assert all(parameter.requires_grad for parameter in module.parameters())


@pytest.mark.parametrize("padding, is_accepted", [(2, True), (-1, True), (-100, True), (3, False), (2**40, False)])
def test_a_padding_beyond_the_table_is_refused(padding, is_accepted):
    """As by torch.nn.functional.embedding. Negative numbers mean none here."""
    for table in (torch.ones(3, 2), torch.ones(3, 2, requires_grad=True)):
        if is_accepted:
            oat.embedding(table, torch.tensor([1]), padding)
            continue
        with pytest.raises(ValueError, match=f"padding_idx is {padding}; it must be below 3, the number of rows of weight"):
            oat.embedding(table, torch.tensor([1]), padding)


def test_counts_of_a_whole_batch_have_the_bits_of_one_call():
    ids, grad = torch.randint(0, 9, (40,)), torch.randn(40, 5)
    whole = oat.embedding_dense_backward(grad, ids, 9, 3, True)
    counted = oat.embedding_dense_backward(grad, ids, 9, 3, counts=oat.embedding_counts(ids, 9))
    assert torch.equal(whole, counted)


def test_indices_out_of_range_are_not_counted():
    assert oat.embedding_counts(torch.tensor([[3, 1], [3, -7], [4, 2**40]]), 4).tolist() == [0, 1, 0, 2]


def test_functions_take_no_gradient_of_indices():
    with pytest.raises((IndexError, RuntimeError)):
        oat.embedding(torch.ones(3, 2), torch.tensor([5]))
    assert np.isfinite(oat.embedding(torch.ones(3, 2), torch.tensor([2])).sum().item())


@pytest.mark.parametrize("arguments, error, text", [
    (lambda: (torch.ones(5, 3), torch.ones(3), torch.tensor([5])), ValueError, r"bias has shape \[3\]; it must be \[G, H\]"),
    (lambda: (torch.ones(2, 5, 3), torch.ones(1, 3), torch.tensor([5])), ValueError, r"x has shape \[2, 5, 3\]"),
    (lambda: (torch.ones(5, 3), torch.ones(1, 2), torch.tensor([5])), ValueError, "bias has rows of 2 numbers"),
    (lambda: (torch.ones(5, 3), torch.ones(2, 3), torch.tensor([5])), ValueError, "bias has 2 rows, but group_idx has 1 entries"),
    (lambda: (torch.ones(5, 3).double(), torch.ones(1, 3), torch.tensor([5])), TypeError, "x is torch.float64; it must be"),
    (lambda: (torch.ones(5, 3), torch.ones(1, 3), torch.tensor([5.0])), TypeError, "group_idx is torch.float32; it must be"),
    (lambda: (torch.ones(5, 3), torch.ones(1, 3), torch.tensor([[5]])), ValueError, r"group_idx has shape \[1, 1\]"),
    (lambda: (torch.ones(5, 3), torch.ones(1, 3), torch.tensor([5]), 7), ValueError, "group_idx_type is 7"),
    (lambda: (torch.ones(5, 3), torch.ones(2, 3), torch.tensor([2, -1]), 1), IndexError, r"group_idx\[1\] = -1")])
def test_refused_biases(arguments, error, text):
    with pytest.raises(error, match=text):
        oat.grouped_bias_add(*arguments())


def test_counts_of_another_shape_are_refused():
    grad, ids = torch.ones(2, 3), torch.tensor([0, 1])
    with pytest.raises(ValueError, match=r"counts has shape \[3\]; it must be \[4\]"):
        oat.embedding_dense_backward(grad, ids, 4, counts=torch.ones(3, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"counts is of type list; a tensor int64 \[4\] is needed"):
        oat.embedding_dense_backward(grad, ids, 4, counts=[1, 1, 0, 0])
    with pytest.raises(TypeError, match=r"counts is torch.float32; a tensor int64 \[4\] is needed"):
        oat.embedding_dense_backward(grad, ids, 4, counts=torch.ones(4))
    with pytest.raises(ValueError, match="scale_grad_by_freq is True and counts are given"):
        oat.embedding_dense_backward(grad, ids, 4, -1, True, counts=torch.ones(4, dtype=torch.int64))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")
def test_scripts_call_bare_operators():
    """torch.jit.script doesn't support the functions of openaclnn.torch."""
    def rows(table: torch.Tensor, ids: torch.Tensor):
        return torch.ops.openaclnn.embedding(table, ids)

    table, ids = torch.randn(4, 3), torch.tensor([1, 3])
    assert torch.equal(torch.jit.script(rows)(table, ids), table[ids])
    with pytest.raises((torch.jit.frontend.NotSupportedError, RuntimeError)):  # depends on PyTorch's version
        torch.jit.script(oat.embedding)


def test_the_embedding_replaces_that_of_torch():
    table = torch.randn(5, 3)
    for frozen in (False, True):
        made = oat.Embedding.from_pretrained(table, freeze=frozen, padding_idx=1, scale_grad_by_freq=True)
        assert made.weight.requires_grad is not frozen and made.padding_idx == 1 and made.scale_grad_by_freq
    ours, theirs = oat.Embedding(4, 3, 1, dtype=torch.float64), torch.nn.Embedding(4, 3, 1, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    for module in (ours, theirs):
        module(torch.tensor([[0, 1, 0]])).square().sum().backward()
    assert ours.weight.grad.dtype == torch.float64 and torch.allclose(ours.weight.grad, theirs.weight.grad)
    with pytest.raises(TypeError, match="paddingidx"):
        oat.Embedding(5, 3, paddingidx=1)


@needs_newer_torch(2, 5)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_indices():
    lists = [torch.tensor([0, 1, 3]), torch.tensor([1])]
    ours, theirs = oat.Embedding(4, 3, 0), torch.nn.Embedding(4, 3, 0)
    theirs.load_state_dict(ours.state_dict())
    nested = torch.nested.nested_tensor(lists, layout=torch.jagged)
    for module in (ours, theirs):
        rows = module(nested)
        assert rows.shape == (*nested.shape, 3)
        (rows * 2).values().square().sum().backward()
    assert torch.equal(ours(nested).values(), theirs(nested).values()) and torch.equal(ours.weight.grad, theirs.weight.grad)
    holes = torch.nested.nested_tensor_from_jagged(nested.values(), nested.offsets(), torch.tensor([2, 1]))
    for other in (torch.nested.nested_tensor(lists, layout=torch.strided), holes):
        with pytest.raises(ValueError, match="a contiguous one of layout torch.jagged is needed"):
            ours(other)


def test_modules_under_autocast():
    compress, bias = oat.NsaCompress(2, 4, 2), oat.GroupedBiasAdd(1, 3)
    for tokens in (torch.randn(8, 2, 3), torch.randn(8, 2, 3).bfloat16()):
        with torch.autocast("cpu", torch.bfloat16):
            out = compress(tokens)
            rows = bias(tokens[:, 0], torch.tensor([8]))
        assert out.dtype == torch.bfloat16 and rows.dtype == tokens.dtype
        assert torch.equal(out, oat.nsa_compress(tokens.bfloat16(), compress.weight.bfloat16(), 4, 2))
        (out.float().sum() + rows.float().sum()).backward()
        assert compress.weight.grad.dtype == bias.bias.grad.dtype == torch.float32


@pytest.mark.parametrize("make, error, text", [
    (lambda: oat.NsaCompress(2, 0, 4), ValueError, "NsaCompress: compress_block_size is 0; it must be at least 1"),
    (lambda: oat.NsaCompress(2, 8, 0), ValueError, "NsaCompress: compress_stride is 0; it must be at least 1"),
    (lambda: oat.NsaCompress(2, 8, -3), ValueError, "NsaCompress: compress_stride is -3; it must be at least 1"),
    (lambda: oat.NsaCompress(2, 8.0, 4), TypeError, "NsaCompress: compress_block_size is 8.0; an int is needed"),
    (lambda: oat.NsaCompress(2, 8, 4, dtype=torch.double), TypeError, "NsaCompress: dtype is torch.float64; it must be torch.float32"),
    (lambda: oat.GroupedBiasAdd(2, 3, dtype=torch.double), TypeError, "GroupedBiasAdd: dtype is torch.float64; it must be"),
    (lambda: oat.Embedding(2, 3, max_norm=0.0), ValueError, "max_norm is 0.0; openaclnn.torch.Embedding does not offer it"),
    (lambda: oat.Embedding(2, 3, sparse=True), ValueError, "sparse is True; openaclnn.torch.Embedding does not offer it")])
def test_modules_refuse_what_their_operators_refuse(make, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make()
    oat.NsaCompress(2, np.int64(8), np.int32(4), dtype=torch.half)
