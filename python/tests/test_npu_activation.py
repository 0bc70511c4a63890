# Tests npu_swiglu, npu_gelu, npu_fast_gelu and their gradients against formulas of single numbers.
import math

import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import activation  # noqa: E402


def each(function, *arrays):
    """Applies a function of numbers to each element."""
    values = [function(*numbers) for numbers in zip(*(array.double().flatten().tolist() for array in arrays))]
    return torch.tensor(values, dtype=torch.float64).reshape(arrays[0].shape)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("dim", [-1, 1, 0])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_swiglu(dim, dtype):
    x = random(4, 6, 8, dtype=getattr(torch, dtype))
    gate, value = x.chunk(2, dim)
    want = each(lambda a, b: a * sigmoid(a) * b, gate, value)
    got = activation.npu_swiglu(x, dim)
    assert got.dtype == x.dtype
    torch.testing.assert_close(got, want.to(x.dtype), rtol=1e-6 if dtype == "float32" else 2**-7, atol=1e-6)


def test_swiglu_backward():
    x, grad = random(4, 10), random(4, 5, seed=1)
    gate, value = x.chunk(2, -1)
    of_gate = each(lambda a, b, g: g * b * (sigmoid(a) + a * sigmoid(a) * (1 - sigmoid(a))), gate, value, grad)
    of_value = each(lambda a, g: g * a * sigmoid(a), gate, grad)
    got = activation.npu_swiglu_backward(grad, x, dim=-1)
    torch.testing.assert_close(got.double(), torch.cat((of_gate, of_value), -1), rtol=1e-5, atol=1e-6)
    needs = x.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(activation.npu_swiglu(needs), needs, grad)[0], got)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    x = random(50)
    if approximate == "none":
        want = each(lambda a: a / 2 * (1 + math.erf(a / math.sqrt(2))), x)
        slope = each(lambda a: (1 + math.erf(a / math.sqrt(2))) / 2 + a * math.exp(-a * a / 2) / math.sqrt(2 * math.pi), x)
    else:
        inner = lambda a: math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)  # noqa: E731
        want = each(lambda a: a / 2 * (1 + math.tanh(inner(a))), x)
        slope = each(lambda a: (1 + math.tanh(inner(a))) / 2 + a / 2 * (1 - math.tanh(inner(a)) ** 2) * math.sqrt(2 / math.pi)
                     * (1 + 3 * 0.044715 * a**2), x)
    torch.testing.assert_close(activation.npu_gelu(x, approximate=approximate).double(), want, rtol=1e-5, atol=1e-6)
    got = activation.npu_gelu_backward(torch.full_like(x, 2.0), x, approximate=approximate)
    torch.testing.assert_close(got.double(), 2 * slope, rtol=1e-5, atol=1e-5)


def test_gelu_without_an_approximation_is_the_default():
    x = random(5)
    assert torch.equal(activation.npu_gelu(x), activation.npu_gelu(x, approximate="none"))
    with pytest.raises(TypeError):
        activation.npu_gelu(x, "tanh")  # the schema has it as a keyword


@pytest.mark.parametrize("function", ["npu_fast_gelu", "fast_gelu"])
def test_fast_gelu(function):
    got = getattr(activation, function)(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    torch.testing.assert_close(got, torch.tensor([0.8458, 1.9357, 2.9819, 3.9956]), rtol=1e-4, atol=1e-4)


def test_fast_gelu_backward():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    got = activation.npu_fast_gelu_backward(torch.ones(4), x)
    torch.testing.assert_close(got, torch.tensor([1.06778, 1.07382, 1.02455, 1.00640]), rtol=1e-5, atol=1e-5)
    needs = x.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(activation.npu_fast_gelu(needs).sum(), needs)[0], got)


@pytest.mark.parametrize("call, words", [
    (lambda: activation.npu_swiglu(torch.ones(2, 3)), "input has shape [2, 3]; the number of elements in dimension -1 must be even"),
    (lambda: activation.npu_swiglu(torch.ones(2, 4), 2), "dim is 2 but input has 2 dimensions; accepted: -2 to 1"),
    (lambda: activation.npu_swiglu(torch.tensor(1.0)), "dim is -1 but input has 0 dimensions"),
    (lambda: activation.npu_swiglu_backward(torch.ones(2, 4), torch.ones(2, 4)), "grad_output has shape [2, 4]; it must be [2, 2]"),
    (lambda: activation.npu_gelu(torch.ones(2), approximate="erf"), "approximate is 'erf'; accepted: 'none' or 'tanh'"),
    (lambda: activation.npu_gelu(torch.ones(2).int()), "input has dtype int32"),
    (lambda: activation.npu_gelu_backward(torch.ones(3), torch.ones(2)), "grad_output has shape [3]; it must be [2]"),
    (lambda: activation.npu_fast_gelu(torch.ones(2).bool()), "npu_fast_gelu: input has dtype bool"),
    (lambda: activation.npu_fast_gelu_backward(torch.ones(3), torch.ones(2)), "grad has shape [3]; it must be [2]"),
])
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)
