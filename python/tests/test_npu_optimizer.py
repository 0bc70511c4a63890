# Tests steps of npu_apply_adam_w and npu_apply_fused_ema_adamw against the formulas in float64.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import optimizer  # noqa: E402


def state(count, dtype=torch.float32):
    return [random(3, 50, dtype=dtype, seed=seed).abs() + 0.1 for seed in range(count)]


@pytest.mark.parametrize("maximize", [None, False, True])
@pytest.mark.parametrize("amsgrad", [None, False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("form", ["out", "positional"])
def test_a_step(maximize, amsgrad, dtype, form):
    lr, weight_decay, beta1, beta2, epsilon, step = 0.1, 0.2, 0.9, 0.99, 1e-6, 4
    var, m, v, grad, largest = state(5, getattr(torch, dtype))
    g, was, first, second, most = (one.double() for one in (grad, var, m, v, largest))
    g = -g if maximize else g
    first, second = beta1 * first + (1 - beta1) * g, beta2 * second + (1 - beta2) * g**2
    second = torch.maximum(second, most) if amsgrad else second
    want = was * (1 - lr * weight_decay) - lr * first / (1 - beta1**step) / ((second / (1 - beta2**step)).sqrt() + epsilon)
    numbers = beta1 ** (step - 1), beta2 ** (step - 1), lr, weight_decay, beta1, beta2, epsilon, grad, largest, amsgrad, maximize
    if form == "out":
        got = optimizer.npu_apply_adam_w(*numbers, out=(var, m, v))
    else:
        got = optimizer.npu_apply_adam_w_out(*numbers, var, m, v)
    assert [one.data_ptr() for one in got] == [one.data_ptr() for one in (var, m, v)]
    for one, other in zip(got, (want, first, second)):
        torch.testing.assert_close(one, other.to(one.dtype), rtol=1e-5 if dtype == "float32" else 2**-7, atol=1e-6)
    assert torch.equal(largest, state(5, largest.dtype)[4])


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("bias_correction", [False, True])
def test_a_step_with_averages(mode, bias_correction):
    grad, var, m, v, s = state(5)
    lr, decay, beta1, beta2, eps, weight_decay, step = 0.01, 0.9, 0.8, 0.95, 1e-6, 0.3, 3
    g, was, first, second, average = (one.double() for one in (grad, var, m, v, s))
    g = g + weight_decay * was * (1 - mode)
    first, second = beta1 * first + (1 - beta1) * g, beta2 * second + (1 - beta2) * g**2
    scales = [1 - beta**step if bias_correction else 1 for beta in (beta1, beta2)]
    was = was - lr * (first / scales[0] / ((second / scales[1]).sqrt() + eps) + weight_decay * was * mode)
    got = optimizer.npu_apply_fused_ema_adamw(grad, var, m, v, s, torch.tensor([step]), lr, decay, beta1, beta2, eps, mode,
                                              bias_correction, weight_decay)
    for one, other in zip(got, (was, first, second, decay * average + (1 - decay) * was)):
        torch.testing.assert_close(one, other.float(), rtol=1e-5, atol=1e-6)


def test_the_state_is_needed():
    with pytest.raises(RuntimeError, match=r"^npu_apply_adam_w: out is None; it must be \(var, m, v\)"):
        optimizer.npu_apply_adam_w(1.0, 1.0, 0.1, 0.0, 0.9, 0.99, 1e-6, torch.ones(3), None, False, False)
