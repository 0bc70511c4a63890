# Tests the checks of operators on tensors without data: they raise what the kernels raise.
import pytest

import openaclnn
from conftest import needs_newer_torch, needs_torch, torch, torch_version

if torch is not None:
    import openaclnn.torch as oat

pytestmark = needs_torch


def calls():
    """Returns rejected calls by name: a function and its arguments."""
    table, ids, rows = torch.ones(4, 3), torch.tensor([0, 1]), torch.ones(2, 3)
    tokens, weight, grad = torch.ones(8, 2, 3), torch.ones(4, 2), torch.ones(3, 2, 3)
    slots, cache, ends = torch.tensor([0], dtype=torch.int32), torch.zeros(3, 2, 3), torch.tensor([4])

    def with_cache(*arguments):
        return oat.nsa_compress_with_cache_(*arguments, [4])

    return {
        "table of one dim": (oat.embedding, table[0], ids),
        "table of three dims": (oat.embedding, table[None], ids),
        "float indices": (oat.embedding, table, ids.float()),
        "padding beyond the table": (oat.embedding, table, ids, 4),
        "dtype of gradient": (oat.embedding_dense_backward, rows.long(), ids, 4),
        "gradient without dims": (oat.embedding_dense_backward, rows[0, 0], ids[0], 4),
        "too few indices": (oat.embedding_dense_backward, rows, ids[:1], 4),
        "too few indices of float64": (oat.embedding_dense_backward, rows.double(), ids[:1], 4),
        "complex indices": (oat.embedding_dense_backward, rows, ids.to(torch.complex64), 4),
        "negative rows": (oat.embedding_dense_backward, rows, ids, -1),
        "indices to count": (oat.embedding_counts, ids.float(), 4),
        "negative counts": (oat.embedding_counts, ids, -3),
        "biases": (oat.grouped_bias_add, rows, rows[0], ends),
        "rows of groups": (oat.grouped_bias_add_grad, rows[0], ends),
        "equal groups": (oat.grouped_bias_add_grad, rows),
        "dtype of rows": (oat.grouped_bias_add_grad, rows.double(), ends),
        "dtype of groups": (oat.grouped_bias_add_grad, rows, ends.float()),
        "groups of two dims": (oat.grouped_bias_add_grad, rows, ends[None]),
        "type of groups": (oat.grouped_bias_add_grad, rows, ends, 3),
        "stride": (oat.nsa_compress, tokens, weight, 4, 0),
        "block": (oat.nsa_compress, tokens, weight, 0, 2),
        "rows of weights": (oat.nsa_compress, tokens, weight, 3, 2),
        "tokens of two dims": (oat.nsa_compress, tokens[0], weight, 4, 2),
        "weights of one dim": (oat.nsa_compress, tokens, weight[0], 4, 2),
        "heads of weights": (oat.nsa_compress, tokens, weight[:, :1], 4, 2),
        "dtype of weights": (oat.nsa_compress, tokens, weight.half(), 4, 2),
        "dtype of tokens": (oat.nsa_compress, tokens.double(), weight.double(), 4, 2),
        "no heads": (oat.nsa_compress, tokens[:, :0], weight[:, :0], 4, 2),
        "type of lengths": (lambda *given: oat.nsa_compress(*given, actual_seq_len=[8], actual_seq_len_type=2), tokens, weight, 4, 2),
        "stride of a gradient": (oat.nsa_compress_grad, grad, tokens, weight, 4, 0),
        "gradient of two dims": (oat.nsa_compress_grad, grad[0], tokens, weight, 4, 2),
        "tokens of a gradient": (oat.nsa_compress_grad, grad, tokens[0], weight, 4, 2),
        "heads of a gradient": (oat.nsa_compress_grad, grad[:, :1], tokens, weight, 4, 2),
        "width of a gradient": (oat.nsa_compress_grad, grad[..., :1], tokens, weight, 4, 2),
        "dtypes of a gradient": (oat.nsa_compress_grad, grad.half(), tokens, weight, 4, 2),
        "weights of a gradient": (oat.nsa_compress_grad, grad, tokens, weight.half(), 4, 2),
        "weights of another block": (oat.nsa_compress_grad, grad, tokens, weight, 3, 2),
        "stride of a cache": (with_cache, tokens, weight, slots, cache, 4, 0),
        "block of a cache": (with_cache, tokens, weight, slots, cache, 3, 2),
        "tokens of a cache": (with_cache, tokens[0], weight, slots, cache, 4, 2),
        "dtype of slots": (with_cache, tokens, weight, slots.float(), cache, 4, 2),
        "slots of two dims": (with_cache, tokens, weight, slots[None], cache, 4, 2),
        "cache of two dims": (with_cache, tokens, weight, slots, cache[0], 4, 2),
        "heads of a cache": (with_cache, tokens, weight, slots, cache[:, :1], 4, 2),
        "dtype of a cache": (with_cache, tokens, weight, slots, cache.half(), 4, 2),
    }


NAMES = list(calls()) if torch is not None else []


# Operators without a derivative.
WITHOUT_META = ["indices to count", "negative counts", *(name for name in NAMES if "cache" in name or "slots" in name)]


def error_of(function, *arguments):
    with pytest.raises((openaclnn.AclnnError, TypeError, ValueError)) as caught:
        function(*arguments)
    return caught.type, str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_meta_tensors_are_checked_as_others(name):
    if name in WITHOUT_META and torch_version() < (2, 0):
        pytest.skip("needs PyTorch 2.0: before, operators without a derivative have no tensors on meta")
    function, *arguments = calls()[name]
    on_meta = [argument.to("meta") if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    assert error_of(function, *on_meta) == error_of(function, *arguments)


@needs_newer_torch(2, 4)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["stride", "table of one dim", "float indices", "rows of weights"])
def test_compiled_functions_give_the_text_of_the_kernels(name):
    function, *arguments = calls()[name]
    torch._dynamo.reset()
    text = error_of(function, *arguments)[1].partition(" [161002")[0]
    with pytest.raises(Exception) as caught:
        torch.compile(lambda *given: function(*given, *arguments[2:]), backend="eager", fullgraph=True)(*arguments[:2])
    assert text in str(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_shapes_of_meta_tensors(dtype):
    rows, ids = torch.ones(2, 3, dtype=getattr(torch, dtype), device="meta"), torch.ones(2, dtype=torch.int64, device="meta")
    assert oat.embedding(rows, ids).shape == (2, 3) and oat.embedding_dense_backward(rows, ids, 5, 7).shape == (5, 3)
    tokens, weight = torch.ones(20, 2, 3, device="meta"), torch.ones(4, 2, device="meta")
    assert oat.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[9, 20]).shape == (7, 2, 3)


@needs_newer_torch(2, 0)
def test_a_cache_on_meta():
    weight = torch.ones(4, 2, device="meta")
    pages, slots = torch.ones(3, 4, 2, 3, device="meta"), torch.ones(1, dtype=torch.int32, device="meta")
    cache = torch.ones(3, 2, 3, device="meta")
    assert oat.nsa_compress_with_cache_(pages, weight, slots, cache, 4, 2, [6], block_table=slots[None], page_block_size=4) is cache
