# Tests npu_rms_norm and its relatives against the formula in NumPy, element by element.
import numpy as np
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import norm  # noqa: E402


def rms_norm(x, gamma, epsilon):
    """y and rstd of a matrix, row by row."""
    rstd = np.array([1 / np.sqrt(sum(value**2 for value in row) / len(row) + epsilon) for row in x])
    return np.array([[value * scale * factor for value, factor in zip(row, gamma)] for row, scale in zip(x, rstd)]), rstd


@pytest.mark.parametrize("epsilon", [1e-6, 0.5])
def test_rms_norm(epsilon):
    x, gamma = random(6, 40), random(40)
    y, rstd = norm.npu_rms_norm(x, gamma, epsilon)
    want_y, want_rstd = rms_norm(x.double().numpy(), gamma.double().numpy(), epsilon)
    assert y.shape == x.shape and rstd.shape == (6, 1) and not rstd.requires_grad
    np.testing.assert_allclose(y.numpy(), want_y, rtol=1e-5)
    np.testing.assert_allclose(rstd.numpy()[:, 0], want_rstd, rtol=1e-6)
    assert torch.equal(norm.npu_rms_norm(x, gamma)[0], norm.npu_rms_norm(x, gamma, epsilon=1e-6)[0])


def test_rms_norm_over_two_dimensions():
    x, gamma = random(5, 3, 4), random(3, 4)
    y, rstd = norm.npu_rms_norm(x, gamma)
    want_y, want_rstd = rms_norm(x.double().reshape(5, 12).numpy(), gamma.double().reshape(12).numpy(), 1e-6)
    assert rstd.shape == (5, 1, 1)
    np.testing.assert_allclose(y.numpy().reshape(5, 12), want_y, rtol=1e-5)
    np.testing.assert_allclose(rstd.numpy().ravel(), want_rstd, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rms_norm_with_a_wider_gamma(dtype):
    x, gamma = random(3, 8, dtype=getattr(torch, dtype)), random(8)
    y, rstd = norm.npu_rms_norm(x, gamma)
    assert y.dtype == x.dtype and rstd.dtype == torch.float32
    assert torch.equal(y, norm.npu_rms_norm(x.float(), gamma)[0].to(x.dtype))


def test_rms_norm_backward_equals_autograd():
    x, gamma, dy = random(2, 3, 8, dtype=torch.float64), random(8, dtype=torch.float64), random(2, 3, 8, dtype=torch.float64, seed=1)
    inputs = x.clone().requires_grad_(), gamma.clone().requires_grad_()
    y, rstd = norm.npu_rms_norm(*inputs)
    got = norm.npu_rms_norm_backward(dy, x, gamma, rstd)
    for one, other in zip(got, torch.autograd.grad(y, inputs, dy)):
        torch.testing.assert_close(one, other)


def test_rms_norm_backward_has_float32_for_gamma():
    x, gamma = random(4, 8, dtype=torch.bfloat16), random(8, dtype=torch.bfloat16)
    dx, dgamma = norm.npu_rms_norm_backward(x, x, gamma, norm.npu_rms_norm(x, gamma)[1])
    assert dx.dtype == torch.bfloat16 and dgamma.dtype == torch.float32 and dgamma.shape == (8,)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_add_rms_norm_rounds_the_sum_first(dtype):
    x1, x2, gamma = (random(*shape, dtype=getattr(torch, dtype), seed=seed) for seed, shape in enumerate([(3, 16), (3, 16), (16,)]))
    y, rstd, x = norm.npu_add_rms_norm(x1, x2, gamma, 1e-5)
    assert torch.equal(x, x1 + x2) and torch.equal(y, norm.npu_rms_norm(x1 + x2, gamma, 1e-5)[0]) and rstd.shape == (3, 1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_add_rms_norm_v2_writes_its_arguments(dtype):
    x1, x2, gamma = (random(*shape, dtype=getattr(torch, dtype), seed=seed) for seed, shape in enumerate([(3, 16), (3, 16), (16,)]))
    y, rstd, x = norm.npu_add_rms_norm(x1, x2, gamma)
    assert torch.equal(norm.npu_add_rms_norm_v2(x1, x2, gamma), rstd)
    assert torch.equal(x1, y) and torch.equal(x2, x)


def test_add_rms_norm_has_gradients():
    x1, x2, gamma = (random(*shape).requires_grad_() for shape in [(3, 8), (3, 8), (8,)])
    y, _, x = norm.npu_add_rms_norm(x1, x2, gamma)
    (y.sum() + x.square().sum()).backward()
    assert torch.equal(x1.grad, x2.grad) and bool(gamma.grad.any())


def test_nan_and_inf_pass():
    x = torch.tensor([[1.0, float("nan")], [float("inf"), 1.0], [3.0, 4.0]])
    y = norm.npu_rms_norm(x, torch.ones(2))[0]
    assert y[0].isnan().all() and y[1, 0].isnan() and y[2].isfinite().all()


@pytest.mark.parametrize("arguments, words", [
    ((torch.ones(2, 8), torch.ones(7)), "gamma has shape [7] but input has [2, 8]"),
    ((torch.ones(2, 8), torch.tensor(1.0)), "gamma has shape [] but input has [2, 8]"),
    ((torch.ones(2, 8), torch.ones(3, 2, 8)), "gamma has shape [3, 2, 8]"),
    ((torch.ones(2, 8), torch.ones(8).half()), "gamma has dtype float16 but input has float32; accepted: float32"),
    ((torch.ones(2, 8).half(), torch.ones(8).bfloat16()), "accepted: float16, float32"),
    ((torch.ones(2, 8).long(), torch.ones(8)), "input has dtype int64; accepted: float32"),
])
def test_rms_norm_refuses(arguments, words):
    with pytest.raises(RuntimeError, match="^npu_rms_norm: ") as caught:
        norm.npu_rms_norm(*arguments)
    assert words in str(caught.value)


def test_relatives_refuse():
    x, gamma = torch.ones(2, 8), torch.ones(8)
    for call, words in [(lambda: norm.npu_add_rms_norm(x, x[:1], gamma), "x2 has shape [1, 8]; it must be [2, 8]"),
                        (lambda: norm.npu_add_rms_norm(x, x.half(), gamma), "x2 has dtype float16 but x1 has float32"),
                        (lambda: norm.npu_rms_norm_backward(x[:1], x, gamma, x[:, :1]), "dy has shape [1, 8]; it must be [2, 8]"),
                        (lambda: norm.npu_rms_norm_backward(x, x, gamma, x), "rstd has shape [2, 8]; it must be [2, 1]")]:
        with pytest.raises(RuntimeError) as caught:
            call()
        assert words in str(caught.value)
    with pytest.raises(TypeError, match="npu_rms_norm: gamma is of type list; a tensor is needed"):
        norm.npu_rms_norm(x, [1.0])
