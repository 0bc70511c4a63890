# Tests npu_fusion_attention with packed sequences (TND): each sequence alone, modes 7 and 8, and the orders of the statistics.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_attention import (  # noqa: E402
    COMPRESSED,
    MOST,
    assert_equal,
    dense,
    gradients,
    hidden,
    laid_out,
    one_thread,  # noqa: F401
    random_tensors,
)
from openaclnn.compat.npu_ops.attention import npu_fusion_attention  # noqa: E402

Q_ENDS, KV_ENDS = [5, 5, 12, 13], [7, 9, 16, 20]
SCALE = 0.3


def sequences(ends):
    return [slice(start, end) for start, end in zip([0, *ends], ends)]


def packed(heads=4, kv_heads=2, of_value=8):
    return random_tensors(1, heads, kv_heads, Q_ENDS[-1], KV_ENDS[-1], of_value=of_value)


def by_sequence(hides_of):
    """Returns a function that computes each sequence alone. hides_of gets its number, rows and columns."""
    def compute(query, key, value):
        results = []
        for number, (rows, columns) in enumerate(zip(sequences(Q_ENDS), sequences(KV_ENDS))):
            hides = hides_of(number, rows.stop - rows.start, columns.stop - columns.start)
            results.append(dense(query[:, :, rows], key[:, :, columns], value[:, :, columns], hides, SCALE))
        return tuple(torch.cat(parts, 2) for parts in zip(*results))

    return compute


def check(hides_of, tensors, **arguments):
    *tensors, grad = tensors
    want, want_gradients = gradients(by_sequence(hides_of), tensors, grad)
    got, got_gradients = gradients(
        lambda *ts: npu_fusion_attention(*ts, ts[0].shape[1], "TND", scale=SCALE, actual_seq_qlen=Q_ENDS, actual_seq_kvlen=KV_ENDS,
                                         softmax_layout="TND", **arguments),
        [laid_out(one, "TND") for one in tensors], laid_out(grad, "TND"))
    assert got[0].is_contiguous()
    assert_equal(got[0], laid_out(want[0], "TND"))
    for one, other in zip(got[1:3], want[1:]):
        assert_equal(one, other[0].t().unsqueeze(2).expand(-1, -1, 8))
    for one, other in zip(got_gradients, want_gradients):
        assert_equal(one, laid_out(other, "TND"))


@pytest.mark.parametrize("heads, kv_heads, of_value", [(4, 4, 8), (4, 1, 5)])
def test_sequences_do_not_see_each_other(heads, kv_heads, of_value):
    check(lambda number, rows, columns: None, packed(heads, kv_heads, of_value))


@pytest.mark.parametrize("mode, before, after", [(2, MOST, MOST), (3, MOST, MOST), (4, 2, 1), (0, 3, 0), (1, MOST, MOST)])
def test_modes_apply_to_each_sequence(mode, before, after):
    full = torch.rand(7, 7) < 0.3 if mode == 1 else hidden(0, 7, 7, before, after)
    check(lambda number, rows, columns: full[:rows, :columns] if mode < 2 else hidden(mode, rows, columns, before, after), packed(),
          atten_mask=full if mode < 2 else COMPRESSED, sparse_mode=mode, pre_tockens=before, next_tockens=after)


@pytest.mark.parametrize("mode", [7, 8])
def test_one_sequence_has_a_band(mode):
    """In mode 7 it is the last one and the others are as in mode 3; in mode 8 it is the first one and they are as in mode 2."""
    def hides(number, rows, columns):
        band = number == (len(Q_ENDS) - 1 if mode == 7 else 0)
        return hidden(4 if band else 3 if mode == 7 else 2, rows, columns, 8, -1)

    check(hides, packed(), atten_mask=COMPRESSED, sparse_mode=mode, pre_tockens=8, next_tockens=-1)


def test_lengths_of_all_types():
    query, key, value = (laid_out(one, "TND") for one in packed()[:3])

    def call(q_ends, kv_ends):
        return npu_fusion_attention(query, key, value, 4, "TND", actual_seq_qlen=q_ends, actual_seq_kvlen=kv_ends)[0]

    want = call(Q_ENDS, KV_ENDS)
    assert torch.equal(call(tuple(Q_ENDS), torch.tensor(KV_ENDS)), want)
    assert torch.equal(call([*Q_ENDS, 0, 0], [*KV_ENDS, 0, 0]), want)
    shorter = call(Q_ENDS[:3], KV_ENDS[:3])
    assert torch.equal(shorter[:12], want[:12]) and not shorter[12:].any()


def test_statistics_are_in_blocks_of_sequences():
    """Callers cut the memory into blocks [heads, tokens, 8], one for each sequence."""
    query, key, value = (laid_out(one, "TND") for one in packed()[:3])
    arguments = {"actual_seq_qlen": Q_ENDS, "actual_seq_kvlen": KV_ENDS, "scale": SCALE}
    ordered = npu_fusion_attention(query, key, value, 4, "TND", softmax_layout="TND", **arguments)
    blocks = npu_fusion_attention(query, key, value, 4, "TND", **arguments)
    for want, got in zip(ordered[1:3], blocks[1:3]):
        assert got.shape == want.shape == (13, 4, 8)
        parts = got.view(-1, 8).split([4 * (rows.stop - rows.start) for rows in sequences(Q_ENDS)])
        assert torch.equal(torch.cat([part.view(4, -1, 8).transpose(0, 1) for part in parts if len(part)]), want)


ERRORS = [
    ({"actual_seq_qlen": None}, "actual_seq_qlen is None; input_layout 'TND' needs the ends of the sequences"),
    ({"actual_seq_qlen": [5, 4, 12, 13]}, "actual_seq_qlen is [5, 4, 12, 13]; it must have the ends of the sequences, ascending, at most 13"),
    ({"actual_seq_qlen": [5, 14, 14, 14]}, "at most 13"),
    ({"actual_seq_qlen": [5, 13]}, "actual_seq_qlen has 2 sequences, actual_seq_kvlen 4"),
    ({"actual_seq_kvlen": [7, 7, 7, 20]}, "sequence 2 has 7 queries but no keys"),
    ({"atten_mask": torch.zeros(6, 7).bool()}, "atten_mask has shape [6, 7]; input_layout 'TND' needs [7, 7], the longest sequences"),
    ({"sparse_mode": 6, "atten_mask": COMPRESSED}, "sparse_mode is 6; it does not work with input_layout 'TND'"),
    ({"sparse_mode": 7, "atten_mask": COMPRESSED, "pse": torch.zeros(1, 4, 1024, 1024)}, "pse is given with sparse_mode 7"),
    ({"pse": torch.zeros(1, 4, 13, 20)}, "the last 1,024 rows of ALiBi must be [1 or 4, 4, 1024, tokens]"),
]


@pytest.mark.parametrize("wrong, message", ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_errors(wrong, message):
    query, key, value = (laid_out(one, "TND").float() for one in packed()[:3])
    arguments = {"actual_seq_qlen": Q_ENDS, "actual_seq_kvlen": KV_ENDS, **wrong}
    with pytest.raises(RuntimeError) as caught:
        npu_fusion_attention(query, key, value, 4, "TND", **arguments)
    assert str(caught.value).startswith("npu_fusion_attention: ") and message in str(caught.value)
