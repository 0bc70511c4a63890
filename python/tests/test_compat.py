# Scripts written for torch_npu, MindSpeed and pyACL run with one import more. Each runs in a process of its own.
import subprocess
import sys

import pytest

from conftest import needs_torch

TORCH_NPU = """
import openaclnn.compat.torch_npu
# from here on the script as it was
import torch
import torch_npu

torch.npu.set_device(0)
tokens = torch.randn(64, 2, 16).npu().requires_grad_()
weight = torch.randn(8, 2).npu()
out = torch_npu.npu_nsa_compress(tokens, weight, 8, 4, actual_seq_len=[24, 64])
out.sum().backward()
grads = torch_npu.npu_nsa_compress_grad(torch.ones_like(out), tokens.detach(), weight, 8, 4, actual_seq_len=[0, 24, 64])
assert torch.equal(grads[0], tokens.grad) and out.shape == (5 + 9, 2, 16)
var, m, v, s = (torch.zeros(4).npu() for _ in range(4))
result = torch_npu.npu_apply_fused_ema_adamw(torch.ones(4), var, m, v, s, torch.tensor([1]), lr=0.5)
assert result[0] is var and torch.allclose(var, torch.full((4,), -0.5))
assert torch.nn.Linear(2, 2).npu().weight.device.type == "cpu" and torch.npu.is_available()
torch.npu.synchronize()
"""

MINDSPEED = """
import openaclnn.compat.mindspeed
# from here on the script as it was
import torch
from mindspeed.core.optimizer.fused_ema_adamw.fused_ema_adamw import FusedEmaAdamW
from mindspeed.ops.npu_apply_fused_ema_adamw import npu_apply_fused_ema_adamw
from mindspeed.optimizer.ema_adamw import FusedEmaAdamW as Same

assert Same is FusedEmaAdamW
network = torch.nn.Linear(3, 1)
optimizer = FusedEmaAdamW(network.parameters(), 0.1, 1e-8, (0.9, 0.999), ema_decay=0.9, use_num_updates=True)
for _ in range(3):
    optimizer.zero_grad()
    network(torch.ones(2, 3)).sum().backward()
    optimizer.step()
before = network.weight.detach().clone()
optimizer.store()
optimizer.copy_to()
assert torch.equal(network.weight, optimizer.state[network.weight]["ema_params"])
optimizer.restore()
assert torch.equal(network.weight, before)
optimizer.store(network.parameters())
optimizer.copy_to()
optimizer.restore(network.parameters())
assert torch.equal(network.weight, before)

import copy
import pickle

values = torch.nn.Parameter(torch.ones(3))
with_l2 = FusedEmaAdamW([values], 0.1, weight_decay=0.5, adam_w_mode=False, set_grad_none=False)
for other in (copy.deepcopy(with_l2), pickle.loads(pickle.dumps(with_l2))):
    found = []
    for optimizer in (with_l2, other):
        (parameter,) = optimizer.param_groups[0]["params"]
        parameter.grad = torch.full((3,), -0.1)
        optimizer.step()
        found.append(parameter.detach().clone())
        optimizer.zero_grad()
        assert parameter.grad.eq(0).all()
        with torch.no_grad():
            parameter.fill_(1)
        optimizer.load_state_dict({**optimizer.state_dict(), "state": {}})
    assert torch.equal(*found) and found[0][0] < 1, "weight decay of another mode"
try:
    FusedEmaAdamW(network.parameters(), amsgrad=True)
except ValueError as error:
    assert "amsgrad" in str(error)
else:
    raise SystemExit("amsgrad was accepted")
"""

ACL = """
import openaclnn.compat.acl
# from here on the script as it was
import acl
import numpy as np

assert acl.init() == 0 and acl.rt.set_device(0) == 0
count, ret = acl.rt.get_device_count()
assert ret == 0 and count >= 1
context, ret = acl.rt.create_context(0)
assert ret == 0 and context != 0
stream, ret = acl.rt.create_stream()
assert ret == 0
data = np.arange(8, dtype=np.float32)
device, ret = acl.rt.malloc(data.nbytes, 0)
assert ret == 0
assert acl.rt.memcpy(device, data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes, 1) == 0
assert acl.rt.memset_async(device, data.nbytes, 0, 4, stream) == 0 and acl.rt.synchronize_stream(stream) == 0
assert np.frombuffer(acl.util.ptr_to_bytes(device, data.nbytes), np.float32).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
start, ret = acl.rt.create_event()
end, ret = acl.rt.create_event()
assert acl.rt.record_event(start, stream) == 0 and acl.rt.record_event(end, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
milliseconds, ret = acl.rt.event_elapsed_time(start, end)
assert ret == 0 and milliseconds >= 0 and acl.rt.query_event(end) == (0, 0)
free, total, ret = acl.rt.get_mem_info(1)
assert ret == 0 and 0 < free <= total
assert acl.rt.free(device) == 0 and acl.rt.free(device) == 107000
assert "aclrtFree" in acl.get_recent_err_msg() and acl.get_recent_err_msg() == ""
assert acl.rt.get_version() == (1, 17, 0, 0) and acl.get_soc_name()
for destroy, handle in ((acl.rt.destroy_event, start), (acl.rt.destroy_event, end), (acl.rt.destroy_stream, stream),
                        (acl.rt.destroy_context, context)):
    assert destroy(handle) == 0
assert acl.rt.destroy_stream(stream) == 107017
for wrong in (lambda: acl.rt.free(), lambda: acl.rt.free(device, 1), lambda: acl.rt.malloc(8), lambda: acl.rt.create_stream(0)):
    try:
        wrong()
    except TypeError as error:
        assert "aclrt" in str(error) and "argument" in str(error), error
    else:
        raise SystemExit("a wrong number of arguments was accepted")
assert acl.rt.reset_device(0) == 0 and acl.finalize() == 0
# the arrays' own functions work on after a finalize
import openaclnn
table = np.ones((2, 2), np.float32)
assert (openaclnn.embedding(table, np.array([1])) == 1).all()
assert acl.init() == 0 and acl.finalize() == 0
assert (openaclnn.embedding(table, np.array([1])) == 1).all()
"""


def run(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_torch
def test_script_for_torch_npu():
    run(TORCH_NPU)


@needs_torch
def test_script_for_mindspeed():
    run(MINDSPEED)


def test_script_for_pyacl():
    run(ACL)


@pytest.mark.parametrize("module", ["acl", "torch_npu", "mindspeed"])
def test_installed_packages_stay_what_they_are(module, tmp_path):
    if module != "acl":
        pytest.importorskip("torch")
    (tmp_path / f"{module}.py").write_text("real = True\n")
    run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import openaclnn.compat.{module}, {module}; assert {module}.real")


@pytest.mark.parametrize("module", ["acl", "torch_npu", "mindspeed"])
def test_modules_that_are_loaded_already_stay(module):
    """As PyTorch loads an installed torch_npu by itself."""
    if module != "acl":
        pytest.importorskip("torch")
    run(f"import sys, types; real = sys.modules[{module!r}] = types.ModuleType({module!r}); before = dict(vars(real)); "
        f"import openaclnn.compat.{module}, {module}; assert {module} is real and vars(real) == before; "
        f"assert not [name for name in sys.modules if name.startswith({module + '.'!r})]")


@needs_torch
@pytest.mark.parametrize("comes", ["sys.modules['torch_npu'] = types.ModuleType('torch_npu')", "sys.path.insert(0, {folder!r})"])
def test_beside_the_real_torch_npu_nothing_of_torch_changes(comes, tmp_path):
    (tmp_path / "torch_npu.py").write_text("real = True\n")
    run(f"import sys, types, torch; {comes.format(folder=str(tmp_path))}; import openaclnn.compat.torch_npu as compat; "
        "assert not any(hasattr(where, 'npu') for where in (torch, torch.Tensor, torch.nn.Module)); "
        "assert 'torch.npu' not in sys.modules and sys.modules.get('torch_npu') is not compat")
