# Tests torch_npu.npu_apply_adam_w of openaclnn.compat: its results and the arguments it rejects. Each script runs in its own
# process.
import subprocess
import sys

import pytest

from conftest import needs_torch

START = """
import openaclnn.compat.torch_npu
import torch
import torch_npu
"""

STEPS = """
largest = torch.full((4,), 2.0)
for dtype in (torch.float32, torch.bfloat16):
    var, m, v = torch.nn.Parameter(torch.ones(4, dtype=dtype)), torch.zeros(4, dtype=dtype), torch.zeros(4, dtype=dtype)
    version = var._version
    result = torch_npu.npu_apply_adam_w(1.0, 1.0, 0.5, 0.25, 0.9, 0.999, 1e-8, torch.full((4,), 2.0, dtype=dtype), None, False,
                                        False, out=(var, m, v))
    assert result[0] is var and torch.equal(var, torch.full((4,), 0.375, dtype=dtype)) and var._version > version
    assert torch.allclose(v.float(), torch.full((4,), 0.004), rtol=0.01) and torch.allclose(m.float(), torch.full((4,), 0.2), rtol=0.01)
    torch_npu.npu_apply_adam_w(torch.tensor(0.9), 0.999, 0.5, 0.25, 0.9, 0.999, 1e-8, torch.ones(4, dtype=dtype), largest.to(dtype),
                               True, True, out=(var, m, v))
    assert torch.equal(v, largest.to(dtype))
"""

REFUSALS = """
def refused(kind, words, **changed):
    for dtype in (torch.float32, torch.bfloat16):
        var, m, v, grad, most = (torch.zeros(4, dtype=dtype) for _ in range(5))
        call = dict(beta1_power=1., beta2_power=1., lr=.1, weight_decay=0., beta1=.9, beta2=.999, epsilon=1e-8, grad=grad,
                    max_grad_norm=most, amsgrad=True, maximize=None, out=(var, m, v))
        call.update({name: change(call) for name, change in changed.items()})
        try:
            torch_npu.npu_apply_adam_w(**call)
        except kind as error:
            assert words in str(error), error
        else:
            raise SystemExit(f"{words!r} was accepted")
        assert not var.any() and not m.any() and not v.any()

refused(TypeError, "but var is torch.int64; they must be equal", out=lambda c: (torch.zeros(4, dtype=torch.int64), *c["out"][1:]))
refused(TypeError, "var is torch.float64; it must be float32", out=lambda c: tuple(t.double() for t in c["out"]),
        grad=lambda c: c["grad"].double(), max_grad_norm=lambda c: None)
refused(TypeError, "m is torch.float16 but var is", out=lambda c: (c["out"][0], c["out"][1].half(), c["out"][2]))
refused(TypeError, "grad is torch.float16 but var is", grad=lambda c: c["grad"].half())
refused((RuntimeError, ValueError), "overlap", out=lambda c: (c["out"][0], c["out"][1], c["out"][1]))
refused((RuntimeError, ValueError), "overlap", max_grad_norm=lambda c: c["out"][2])
refused((RuntimeError, ValueError), "share memory", out=lambda c: (c["out"][0][:1].expand(4), *c["out"][1:]))
refused(TypeError, "out is of type tuple with 2 entries", out=lambda c: c["out"][:2])
refused(RuntimeError, "npu_apply_adam_w: out is None; it must be (var, m, v)", out=lambda c: None)
refused(TypeError, "out is of type map", out=lambda c: map(abs, c["out"]))
refused(TypeError, "grad is of type ndarray; a tensor is needed", grad=lambda c: c["grad"].float().numpy())
refused(TypeError, "amsgrad is of type str; a bool is needed", amsgrad=lambda c: "no")
refused(TypeError, "beta1_power is of type str; a number is needed", beta1_power=lambda c: "1")
refused(TypeError, "lr is of type NoneType; a number is needed", lr=lambda c: None)
"""


@needs_torch
@pytest.mark.parametrize("script", [STEPS, REFUSALS], ids=["steps", "refusals"])
def test_adam_w_of_torch_npu(script):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", START + script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
