# Tests npu_linear, npu_bmmV2 and their gradients against sums of products.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import matmul  # noqa: E402


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_linear(dtype, with_bias):
    x, weight, bias = (random(*shape, dtype=getattr(torch, dtype)) for shape in [(4, 32), (6, 32), (6,)])
    want = torch.einsum("mk,nk->mn", x.double(), weight.double()) + (bias.double() if with_bias else 0)
    got = matmul.npu_linear(x, weight, bias if with_bias else None)
    assert got.dtype == x.dtype
    torch.testing.assert_close(got, want.to(x.dtype), rtol=1e-5 if dtype == "float32" else 2**-7, atol=1e-5)


def test_linear_backward():
    x, weight, bias = (random(*shape).requires_grad_() for shape in [(4, 3), (6, 3), (6,)])
    grad = random(4, 6, seed=1)
    want = torch.autograd.grad(matmul.npu_linear(x, weight, bias), (x, weight, bias), grad)
    of_x, of_weight = matmul.npu_linear_backward(grad, x.detach(), weight.detach())
    torch.testing.assert_close(of_x, torch.einsum("mn,nk->mk", grad, weight.detach()))
    torch.testing.assert_close(of_weight, torch.einsum("mn,mk->nk", grad, x.detach()))
    torch.testing.assert_close((of_x, of_weight, grad.sum(0)), want)


SHAPES = [((3, 2, 4), (3, 4, 5)), ((2, 1, 3, 4), (6, 4, 2)), ((4,), (3, 4, 5)), ((3, 2, 4), (4,)), ((4,), (4,)), ((2, 4), (4, 3))]


@pytest.mark.parametrize("first, second", SHAPES, ids=str)
def test_bmm_v2(first, second):
    x, y = random(*first), random(*second)
    want = torch.matmul(x.double(), y.double())
    got = matmul.npu_bmmV2(x, y, [])
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)
    assert torch.equal(matmul.npu_bmmV2(x, y, [got.numel(), 1]), got.reshape(-1, 1))


@pytest.mark.parametrize("first, second", SHAPES, ids=str)
def test_bmm_v2_backward(first, second):
    x, y = random(*first).requires_grad_(), random(*second).requires_grad_()
    result = torch.matmul(x, y)
    grad = random(*result.shape, seed=1)
    of_first, of_second = torch.autograd.grad(result, (x, y), grad)
    torch.testing.assert_close(matmul.npu_bmm_v2_mat1_backward(grad, x, y, x.shape), of_first)
    torch.testing.assert_close(matmul.npu_bmm_v2_mat2_backward(grad.reshape(-1), x, y, y.shape), of_second)


def test_autocast_does_not_narrow_products():
    x, weight = random(64, 64), torch.randn(64, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = matmul.npu_linear(x, weight), matmul.npu_bmmV2(x, weight, [])
    assert torch.equal(inside[0], matmul.npu_linear(x, weight)) and torch.equal(inside[1], matmul.npu_bmmV2(x, weight, []))


ONES = torch.ones(2, 3)


@pytest.mark.parametrize("call, words", [
    (lambda: matmul.npu_linear(ONES, ONES[:, :2]), "weight has shape [2, 2] but input has [2, 3]; their second dimensions"),
    (lambda: matmul.npu_linear(ONES, ONES.half()), "weight has dtype float16 but input has float32; they must be equal"),
    (lambda: matmul.npu_linear(ONES[0], ONES), "input has 1 dimensions; accepted: 2"),
    (lambda: matmul.npu_linear(ONES, ONES, torch.ones(3)), "bias has shape [3]; it must be [2], a number per row of weight"),
    (lambda: matmul.npu_linear(ONES.half(), ONES.half(), torch.ones(2).bfloat16()), "bias has dtype bfloat16; accepted: float16, float32"),
    (lambda: matmul.npu_linear(ONES, ONES.to("meta")), "input is on cpu but weight is on meta"),
    (lambda: matmul.npu_linear_backward(ONES, ONES, ONES), "grad has shape [2, 3]; it must be [2, 2]"),
    (lambda: matmul.npu_bmmV2(ONES, ONES, []), "the factors have the shapes [2, 3] and [2, 3], which have no product"),
    (lambda: matmul.npu_bmmV2(torch.ones(2, 2, 3), torch.ones(3, 3, 2), []), "[2, 2, 3] and [3, 3, 2], which have no product"),
    (lambda: matmul.npu_bmmV2(ONES, ONES.t(), [5]), "output_sizes is [5]; it must be a shape of 4 elements"),
    (lambda: matmul.npu_bmm_v2_mat1_backward(ONES, ONES, ONES.t(), [2, 3]), "grad has shape [2, 3]; it must have 4 elements"),
    (lambda: matmul.npu_bmm_v2_mat2_backward(torch.ones(2, 2), ONES, ONES.t(), [2, 2]), "size is [2, 2]; it must be a shape of 6"),
])
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(RuntimeError, match="^npu_") as caught:
        call()
    assert words in str(caught.value)
