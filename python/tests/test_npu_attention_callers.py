# Tests attention as programs for NPUs call it: 16-bit tensors, dropout after a seed, and rings of processes that share a sequence.
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
    merged,
    one_thread,  # noqa: F401
    random_tensors,
)
from openaclnn.compat.npu_ops.attention import npu_fusion_attention, npu_fusion_attention_v2  # noqa: E402
from openaclnn.compat.npu_ops.attention_dropout import _npu_dropout_gen_mask  # noqa: E402
from openaclnn.compat.npu_ops.attention_grad import npu_fusion_attention_grad, npu_fusion_attention_grad_v2  # noqa: E402

SCALE = 0.08838


@pytest.mark.parametrize("forward, backward", [(npu_fusion_attention, npu_fusion_attention_grad),
                                               (npu_fusion_attention_v2, npu_fusion_attention_grad_v2)], ids=["v1", "v2"])
@pytest.mark.parametrize("keep_prob", [1.0, 0.8])
def test_half_precision(forward, backward, keep_prob):
    """The mask of dropout is that of the seed: a program sets it, and makes the mask to compare with."""
    tensors = [laid_out(one, "BSH").half() for one in random_tensors(1, 8, 8, 64, 64, 32, 32)]
    factors = None
    torch.manual_seed(2)
    results = forward(*tensors[:3], 8, "BSH", scale=SCALE, keep_prob=keep_prob)
    if keep_prob < 1:
        packed = _npu_dropout_gen_mask(tensors[0], [1, 8, 64, 64], p=1 - keep_prob, seed=2, offset=0)
        bits = torch.stack([packed >> bit & 1 for bit in range(8)], 1).flatten()
        factors = bits[:8 * 64 * 64].view(1, 8, 64, 64).double() / keep_prob
    wide = [one.double().view(1, 64, 8, 32).transpose(1, 2) for one in tensors]
    want, want_gradients = gradients(lambda *ts: dense(*ts, None, SCALE, factors=factors), wide[:3], wide[3])
    assert results[0].dtype == torch.float16 and torch.allclose(results[0].double(), laid_out(want[0], "BSH"), rtol=1e-3, atol=1e-3)
    assert torch.allclose(results[1][..., 0].double(), want[1], rtol=1e-5) and torch.allclose(results[2][..., 7].double(), want[2], rtol=1e-5)
    got = backward(*tensors, 8, "BSH", softmax_max=results[1], softmax_sum=results[2], attention_in=results[0], scale_value=SCALE,
                   keep_prob=keep_prob, seed=results[4], offset=results[5], numels=results[6])
    for one, other in zip(got, want_gradients):
        assert one.dtype == torch.float16 and torch.allclose(one.double(), laid_out(other, "BSH"), rtol=5e-3, atol=5e-3)


def ring(query, key, value, grad, forward, backward, ranks):
    """Returns output and gradients of causal attention that `ranks` processes compute, each with its part of the tokens: as
    many rounds, in which every process sees the keys of another one."""
    step = query.shape[2] // ranks
    part = [slice(rank * step, (rank + 1) * step) for rank in range(ranks)]
    out, dq, dk, dv = (torch.zeros_like(one) for one in (query, query, key, value))
    for here in range(ranks):
        q, results = query[:, :, part[here]], None
        for there in range(here + 1):
            block = forward(q, key[:, :, part[there]], value[:, :, part[there]], here, there)[:3]
            results = block if results is None else merged(results, block)
        out[:, :, part[here]] = results[0]
        for there in range(here + 1):
            of_q, of_k, of_v, *_ = backward(q, key[:, :, part[there]], value[:, :, part[there]], grad[:, :, part[here]], here, there,
                                            {"attention_in": results[0], "softmax_max": results[1], "softmax_sum": results[2]})
            dq[:, :, part[here]] += of_q
            dk[:, :, part[there]] += of_k
            dv[:, :, part[there]] += of_v
    return out, dq, dk, dv


@pytest.mark.parametrize("pse_type", [None, 2, 3])
def test_a_ring_of_processes(pse_type):
    """Each process gives the positions of its tokens and of the keys that it sees."""
    query, key, value, grad = random_tensors(2, 4, 2, 24, 24)
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])

    def options(here, there):
        pse = {} if pse_type is None else {"pse": slopes, "pse_type": pse_type, "q_start_idx": [6 * here], "kv_start_idx": [6 * there]}
        return {**pse, **({"atten_mask": COMPRESSED, "sparse_mode": 3} if here == there else {})}

    got = ring(query, key, value, grad,
               lambda q, k, v, here, there: npu_fusion_attention_v2(q, k, v, 4, "BNSD", scale=SCALE, **options(here, there)),
               lambda q, k, v, dy, here, there, given: npu_fusion_attention_grad_v2(q, k, v, dy, 4, "BNSD", scale_value=SCALE,
                                                                                    **given, **options(here, there)), 4)
    distance = (torch.arange(24).unsqueeze(1) - torch.arange(24)).abs().double()
    bias = None if pse_type is None else -slopes.view(1, 4, 1, 1) * (distance.sqrt() if pse_type == 3 else distance)
    want, want_gradients = gradients(lambda *ts: dense(*ts, hidden(2, 24, 24), SCALE, outside=bias), [query, key, value], grad)
    for one, other in zip(got, [want[0], *want_gradients]):
        assert_equal(one, other)


def test_packed_sequences_in_a_ring():
    """Two sequences, whose keys are in two halves. Statistics of the second half join those of the first."""
    query, key, value, grad = random_tensors(1, 4, 2, 20, 20)
    lengths = [8, 20]
    first, second = [*range(0, 4), *range(8, 14)], [*range(4, 8), *range(14, 20)]
    packed = [laid_out(one, "TND") for one in (query, key, value, grad)]
    more = {"actual_seq_qlen": lengths, "actual_seq_kvlen": [4, 10], "softmax_layout": "TND"}
    parts = [(packed[1][half], packed[2][half]) for half in (first, second)]
    results = None
    for keys, values in parts:
        block = npu_fusion_attention(packed[0], keys, values, 4, "TND", scale=SCALE, **more)[:3]
        results = block if results is None else merged(results, block)
    got = [npu_fusion_attention_grad(packed[0], keys, values, packed[3], 4, "TND", scale_value=SCALE, attention_in=results[0],
                                     softmax_max=results[1], softmax_sum=results[2], **more) for keys, values in parts]
    hides = torch.ones(20, 20, dtype=torch.bool)
    hides[:8, :8] = hides[8:, 8:] = False
    want, want_gradients = gradients(lambda *ts: dense(*ts, hides, SCALE), [query, key, value], grad)
    assert_equal(results[0], laid_out(want[0], "TND"))
    assert_equal(got[0][0] + got[1][0], laid_out(want_gradients[0], "TND"))
    for number in (1, 2):
        whole = torch.empty_like(packed[number])
        whole[first], whole[second] = got[0][number], got[1][number]
        assert_equal(whole, laid_out(want_gradients[number], "TND"))
