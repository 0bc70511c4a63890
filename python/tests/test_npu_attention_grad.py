# Tests the gradients of attention from given statistics, attention in parts of the keys, and attention inside compilers.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from npu_attention import (  # noqa: E402
    COMPRESSED,
    assert_equal,
    gradients,
    laid_out,
    merged,
    one_thread,  # noqa: F401
    random_tensors,
)
from npu_functions import Operators  # noqa: E402
from openaclnn.compat.npu_ops.attention import npu_fusion_attention, npu_fusion_attention_v2  # noqa: E402
from openaclnn.compat.npu_ops.attention_grad import npu_fusion_attention_grad, npu_fusion_attention_grad_v2  # noqa: E402

SCALE = 0.3
MASK = {"atten_mask": COMPRESSED, "sparse_mode": 3}


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD", "TND", "TND in order"])
@pytest.mark.parametrize("keep_prob", [1.0, 0.6])
def test_gradients_from_statistics_are_those_of_autograd(layout, keep_prob):
    *tensors, grad = (laid_out(one, layout[:4].strip()) for one in random_tensors(1, of_value=5))
    more = dict(MASK, keep_prob=keep_prob, seed=9, offset=4)
    if layout.startswith("TND"):
        more.update(actual_seq_qlen=[5, 13], actual_seq_kvlen=[7, 19], softmax_layout="TND" if "order" in layout else "")
    results, want = gradients(lambda *ts: npu_fusion_attention(*ts, 4, layout[:4].strip(), scale=SCALE, **more), tensors, grad)
    *got, dpse, dsink = npu_fusion_attention_grad(*tensors, grad, 4, layout[:4].strip(), scale_value=SCALE, softmax_max=results[1],
                                                  softmax_sum=results[2], attention_in=results[0], numels=results[6], **more)
    assert dpse is None and dsink.shape == (0,)
    for one, other in zip(got, want):
        assert one.is_contiguous() and torch.equal(one, other)


@pytest.mark.parametrize("version", [1, 2])
def test_gradients_of_position_encodings_and_sinks(version):
    *tensors, grad = random_tensors()
    tensors += [torch.randn(1, 4, 13, 19, dtype=torch.float64), torch.randn(4, dtype=torch.float64)]
    function, gradient = ((npu_fusion_attention, npu_fusion_attention_grad) if version == 1 else
                          (npu_fusion_attention_v2, npu_fusion_attention_grad_v2))
    more = MASK if version == 1 else dict(MASK, pse_type=0)
    results, want = gradients(lambda q, k, v, pse, sink: function(q, k, v, 4, "BNSD", pse=pse, sink=sink, scale=SCALE, **more), tensors, grad)
    got = gradient(*tensors[:3], grad, 4, "BNSD", pse=tensors[3], sink=tensors[4], scale_value=SCALE, softmax_max=results[1],
                   softmax_sum=results[2], attention_in=results[0], **more)
    got = got if version == 1 else [*got[:4], got[6]]
    for one, other in zip(got, want):
        assert torch.equal(one, other)
    if version == 2:
        empty = gradient(*tensors[:3], grad, 4, "BNSD", softmax_max=results[1], softmax_sum=results[2], attention_in=results[0])
        assert len(empty) == 7 and all(one.shape == (0,) for one in empty[3:])


def test_parts_of_the_keys_add_up():
    """As in ring attention: causal over a sequence whose keys are in three parts."""
    query, key, value, grad = random_tensors(1, 4, 2, 12, 12)
    causal = {"atten_mask": COMPRESSED, "sparse_mode": 3, "scale": SCALE}
    whole, want = gradients(lambda *ts: npu_fusion_attention(*ts, 4, "BNSD", **causal), [query, key, value], grad)
    hides = torch.ones(12, 12, dtype=torch.bool).triu(1)
    parts = [(key[:, :, keys], value[:, :, keys], hides[:, keys].contiguous()) for keys in (slice(0, 4), slice(4, 8), slice(8, 12))]
    results = None
    for part_key, part_value, mask in parts:
        part = npu_fusion_attention(query, part_key, part_value, 4, "BNSD", atten_mask=mask, sparse_mode=1, scale=SCALE)[:3]
        results = part if results is None else merged(results, part)
    for one, other in zip(results, whole):
        assert_equal(one, other)
    got = [npu_fusion_attention_grad(query, part_key, part_value, grad, 4, "BNSD", atten_mask=mask, sparse_mode=1, scale_value=SCALE,
                                     softmax_max=results[1], softmax_sum=results[2], attention_in=results[0])
           for part_key, part_value, mask in parts]
    assert_equal(sum(part[0] for part in got), want[0])
    assert_equal(torch.cat([part[1] for part in got], 2), want[1])
    assert_equal(torch.cat([part[2] for part in got], 2), want[2])


def test_queries_without_keys_merge_and_pass_no_gradient():
    query, key, value, grad = random_tensors(1)
    nothing = torch.ones(13, 19, dtype=torch.bool)
    empty = npu_fusion_attention(query, key, value, 4, "BNSD", atten_mask=nothing, sparse_mode=1)[:3]
    some = npu_fusion_attention(query, key, value, 4, "BNSD")[:3]
    for one, other in zip(merged(empty, some), some):
        assert_equal(one, other)
    assert not merged(empty, empty)[0].any()
    got = npu_fusion_attention_grad(query, key, value, grad, 4, "BNSD", atten_mask=nothing, sparse_mode=1, softmax_max=empty[1],
                                    softmax_sum=empty[2], attention_in=empty[0])
    assert not any(one.any() for one in got[:3])


@pytest.mark.parametrize("wrong, message", [
    ({"dy": torch.zeros(2, 4, 13, 7)}, "dy is a tensor of shape [2, 4, 13, 7] and dtype float32; it must have the shape of the output"),
    ({"attention_in": None}, "attention_in is None; it must have the shape of the output, [2, 4, 13, 8]"),
    ({"softmax_max": torch.zeros(2, 4, 12, 8)}, "softmax_max is a tensor of shape [2, 4, 12, 8]"),
    ({"softmax_sum": None}, "softmax_sum is None; it must have the shape [2, 4, 13, 8]"),
], ids=["dy", "attention_in", "softmax_max", "softmax_sum"])
def test_errors(wrong, message):
    query, key, value, grad = random_tensors(dtype=torch.float32)
    statistic = torch.ones(2, 4, 13, 8)
    given = {"dy": grad, "attention_in": grad, "softmax_max": statistic, "softmax_sum": statistic, **wrong}
    with pytest.raises(RuntimeError) as caught:
        npu_fusion_attention_grad(query, key, value, head_num=4, input_layout="BNSD", **given)
    assert str(caught.value).startswith("npu_fusion_attention_grad: ") and message in str(caught.value)


# ---- torch.ops.npu and compilers


def training_step(call, *tensors):
    """Returns the output of attention with all optional tensors, and its gradients."""
    query, key, value, mask, pse, sink, grad = tensors
    leaves = [one.detach().requires_grad_() for one in (query, key, value, pse, sink)]
    out, top, total, *_ = call(*leaves[:3], 4, "BSND", pse=leaves[3], atten_mask=mask, scale=SCALE, sparse_mode=2, sink=leaves[4])
    return (out, top, total, *torch.autograd.grad(out, leaves, grad))


def step_tensors():
    query, key, value, grad = (laid_out(one, "BSND").float() for one in random_tensors())
    return query, key, value, COMPRESSED, torch.randn(1, 4, 13, 19), torch.randn(4), grad


def test_operators_give_the_same():
    tensors = step_tensors()
    want = training_step(npu_fusion_attention, *tensors)
    with Operators():
        for one, other in zip(training_step(torch.ops.npu.npu_fusion_attention, *tensors), want):
            assert torch.equal(one, other)
        query, key, value, grad = random_tensors()
        results = torch.ops.npu.npu_fusion_attention_v2(query, key, value, 4, "BNSD")
        given = {"softmax_max": results[1], "softmax_sum": results[2], "attention_in": results[0]}
        assert results[4:] == (0, 0, 0)
        for one, other in zip(torch.ops.npu.npu_fusion_attention_grad(query, key, value, grad, 4, "BNSD", **given),
                              npu_fusion_attention_grad(query, key, value, grad, 4, "BNSD", **given)):
            assert (one is None and other is None) or torch.equal(one, other)
        assert len(torch.ops.npu.npu_fusion_attention_grad_v2(query, key, value, grad, 4, "BNSD", **given)) == 7
        packed = torch.ops.npu._npu_dropout_gen_mask(query, [2, 3], 0.5, 1, 2)
        assert packed.shape == (16,)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode):
    tensors = step_tensors()
    graph = make_fx(lambda *ts: training_step(npu_fusion_attention, *ts), tracing_mode=mode)(*tensors)
    names = [str(node.target) for node in graph.graph.nodes]
    assert any("attention_backward" in name for name in names) and not any("bmm" in name for name in names)
    for one, other in zip(graph(*tensors), training_step(npu_fusion_attention, *tensors)):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile(dynamic):
    compiled = torch.compile(lambda q, k, v, mask: npu_fusion_attention(
        q * 2, k, v, 4, "BNSD", atten_mask=mask, scale=SCALE, sparse_mode=3)[0].sin(), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (13, 17):
        query, key, value, grad = random_tensors(rows=rows, dtype=torch.float32)
        want = gradients(lambda q, k, v: [npu_fusion_attention(q * 2, k, v, 4, "BNSD", scale=SCALE, **MASK)[0].sin()], [query, key, value], grad)
        got = gradients(lambda q, k, v: [compiled(q, k, v, COMPRESSED)], [query, key, value], grad)
        for one, other in zip([*got[0], *got[1]], [*want[0], *want[1]]):
            assert_equal(one, other, 1e-6)


@pytest.mark.filterwarnings("ignore")
def test_dropout_inside_compilers():
    """Without a seed the generator's state is read outside of the graph, so make_fx needs one."""
    query, key, value, _ = random_tensors(dtype=torch.float32)

    def call(*tensors, **state):
        return npu_fusion_attention(*tensors, 4, "BNSD", keep_prob=0.5, **state)[0] + 1

    compiled = torch.compile(call, backend="aot_eager")
    for _ in range(2):
        torch.manual_seed(3)
        want = [call(query, key, value) for _ in range(2)]
        torch.manual_seed(3)
        assert all(torch.equal(compiled(query, key, value), one) for one in want) and not torch.equal(*want)
    graph = make_fx(lambda *tensors: call(*tensors, seed=5), tracing_mode="symbolic")(query, key, value)
    assert torch.equal(graph(query, key, value), call(query, key, value, seed=5))


@pytest.mark.parametrize("layout, shape, statistics", [
    ("BSH", (2, 13, 20), (2, 4, 13, 8)), ("SBH", (13, 2, 20), (2, 4, 13, 8)), ("BSND", (2, 13, 4, 5), (2, 4, 13, 8)),
    ("BNSD", (2, 4, 13, 5), (2, 4, 13, 8)), ("TND", (13, 4, 5), (13, 4, 8))])
def test_shapes_without_data(layout, shape, statistics):
    *tensors, grad = (laid_out(one, layout).half() for one in random_tensors(of_value=5))
    more = {"actual_seq_qlen": [13], "actual_seq_kvlen": [19]} if layout == "TND" else {}
    want = npu_fusion_attention(*tensors, 4, layout, **more)
    got = npu_fusion_attention(*(one.to("meta") for one in tensors), 4, layout, **more)
    assert [one.shape for one in got[:4]] == [shape, statistics, statistics, (0,)]
    for one, other in zip(got[:4], want):
        assert one.shape == other.shape and one.dtype == other.dtype and one.stride() == other.stride()
    assert got[4:] == want[4:] == (0, 0, 0)
    back = npu_fusion_attention_grad(*(one.to("meta") for one in (*tensors, grad)), 4, layout, softmax_max=got[1], softmax_sum=got[2],
                                     attention_in=got[0], **more)
    assert [(one.shape, one.dtype) for one in back[:3]] == [(one.shape, one.dtype) for one in tensors]
