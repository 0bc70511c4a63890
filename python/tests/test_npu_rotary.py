# Tests npu_rotary_mul and its gradient against rotations of pairs of numbers.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import rotary  # noqa: E402

MODES = ["half", "interleave"]


def pairs(mode, size):
    return [(t, t + size // 2) if mode == "half" else (2 * t, 2 * t + 1) for t in range(size // 2)]


def rotate_mul(x, r1, r2, mode):
    r1, r2 = r1.expand(x.shape), r2.expand(x.shape)
    result = torch.empty_like(x)
    for first, second in pairs(mode, x.shape[-1]):
        result[..., first] = x[..., first] * r1[..., first] - x[..., second] * r2[..., first]
        result[..., second] = x[..., second] * r1[..., second] + x[..., first] * r2[..., second]
    return result


def shapes(layout):
    """x and angles of a layout: batch 2, sequence 3, heads 4, size 8."""
    return {"BNSD": ((2, 4, 3, 8), (1, 1, 3, 8)), "BSND": ((2, 3, 4, 8), (1, 3, 1, 8)), "SBND": ((3, 2, 4, 8), (3, 1, 1, 8)),
            "B1SD": ((2, 4, 3, 8), (2, 1, 3, 8)), "TND": ((5, 4, 8), (5, 1, 8)), "full": ((2, 4, 3, 8), (2, 4, 3, 8))}[layout]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "SBND", "B1SD", "TND", "full"])
def test_rotary_mul(layout, mode):
    x, angles = shapes(layout)
    x, r1, r2 = random(*x), random(*angles, seed=1), random(*angles, seed=2)
    got = rotary.npu_rotary_mul(x, r1, r2, mode)
    torch.testing.assert_close(got, rotate_mul(x, r1, r2, mode))
    if mode == "half":
        assert torch.equal(rotary.npu_rotary_mul(x, r1, r2), got)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "TND", "full"])
def test_rotary_mul_backward(layout, mode):
    x, angles = shapes(layout)
    x, r1, r2 = random(*x), random(*angles, seed=1), random(*angles, seed=2)
    grad = random(*x.shape, seed=3)
    inputs = [one.clone().requires_grad_() for one in (x, r1, r2)]
    naive = torch.autograd.grad(rotate_mul(*inputs, mode), inputs, grad)
    own = torch.autograd.grad(rotary.npu_rotary_mul(*inputs, mode), inputs, grad)
    for got, mine, want in zip(rotary.npu_rotary_mul_backward(grad, x, r1, r2, mode), own, naive):
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(mine, want)


def matrix(mode, size):
    """The matrix for which x @ matrix is the rotation."""
    result = torch.zeros(size, size)
    for first, second in pairs(mode, size):
        result[second, first], result[first, second] = -1.0, 1.0
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_matrix_gives_the_same_rotation(mode, dtype):
    x, r1, r2 = (random(*shape, dtype=getattr(torch, dtype)) for shape in [(2, 3, 4, 8), (1, 3, 1, 8), (1, 3, 1, 8)])
    rotate = matrix(mode, 8).to(x.dtype)
    got = rotary.npu_rotary_mul(x, r1, r2, "half", rotate)
    assert torch.equal(got, rotary.npu_rotary_mul(x, r1, r2, mode))
    assert torch.equal(got, rotary.npu_rotary_mul(x, r1, r2, "interleave", rotate=rotate))


def test_the_matrix_gets_no_gradient():
    x, angle, rotate = random(3, 2, 4).requires_grad_(), random(3, 1, 4), matrix("half", 4).requires_grad_()
    rotary.npu_rotary_mul(x, angle, angle, rotate=rotate).sum().backward()
    assert rotate.grad is None and bool(x.grad.any())


def test_autocast_does_not_narrow_the_product():
    x, angle = random(3, 2, 64), random(3, 1, 64)
    rotate = torch.randn(64, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = rotary.npu_rotary_mul(x, angle, angle, rotate=rotate)
    assert torch.equal(got, rotary.npu_rotary_mul(x, angle, angle, rotate=rotate))


X, ANGLE = torch.ones(2, 3, 4, 8), torch.ones(1, 3, 1, 8)


@pytest.mark.parametrize("arguments, words", [
    ((X, ANGLE, ANGLE, "quarter"), "The rotary_mode of npu_rotary_mul should be half or interleave, but got quarter"),
    ((X, ANGLE[..., :4], ANGLE), "r1 has shape [1, 3, 1, 4] but input has [2, 3, 4, 8]"),
    ((X, ANGLE, ANGLE[0]), "r2 has shape [3, 1, 8] but input has [2, 3, 4, 8]"),
    ((X, ANGLE, torch.ones(1, 2, 1, 8)), "r2 has shape [1, 2, 1, 8]"),
    ((X[..., :7], ANGLE[..., :7], ANGLE[..., :7]), "the last dimension must have an even number of elements"),
    ((X[0, 0], ANGLE[0, 0], ANGLE[0, 0]), "input has 2 dimensions; accepted: 3, 4"),
    ((X, ANGLE, ANGLE, "half", torch.ones(4, 4)), "rotate has shape [4, 4]; it must be [8, 8]"),
    ((X.long(), ANGLE, ANGLE), "input has dtype int64"),
])
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(RuntimeError, match="^npu_rotary_mul: ") as caught:
        rotary.npu_rotary_mul(*arguments)
    assert words in str(caught.value)
    if len(arguments) < 5:
        with pytest.raises(RuntimeError, match="^npu_rotary_mul_backward: "):
            rotary.npu_rotary_mul_backward(arguments[0], *arguments)
    with pytest.raises(RuntimeError, match=r"grad has shape \[2\]"):
        rotary.npu_rotary_mul_backward(torch.ones(2), X, ANGLE, ANGLE)
