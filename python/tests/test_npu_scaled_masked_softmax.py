# Tests npu_scaled_masked_softmax and its gradient against formulas in float64.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from npu_functions import Operators  # noqa: E402
from openaclnn.compat.npu_ops.scaled_masked_softmax import (  # noqa: E402
    npu_scaled_masked_softmax,
    npu_scaled_masked_softmax_backward,
)


def formula(x, mask, scale):
    scores = (x * scale).masked_fill(mask, -10000)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 1, 5, 7), (1, 1, 5, 7), (5, 7), (2, 3, 1, 7), (7,)], ids=str)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)], ids=str)
def test_forward_and_backward(shape, dtype, tolerance):
    x = torch.randn(2, 3, 5, 7, dtype=dtype, requires_grad=True)
    mask, grad = torch.rand(shape) < 0.4, torch.randn(2, 3, 5, 7, dtype=dtype)
    wide = x.detach().double().requires_grad_()
    want = formula(wide, mask, 0.5)
    want.backward(grad.double())
    got = npu_scaled_masked_softmax(x, mask, 0.5)
    got.backward(grad)
    explicit = npu_scaled_masked_softmax_backward(grad, got.detach(), mask, 0.5, False)
    assert got.dtype == x.grad.dtype == explicit.dtype == dtype
    for one, other in ((got, want), (x.grad, wide.grad), (explicit, wide.grad)):
        assert torch.allclose(one.double(), other, rtol=0, atol=tolerance)
    assert not explicit[mask.expand_as(x)].any()


@pytest.mark.parametrize("sizes", [(6, 6), (4, 7), (7, 4)], ids=str)
def test_the_fixed_mask_is_a_triangle(sizes):
    x = torch.randn(2, 2, *sizes, dtype=torch.float64)
    mask = torch.ones(sizes).triu(1).bool()
    for given in (torch.zeros(1, dtype=torch.bool), ~mask):
        assert torch.allclose(npu_scaled_masked_softmax(x, given, 2.0, True), formula(x, mask, 2.0))
    y, grad = formula(x, mask, 2.0), torch.randn_like(x)
    assert torch.equal(npu_scaled_masked_softmax_backward(grad, y, ~mask, 2.0, True),
                       npu_scaled_masked_softmax_backward(grad, y, mask, 2.0, False))


def test_hidden_rows_have_equal_weights():
    assert torch.allclose(npu_scaled_masked_softmax(torch.randn(1, 1, 2, 4), torch.ones(2, 4).bool()), torch.full((1, 1, 2, 4), 0.25))


def test_gradcheck():
    x, mask = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True), torch.rand(3, 4) < 0.4
    assert torch.autograd.gradcheck(lambda x: npu_scaled_masked_softmax(x, mask, 0.7), x)
    assert torch.autograd.gradgradcheck(lambda x: npu_scaled_masked_softmax(x, mask, 0.7), x)


def test_operator_and_compilers():
    x, mask, grad = torch.randn(1, 2, 3, 4), torch.rand(3, 4) < 0.4, torch.randn(1, 2, 3, 4)

    def step(function, x, mask, grad):
        x = x.detach().requires_grad_()
        y = function(x, mask, 0.5, False)
        return y, *torch.autograd.grad(y, x, grad)

    want = step(npu_scaled_masked_softmax, x, mask, grad)
    with Operators():
        got = step(torch.ops.npu.npu_scaled_masked_softmax, x, mask, grad)
    traced = make_fx(lambda *ts: step(npu_scaled_masked_softmax, *ts), tracing_mode="symbolic")(x, mask, grad)(x, mask, grad)
    compiled = torch.compile(npu_scaled_masked_softmax, backend="aot_eager", fullgraph=True)
    for one in (got, traced, step(compiled, x, mask, grad)):
        assert torch.equal(one[0], want[0]) and torch.allclose(one[1], want[1], atol=1e-7)


@pytest.mark.parametrize("x, mask, message", [
    (torch.zeros(2, 3, 4), torch.zeros(1).bool(), "x has shape [2, 3, 4]; it must have four dimensions"),
    (torch.zeros(1, 2, 3, 4), torch.zeros(3, 4), "mask has dtype torch.float32; it must be bool"),
    (torch.zeros(1, 2, 3, 4), torch.zeros(3, 3).bool(), "mask has shape [3, 3]; it must be broadcastable to [1, 2, 3, 4]"),
    (torch.zeros(1, 2, 3, 4, dtype=torch.int32), torch.zeros(3, 4).bool(), "x has dtype int32; accepted: float32"),
], ids=["rank", "dtype of mask", "shape of mask", "dtype"])
def test_errors(x, mask, message):
    with pytest.raises(RuntimeError) as caught:
        npu_scaled_masked_softmax(x, mask)
    assert str(caught.value).startswith("npu_scaled_masked_softmax: ") and message in str(caught.value)
