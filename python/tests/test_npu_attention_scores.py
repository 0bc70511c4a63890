# Tests what changes the scores and weights of npu_fusion_attention besides masks: position encodings, sinks and dropout.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_attention import (  # noqa: E402
    COMPRESSED,
    assert_equal,
    dense,
    gradients,
    hidden,
    laid_out,
    one_thread,  # noqa: F401
    random_tensors,
)
from openaclnn.compat.npu_ops import attention_blocks, attention_dropout  # noqa: E402
from openaclnn.compat.npu_ops.attention import npu_fusion_attention, npu_fusion_attention_v2  # noqa: E402
from openaclnn.compat.npu_ops.attention_dropout import _npu_dropout_gen_mask  # noqa: E402

SCALE = 0.3
MASK = {"atten_mask": COMPRESSED, "sparse_mode": 3, "scale": SCALE}
HIDES = hidden(3, 13, 19)


@pytest.fixture(params=["one block", "many blocks"])
def block_size(request, monkeypatch):
    """Runs a test with blocks that are larger than its tensors, and with tiny ones."""
    if request.param == "many blocks":
        monkeypatch.setattr(attention_blocks, "ROWS", 6)
        monkeypatch.setattr(attention_blocks, "COLUMNS", 5)
        monkeypatch.setattr(attention_blocks, "BLOCK", 40)


def compare(function, formula, tensors, tolerance=1e-10):
    """Compares output, statistics and the gradients of all tensors but the last, which is the gradient of the output."""
    *tensors, grad = tensors
    got, got_gradients = gradients(function, tensors, grad)
    want, want_gradients = gradients(formula, tensors, grad)
    assert_equal(got[0], want[0], tolerance, "output")
    for one, other in zip(got[1:3], want[1:]):
        assert_equal(one[..., 0], other, tolerance, "statistics")
    for number, (one, other) in enumerate(zip(got_gradients, want_gradients)):
        assert_equal(one, other, tolerance, f"gradient {number}")


@pytest.mark.parametrize("shape", [(2, 4, 13, 19), (1, 4, 13, 19), (2, 4, 1, 19), (1, 4, 1, 19)], ids=str)
@pytest.mark.parametrize("kind", [0, 1])
def test_dense_position_encodings(block_size, shape, kind):
    *tensors, grad = random_tensors()
    compare(lambda q, k, v, pse: npu_fusion_attention_v2(q, k, v, 4, "BNSD", pse=pse, pse_type=kind, **MASK),
            lambda q, k, v, pse: dense(q, k, v, HIDES, SCALE, **{"inside" if kind else "outside": pse}),
            [*tensors, torch.randn(shape, dtype=torch.float64), grad])


def test_version_1_adds_inside_the_scale():
    *tensors, grad = random_tensors()
    compare(lambda q, k, v, pse: npu_fusion_attention(q, k, v, 4, "BNSD", pse, **MASK),
            lambda q, k, v, pse: dense(q, k, v, HIDES, SCALE, inside=pse), [*tensors, torch.randn(2, 4, 13, 19, dtype=torch.float64), grad])


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("shape", [(4,), (2, 4)], ids=str)
def test_slopes(block_size, kind, shape):
    def formula(q, k, v, slopes):
        distance = (torch.arange(13).unsqueeze(1) + 3 - torch.arange(19) - 5).abs().double()
        distance = distance.sqrt() if kind == 3 else distance
        return dense(q, k, v, HIDES, SCALE, outside=-slopes.view(-1, 4, 1, 1) * distance)

    *tensors, grad = random_tensors()
    compare(lambda q, k, v, slopes: npu_fusion_attention_v2(q, k, v, 4, "BNSD", pse=slopes, pse_type=kind, q_start_idx=[3],
                                                            kv_start_idx=[5], **MASK),
            formula, [*tensors, torch.rand(shape, dtype=torch.float64), grad])


@pytest.mark.parametrize("batches", [1, 2])
def test_the_last_rows_of_alibi_stand_for_all(batches):
    """1,100 tokens: 76 rows of the matrix are not given."""
    tokens = 1100
    *tensors, grad = random_tensors(2, 2, 1, tokens, tokens, 4, 4)
    slopes = torch.rand(batches, 2, 1, 1, dtype=torch.float64)
    full = -slopes * (torch.arange(tokens).unsqueeze(1) - torch.arange(tokens)).abs()
    hides = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    got, got_gradients = gradients(
        lambda q, k, v, last: npu_fusion_attention(q, k, v, 2, "BNSD", last, atten_mask=COMPRESSED, sparse_mode=2, scale=SCALE),
        [*tensors, full[:, :, -1024:].contiguous()], grad)
    want, want_gradients = gradients(lambda q, k, v, pse: dense(q, k, v, hides, SCALE, inside=pse), [*tensors, full], grad)
    assert_equal(got[0], want[0])
    for one, other in zip(got_gradients[:3], want_gradients):
        assert_equal(one, other)
    # The sum along a diagonal is the gradient of that distance's elements.
    for distance in (0, 5, 1023, 1050):
        sums = [matrix.diagonal(offset - distance, 1, 2).sum(1) for matrix, offset in
                ((want_gradients[3][0], 0), (got_gradients[3][0], tokens - 1024))]
        assert_equal(sums[1], sums[0])


def test_packed_sequences_use_the_same_alibi():
    tokens, ends = 1100, [300, 1100]
    *tensors, grad = random_tensors(1, 2, 1, tokens, tokens, 4, 4)
    slopes = torch.rand(1, 2, 1, 1, dtype=torch.float64)
    full = -slopes * (torch.arange(1500).unsqueeze(1) - torch.arange(1500)).abs()
    got, got_gradients = gradients(
        lambda q, k, v: npu_fusion_attention(q, k, v, 2, "TND", full[:, :, -1024:].contiguous(), atten_mask=COMPRESSED, sparse_mode=3,
                                             scale=SCALE, actual_seq_qlen=ends, actual_seq_kvlen=ends),
        [laid_out(one, "TND") for one in tensors], laid_out(grad, "TND"))

    def formula(q, k, v):
        parts = []
        for rows in (slice(0, 300), slice(300, 1100)):
            count = rows.stop - rows.start
            hides = torch.ones(count, count, dtype=torch.bool).triu(1)
            parts.append(dense(q[:, :, rows], k[:, :, rows], v[:, :, rows], hides, SCALE, inside=full[:, :, :count, :count])[0])
        return torch.cat(parts, 2),

    want, want_gradients = gradients(formula, tensors, grad)
    assert_equal(got[0], laid_out(want[0], "TND"))
    for one, other in zip(got_gradients, want_gradients):
        assert_equal(one, laid_out(other, "TND"))


def test_sinks_are_one_more_score(block_size):
    *tensors, grad = random_tensors()
    hides = HIDES.clone()
    hides[3] = True
    compare(lambda q, k, v, sink: npu_fusion_attention(q, k, v, 4, "BNSD", atten_mask=hides, sparse_mode=1, scale=SCALE, sink=sink),
            lambda q, k, v, sink: dense(q, k, v, hides, SCALE, sink=sink), [*tensors, torch.randn(4, dtype=torch.float64), grad])


def bits(packed, *shape):
    """Returns packed bits, the lowest first, as numbers of a shape."""
    flat = torch.stack([packed >> bit & 1 for bit in range(8)], 1).flatten()
    count = torch.Size(shape).numel()
    assert packed.dtype == torch.uint8 and len(packed) % 16 == 0 and count <= len(flat) and not flat[count:].any()
    return flat[:count].view(shape).double()


@pytest.mark.parametrize("given", ["mask", "seed"])
def test_dropout(block_size, given):
    packed = _npu_dropout_gen_mask(torch.ones(1), [2, 4, 13, 19], p=0.3, seed=7, offset=2)
    factors = bits(packed, 2, 4, 13, 19) / 0.7
    state = {"dropout_mask": packed} if given == "mask" else {"seed": 7, "offset": 2}
    *tensors, grad = random_tensors()
    compare(lambda q, k, v: npu_fusion_attention(q, k, v, 4, "BNSD", keep_prob=0.7, **state, **MASK),
            lambda q, k, v: dense(q, k, v, HIDES, SCALE, factors=factors), [*tensors, grad])
    results = npu_fusion_attention(*tensors, 4, "BNSD", keep_prob=0.7, **state, **MASK)
    assert results[4:] == ((0, 0) if given == "mask" else (7, 2)) + (2 * 4 * 13 * 19,)


def test_dropout_of_packed_sequences_numbers_weights_by_sequence():
    ends = [5, 13], [7, 19]
    query, key, value, _ = random_tensors(1)
    packed = _npu_dropout_gen_mask(query, [4 * 5 * 7 + 4 * 8 * 12], p=0.5, seed=3, offset=0)
    flat = bits(packed, 4 * 5 * 7 + 4 * 8 * 12)
    got = npu_fusion_attention(*(laid_out(one, "TND") for one in (query, key, value)), 4, "TND", keep_prob=0.5, scale=SCALE,
                               actual_seq_qlen=ends[0], actual_seq_kvlen=ends[1], seed=3)
    assert got[4:] == (3, 0, len(flat))
    want = torch.cat([dense(query[:, :, :5], key[:, :, :7], value[:, :, :7], None, SCALE, factors=2 * flat[:140].view(1, 4, 5, 7))[0],
                      dense(query[:, :, 5:], key[:, :, 7:], value[:, :, 7:], None, SCALE, factors=2 * flat[140:].view(1, 4, 8, 12))[0]], 2)
    assert_equal(got[0], laid_out(want, "TND"))


def test_the_generator_gives_seed_and_offset():
    query, key, value, _ = random_tensors(dtype=torch.float32)

    def call():
        return npu_fusion_attention(query, key, value, 4, "BNSD", keep_prob=0.5)

    torch.manual_seed(11)
    first, second = call(), call()
    assert first[4:6] == (11, 0) and second[4] == 11 and second[5] != 0 and not torch.equal(first[0], second[0])
    torch.manual_seed(11)
    assert torch.equal(call()[0], first[0]) and call()[4:] == second[4:]
    state = torch.get_rng_state()
    third = call()
    torch.set_rng_state(state)
    assert torch.equal(call()[0], third[0])
    assert torch.equal(npu_fusion_attention(query, key, value, 4, "BNSD", keep_prob=0.5, seed=third[4], offset=third[5])[0], third[0])


@pytest.mark.parametrize("keep_prob", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_share(keep_prob):
    """Shares of rows, of columns and of equal neighbours are within 5 standard deviations of those of independent bits."""
    size = 1024
    kept = attention_dropout.kept(torch.arange(size * size), 5, 1, keep_prob).view(size, size).double()
    others = [attention_dropout.kept(torch.arange(size * size), *state, keep_prob).view(size, size).double() for state in ((6, 1), (5, 2))]
    limit = 5 * (keep_prob * (1 - keep_prob)) ** 0.5
    assert (kept.mean() - keep_prob).abs() < limit / size
    assert (kept.mean(0) - keep_prob).abs().max() < limit / size ** 0.5 and (kept.mean(1) - keep_prob).abs().max() < limit / size ** 0.5
    for other in (kept.roll(1, 1), kept.roll(1, 0), *others):
        both = (kept * other).mean()
        assert (both - keep_prob ** 2).abs() < 5 * (keep_prob ** 2 * (1 - keep_prob ** 2)) ** 0.5 / size


def test_dropout_beyond_32_bits():
    positions = torch.arange(1 << 12)
    assert not torch.equal(attention_dropout.kept(positions, 5, 1, 0.5), attention_dropout.kept(positions + (1 << 32), 5, 1, 0.5))


ERRORS = [
    ({"pse": torch.zeros(2, 4, 13, 18)}, "pse has shape [2, 4, 13, 18]; it must be [1 or 2, 4, 1 or 13, 19]"),
    ({"pse": torch.zeros(2, 4, 13, 19).half()}, "pse has dtype torch.float16, query torch.float32"),
    ({"pse": torch.zeros(3), "pse_type": 2}, "pse_type 2 needs float32 slopes of shape [4] or [2, 4]"),
    ({"pse_type": 3}, "pse_type is 3, but pse is None; it must have slopes"),
    ({"sink": torch.zeros(3)}, "it must be float32 of shape [4], the number of heads"),
    ({"sink": torch.zeros(4).half()}, "it must be float32 of shape [4], the number of heads"),
    ({"keep_prob": 0.5, "dropout_mask": torch.zeros(246, dtype=torch.uint8)}, "at least 247 bytes, a bit for each weight"),
]


@pytest.mark.parametrize("wrong, message", ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_errors(wrong, message):
    with pytest.raises(RuntimeError) as caught:
        npu_fusion_attention_v2(*random_tensors(dtype=torch.float32)[:3], 4, "BNSD", **wrong)
    assert str(caught.value).startswith("npu_fusion_attention_v2: ") and message in str(caught.value)
