# Tests npu_fusion_attention against whole matrices: modes of masks, layouts, groups of heads, dtypes, and errors.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_attention import (  # noqa: E402
    COMPRESSED,
    MOST,
    WITH_PREFIX,
    assert_equal,
    dense,
    gradients,
    hidden,
    laid_out,
    one_thread,  # noqa: F401
    random_tensors,
)
from openaclnn.compat.npu_ops import attention_blocks, attention_operator  # noqa: E402
from openaclnn.compat.npu_ops.attention import npu_fusion_attention, npu_fusion_attention_v2  # noqa: E402

SCALE = 0.3
MODE_3 = {"atten_mask": COMPRESSED, "sparse_mode": 3, "scale": SCALE}


@pytest.fixture(params=["one block", "many blocks"])
def block_size(request, monkeypatch):
    """Runs a test with blocks that are larger than its tensors, and with tiny ones."""
    if request.param == "many blocks":
        monkeypatch.setattr(attention_blocks, "ROWS", 6)
        monkeypatch.setattr(attention_blocks, "COLUMNS", 5)
        monkeypatch.setattr(attention_blocks, "BLOCK", 40)


def check(hides, tensors, scale=SCALE, tolerance=1e-10, **arguments):
    """Compares output, statistics and gradients with those of dense()."""
    *tensors, grad = tensors
    got, got_gradients = gradients(lambda *ts: npu_fusion_attention(*ts, ts[0].shape[1], "BNSD", scale=scale, **arguments), tensors,
                                   grad)
    want, want_gradients = gradients(lambda *ts: dense(*ts, hides, scale), tensors, grad)
    assert_equal(got[0], want[0], tolerance, "output")
    for name, one, other in zip(("softmax_max", "softmax_sum"), got[1:3], want[1:]):
        assert_equal(one, other.unsqueeze(3).expand(-1, -1, -1, 8), tolerance, name)
    for name, one, other in zip("qkv", got_gradients, want_gradients):
        assert_equal(one, other, tolerance, f"d{name}")
    assert got[3].shape == (0,) and got[3].dtype == tensors[0].dtype and got[4:] == (0, 0, 0)


MODES = [(1, MOST, MOST), (2, MOST, MOST), (3, MOST, MOST), (0, MOST, 0), (0, 4, 2), (0, -1, 5), (0, 6, -2), (4, 3, 2), (4, 5, 0),
         (4, -1, 3), (4, 7, -1), (4, MOST, 1)]


@pytest.mark.parametrize("mode, before, after", MODES)
@pytest.mark.parametrize("rows, columns", [(13, 13), (9, 20), (20, 9), (1, 17)], ids=str)
def test_modes_hide_the_documented_keys(block_size, mode, before, after, rows, columns):
    hides = hidden(mode, rows, columns, before, after)
    if mode == 1:
        hides = torch.rand(2, 4, rows, columns) < 0.4
    mask = COMPRESSED if mode in (2, 3, 4) else hides
    check(hides, random_tensors(rows=rows, columns=columns), atten_mask=mask, sparse_mode=mode, pre_tockens=before,
          next_tockens=after)


@pytest.mark.parametrize("shape", [(2, 4), (2, 1), (1, 1), (1, 4), ()], ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8], ids=str)
def test_masks_of_all_shapes(block_size, shape, dtype):
    hides = torch.rand(*shape, 13, 19) < 0.5
    check(hides, random_tensors(), atten_mask=hides.to(dtype), sparse_mode=1)


def test_mode_0_applies_mask_and_band(block_size):
    hides = torch.rand(13, 19) < 0.3
    check(hides | hidden(0, 13, 19, 5, 4), random_tensors(), atten_mask=hides, pre_tockens=5, next_tockens=4)


@pytest.mark.parametrize("rows, columns, prefix", [(13, 13, (0, 7)), (9, 20, (11, 15)), (20, 9, (9, 3))], ids=str)
def test_prefixes_are_visible(block_size, rows, columns, prefix):
    hides = torch.stack([hidden(6, rows, columns, prefix=length) for length in prefix]).unsqueeze(1)
    tensors = random_tensors(rows=rows, columns=columns)
    check(hides, tensors, atten_mask=WITH_PREFIX, sparse_mode=6, prefix=list(prefix))
    check(hides, tensors, atten_mask=hides.expand(2, 4, rows, columns), sparse_mode=5, prefix=list(prefix))


def test_without_a_mask_all_keys_are_visible(block_size):
    for mode in range(7):
        check(None, random_tensors(), sparse_mode=mode, pre_tockens=1, next_tockens=1)


def test_queries_without_keys_give_0(block_size):
    hides = torch.zeros(13, 19, dtype=torch.bool)
    hides[[0, 5, 12]] = True
    check(hides, random_tensors(), atten_mask=hides, sparse_mode=1)
    check(torch.ones_like(hides), random_tensors(), atten_mask=torch.ones_like(hides), sparse_mode=1)


@pytest.mark.parametrize("heads, kv_heads, of_value", [(1, 1, 8), (6, 6, 3), (6, 3, 8), (6, 1, 5)])
def test_heads_share_keys(block_size, heads, kv_heads, of_value):
    check(hidden(3, 13, 19), random_tensors(heads=heads, kv_heads=kv_heads, of_value=of_value), atten_mask=COMPRESSED, sparse_mode=3)


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_layouts(layout):
    *tensors, grad = random_tensors(heads=6, of_value=5)
    mask = {"atten_mask": COMPRESSED, "sparse_mode": 3, "scale": SCALE}
    want, want_gradients = gradients(lambda *ts: npu_fusion_attention(*ts, 6, "BNSD", **mask), tensors, grad)
    got, got_gradients = gradients(lambda *ts: npu_fusion_attention(*ts, 6, layout, **mask), [laid_out(one, layout) for one in tensors],
                                   laid_out(grad, layout))
    assert got[0].is_contiguous() and torch.equal(got[0], laid_out(want[0], layout))
    assert torch.equal(got[1], want[1]) and torch.equal(got[2], want[2])
    for one, other in zip(got_gradients, want_gradients):
        assert torch.equal(one, laid_out(other, layout))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)], ids=str)
def test_dtypes_compute_in_float32(dtype, tolerance):
    narrow = random_tensors(dtype=dtype)
    wide = [one.double() for one in narrow]
    arguments = {"atten_mask": COMPRESSED, "sparse_mode": 2, "scale": SCALE}
    got, got_gradients = gradients(lambda *ts: npu_fusion_attention(*ts, 4, "BNSD", **arguments), narrow[:3], narrow[3])
    want, want_gradients = gradients(lambda *ts: npu_fusion_attention(*ts, 4, "BNSD", **arguments), wide[:3], wide[3])
    assert got[0].dtype == dtype and got[1].dtype == got[2].dtype == torch.float32
    assert_equal(got[0], want[0].to(dtype), tolerance)
    assert_equal(got[1], want[1].float(), 1e-5)
    assert_equal(got[2], want[2].float(), 1e-5)
    for one, other in zip(got_gradients, want_gradients):
        assert_equal(one, other.to(dtype), tolerance)


def test_large_scores_do_not_overflow():
    """float32 has steps of 0.004 at the largest scores, 60,000. Weights of float64 tensors show the steps of float64 only."""
    tensors = [100 * one if number < 2 else one for number, one in enumerate(random_tensors())]
    check(hidden(3, 13, 19), tensors, scale=1.0, tolerance=1e-9, atten_mask=COMPRESSED, sparse_mode=3)
    results, found = gradients(lambda *ts: npu_fusion_attention(*ts, 4, "BNSD", **{**MODE_3, "scale": 1.0}),
                               [one.float() for one in tensors[:3]], tensors[3].float())
    want, right = gradients(lambda *ts: dense(*ts, hidden(3, 13, 19)), tensors[:3], tensors[3])
    assert_equal(results[0].double(), want[0], 0.05)
    for one, other in zip(found, right):
        assert_equal(one.double() / 100, other / 100, 0.05)


@pytest.mark.parametrize("levels", [[0, 30, 60, 2000], [0, -2000, 2000, -30], [-3000, -2000, -2000, -3000]], ids=str)
@pytest.mark.parametrize("first_keys", [(0, 0), (0, 10)], ids=["all keys", "some later"])
def test_scores_may_differ_widely_between_blocks(block_size, levels, first_keys):
    """Each five keys have scores about one level. Odd queries see their first key when even ones have seen many."""
    query, key, value, grad = random_tensors(rows=20, columns=20)
    query[..., 0], key[..., 0] = 1, torch.tensor(levels).repeat_interleave(5)
    hides = torch.arange(20) < torch.tensor(first_keys * 10).unsqueeze(1)
    mask = {"atten_mask": hides, "sparse_mode": 1}
    check(hides, [query, key, value, grad], scale=1.0, tolerance=1e-9, **mask)
    got = npu_fusion_attention(query.float(), key.float(), value.float(), 4, "BNSD", scale=1.0, **mask)[0]
    assert_equal(got.double(), dense(query, key, value, hides, 1.0)[0], 2e-3)


def test_autocast_does_not_round_inside():
    query, key, value, _ = random_tensors(dtype=torch.float32)
    want = npu_fusion_attention(query, key, value, 4, "BNSD")[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(npu_fusion_attention(query, key, value, 4, "BNSD")[0], want)


def test_gradcheck():
    query, key, value, _ = random_tensors(batches=1, rows=4, columns=5, numbers=3, of_value=2)
    leaves = [one.requires_grad_() for one in (query, key, value)]
    for mode in (2, 3):
        assert torch.autograd.gradcheck(
            lambda *ts: npu_fusion_attention(*ts, 4, "BNSD", atten_mask=COMPRESSED, sparse_mode=mode, scale=SCALE)[0], leaves)


def test_statistics_have_no_gradient_and_second_derivatives_are_refused():
    query, key, value, grad = (one.requires_grad_() for one in random_tensors())
    out, top, total, *_ = npu_fusion_attention(query, key, value, 4, "BNSD")
    assert out.requires_grad and not top.requires_grad and not total.requires_grad
    first, = torch.autograd.grad(out, query, grad, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives are not supported"):
        first.sum().backward()


def test_excluded_blocks_are_skipped(monkeypatch):
    """A causal mask of 8 x 8 blocks has 36 visible ones, a band of the width of a block two in each row."""
    products = []
    compute = attention_blocks.Part.scores
    monkeypatch.setattr(attention_blocks, "ROWS", 16)
    monkeypatch.setattr(attention_blocks, "COLUMNS", 16)
    monkeypatch.setattr(attention_blocks.Part, "scores", lambda part, *args: products.append(part.matrices) or compute(part, *args))
    query, key, value, _ = random_tensors(batches=1, kv_heads=4, rows=128, columns=128, dtype=torch.float32)
    for arguments, count in (({"sparse_mode": 2}, 36), ({"sparse_mode": 3}, 36), ({"sparse_mode": 4, "pre_tockens": 15, "next_tockens": 0}, 15),
                             ({"sparse_mode": 1, "atten_mask": hidden(2, 128, 128)}, 36)):
        products.clear()
        npu_fusion_attention(query, key, value, 4, "BNSD", **{"atten_mask": COMPRESSED, **arguments})
        assert sum(products) == 4 * count, arguments  # of each head


def test_memory_is_linear(monkeypatch):
    """No tensor inside the operator is larger than a block or a few times an argument."""
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for one in result if isinstance(result, (tuple, list)) else [result]:
                largest = max(largest, one.untyped_storage().nbytes() if isinstance(one, torch.Tensor) else 0)
            return result

    monkeypatch.setattr(attention_blocks, "BLOCK", 1 << 14)
    query, key, value, grad = random_tensors(batches=1, heads=1, kv_heads=1, rows=1024, columns=1024, dtype=torch.float32)
    rest = [None, None, None, None, SCALE, 1.0, 0, MOST, MOST, None, None, None, 1, 0, 0, 0, 0]
    with Watch():
        out, top, total = attention_operator._attention(query, key, value, *rest)
        attention_operator._attention_backward(grad, out, top, total, False, query, key, value, *rest)
    assert 512 * 512 * 4 <= largest < 1024 * 1024 * 4 / 2


ERRORS = [
    ({"head_num": 3}, "head_num is 3, but query of shape [2, 4, 13, 8] has 4 heads"),
    ({"query": torch.zeros(4, 13, 8)}, "query has shape [4, 13, 8]; input_layout 'BNSD' needs 4 axes"),
    ({"key": torch.zeros(2, 2, 19, 8, dtype=torch.float64)}, "key has dtype torch.float64"),
    ({"key": torch.zeros(2, 3, 19, 8), "value": torch.zeros(2, 3, 19, 8)}, "key has 3 heads; head_num, 4, must be a multiple"),
    ({"key": torch.zeros(2, 2, 19, 4)}, "length of a head must be equal"),
    ({"value": torch.zeros(2, 2, 18, 8)}, "value has shape [2, 2, 18, 8], key [2, 2, 19, 8]"),
    ({"input_layout": "NSD"}, "input_layout is 'NSD'; accepted: 'BSH', 'SBH', 'BSND', 'BNSD' or 'TND'"),
    ({"sparse_mode": 9}, "sparse_mode is 9; accepted: 0, 1,"),
    ({"sparse_mode": 7, "atten_mask": COMPRESSED}, "sparse_mode is 7; it needs input_layout 'TND'"),
    ({"sparse_mode": 2, "atten_mask": COMPRESSED[:13, :19]}, "sparse_mode 2 needs a compressed mask of shape [2048, 2048]"),
    ({"sparse_mode": 3, "atten_mask": ~COMPRESSED}, "atten_mask has other values than the mask of sparse_mode 3"),
    ({"sparse_mode": 6, "atten_mask": WITH_PREFIX.flip(1), "prefix": [6, 6]}, "atten_mask has other values than the mask of sparse_mode 6"),
    ({"sparse_mode": 6, "atten_mask": WITH_PREFIX, "prefix": [6]}, "prefix is [6]; sparse_mode 6 needs 2 numbers"),
    ({"sparse_mode": 6, "atten_mask": WITH_PREFIX, "prefix": [5, 6]}, "from 6 to 19"),
    ({"atten_mask": torch.zeros(13, 18).bool()}, "atten_mask has shape [13, 18]; it must be [13, 19]"),
    ({"atten_mask": torch.zeros(3, 1, 13, 19).bool()}, "a first axis of 1 or 2"),
    ({"atten_mask": torch.zeros(13, 19)}, "atten_mask has dtype torch.float32; it must be bool or uint8"),
    ({"actual_seq_qlen": [13]}, "only 'TND' has them"),
    ({"softmax_layout": "TND"}, "softmax_layout is 'TND' with input_layout 'BNSD'"),
    ({"keep_prob": 0.0}, "keep_prob is 0.0; it must be greater than 0 and at most 1"),
    ({"keep_prob": 1.5}, "keep_prob is 1.5"),
]


@pytest.mark.parametrize("wrong, message", ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_errors(wrong, message):
    arguments = {**dict(zip(("query", "key", "value"), random_tensors(dtype=torch.float32))), "head_num": 4, "input_layout": "BNSD", **wrong}
    with pytest.raises(RuntimeError) as caught:
        npu_fusion_attention(**arguments)
    assert str(caught.value).startswith("npu_fusion_attention: ") and message in str(caught.value)


@pytest.mark.parametrize("wrong", ["padding_mask", "query_rope", "key_rope"])
def test_unsupported_tensors(wrong):
    query, key, value, _ = random_tensors()
    with pytest.raises(NotImplementedError, match=f"npu_fusion_attention_v2: {wrong} is a tensor of shape .*; accepted: None"):
        npu_fusion_attention_v2(query, key, value, 4, "BNSD", **{wrong: query})
