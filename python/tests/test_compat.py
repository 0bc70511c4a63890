# Tests that scripts written for torch_npu and MindSpeed run with one additional import. Each runs in its own process.
import subprocess
import sys

import pytest

from conftest import needs_newer_torch, needs_torch, torch

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
cache = torch.zeros(3, 2, 16)
pages, slots, table = torch.ones(2, 8, 2, 16), torch.tensor([1], dtype=torch.int32), torch.tensor([[1, 0]], dtype=torch.int32)
result = torch_npu.npu_nsa_compress_infer(pages, weight, slots, 8, 4, 8, block_table=table, actual_seq_len=[12], cache=cache)
assert result is cache and torch.allclose(cache[1, :, 0], weight.sum(0), atol=1e-5) and not cache[[0, 2]].any()
assert torch.nn.Linear(2, 2).npu().weight.device.type == "cpu" and torch.npu.is_available()
torch.npu.synchronize()
"""

DEVICES = """
import openaclnn.compat.torch_npu
# from here on the script as it was
import io
import pickle
import torch
import torch_npu
from torch_npu.npu import amp

torch_npu.npu.set_device("npu:1")
assert torch.npu.current_device() == 1
device = torch.device("npu", torch.npu.current_device())
with torch.npu.device("npu:3"):
    assert torch.npu.current_device() == 3
assert torch.npu.current_device() == 1 and isinstance(device, torch.device) and torch.device("meta").type == "meta"
assert {type(device): 1}[torch.device] == 1 and type(device) == torch.device
for where in ("npu", "npu:0", device, torch.device("npu:0"), torch.device(type="npu", index=2), 0):
    made = torch.ones(2, device=where), torch.ones(2).to(where), torch.zeros(1).new_ones(2, device=where)
    assert all(tensor.is_npu and torch.equal(tensor, torch.ones(2)) for tensor in made)
    layer = torch.nn.Linear(2, 1, device=where).to(where)
assert torch.ones(2).to("npu:0", torch.float16, non_blocking=True).dtype == torch.float16
assert torch.ones(2).to(device="npu", dtype=torch.float16).npu(0, non_blocking=True).dtype == torch.float16
assert not torch.empty(2, device="meta").is_npu and torch.empty(2, device=torch.device("meta")).is_meta
for function in (torch.ones, torch.fft.fftfreq, torch.nn.Module.to, torch.device, torch.Generator):
    assert pickle.loads(pickle.dumps(function)) is function
for wrong in ("npu:x", "npux"):
    try:
        torch.device(wrong)
    except RuntimeError as error:
        assert wrong in str(error) or "Invalid device string" in str(error), error
    else:
        raise SystemExit(wrong + " was accepted")

one, two = (torch.Generator(device=one).manual_seed(5) for one in ("npu", device))
torch.npu.manual_seed_all(5)
drawn = torch.rand(3, generator=one, device="npu")
assert torch.equal(drawn, torch.rand(3, generator=two)) and torch.equal(drawn, torch.rand(3))

for context in (torch.autocast("npu"), torch.autocast(device_type="npu", dtype=torch.bfloat16), amp.autocast(),
                torch.npu.amp.autocast()):
    with context:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
for scaler in (amp.GradScaler(init_scale=8.0), torch.npu.amp.GradScaler(enabled=False)):
    before = layer.bias.detach().clone()
    optimizer.zero_grad()
    scaler.scale(layer(torch.ones(1, 2, device=device)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.allclose(layer.bias, before - 0.5)

start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
stream = torch.npu.Stream()
with torch.npu.stream(stream):
    assert torch.npu.current_stream() is stream
    start.record()
stream.synchronize()
torch.npu.current_stream().wait_stream(stream)
end.record(torch.npu.current_stream())
torch.npu.synchronize()
assert torch.npu.current_stream() is torch.npu.default_stream() and start.elapsed_time(end) >= 0
for event in (torch.npu.Event(), torch.npu.Event(enable_timing=True)):
    try:
        start.elapsed_time(event)
    except RuntimeError as error:
        assert "end has no time" in str(error), error
    else:
        raise SystemExit("an event without a time was accepted")

assert 0 < torch.npu.memory_allocated() <= torch.npu.max_memory_allocated() and torch.npu.mem_get_info()[0] > 0
assert torch.npu.get_device_name(0) and torch.npu.get_device_properties(0).total_memory > 0
torch.npu.empty_cache()
torch.npu.reset_peak_memory_stats()
torch.npu.set_compile_mode(jit_compile=False)
torch.npu.config.allow_internal_format = False

loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)), pin_memory=True)
assert next(iter(loader))[0].to(device, non_blocking=True).is_npu
file = io.BytesIO()
original, torch.serialization.location_tag = torch.serialization.location_tag, lambda storage: "npu:0"
torch.save({"weight": torch.ones(2)}, file)  # as it is written where there is an NPU
torch.serialization.location_tag = original
for place in (None, "npu:1", device, "cpu", {"npu:0": "npu:1"}):
    file.seek(0)
    assert torch.equal(torch.load(file, map_location=place)["weight"], torch.ones(2))
"""

ABSENT = """
import openaclnn.compat.torch_npu
import torch
import torch_npu

def refused(code, kind, name):
    try:
        exec(code)
    except kind as error:
        assert name in str(error) and "docs/from_torch_npu.md" in str(error), error
    else:
        raise SystemExit(code + " was accepted")

refused("torch_npu.npu_fused_infer_attention_score", AttributeError, "torch_npu.npu_fused_infer_attention_score")
refused("torch.npu.graphs", AttributeError, "torch.npu.graphs")
refused("from torch_npu.utils import flops_count", ModuleNotFoundError, "torch_npu.utils")
refused("import torch.npu.profiler", ModuleNotFoundError, "torch.npu.profiler")
assert not hasattr(torch_npu, "npu_fused_infer_attention_score") and not hasattr(torch.npu, "graphs")
"""

UNCHANGED = """
import sys
import torch
def found():
    places = torch, torch.Tensor, torch.nn.Module, torch.autocast, torch.fft, torch.distributed
    return {(where, name): value for where in places for name, value in vars(where).items()}
before = found()
import openaclnn.compat.torch_npu as compat
assert torch.ones(2, device="npu").is_npu and before != found()
compat.uninstall()
assert {key: value for key, value in found().items() if before.get(key) is not value and not isinstance(value, type(sys))} == {}
assert not [name for name in sys.modules if name.startswith(("torch_npu", "torch.npu"))] and not hasattr(torch, "npu")
assert not hasattr(torch.ops.npu, "npu_format_cast")
try:
    torch.ones(2, device="npu")
except RuntimeError:
    pass
else:
    raise SystemExit("npu still has a meaning")
del sys.modules["openaclnn.compat.torch_npu"]
import openaclnn.compat.torch_npu
assert torch.ops.npu.npu_format_cast(torch.ones(2, device="npu"), 2).sum() == 2
"""

CONTEXTS = """
import openaclnn.compat.torch_npu
import torch
for made in ("npu", "npu:0"):
    with torch.device(made):
        assert torch.ones(2).is_npu
    torch.set_default_device(made)
    assert torch.ones(2).is_npu
    torch.set_default_device(None)
with torch.device("meta"):
    assert torch.ones(2).is_meta and torch.nn.Linear(2, 2).weight.is_meta and torch.ones(2, device="npu").is_npu

@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    device = torch.device("npu")
    return torch.ones(2, device=device) + torch.zeros(2, device=x.device).to(device) + torch.ones(2, device="npu:0")

assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
"""

PROCESSES = """
import openaclnn.compat.torch_npu
import os
import torch
import torch.distributed as dist
import torch_npu

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
with __import__("tempfile").TemporaryDirectory() as folder:
    dist.init_process_group(backend="hccl", init_method="file://" + folder + "/store", rank=0, world_size=1)
    assert dist.get_backend() == "gloo" and dist.get_backend(dist.new_group(backend="hccl")) == "gloo"
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).npu(), device_ids=[0], output_device=0)
    model(torch.ones(1, 2).npu()).sum().backward()
    assert torch.equal(model.module.weight.grad, torch.ones(1, 2))
    dist.destroy_process_group()
"""

SCRIPTED = """
import openaclnn.compat.torch_npu
import torch

@torch.jit.script
def scripted(x: torch.Tensor, device: torch.device):
    return x.to(device) + torch.ones(2, device=torch.device("cpu")) + torch.arange(2)

assert torch.equal(scripted(torch.zeros(2), torch.device("npu")), torch.tensor([1.0, 2.0]))
"""

MINDSPEED = """
import openaclnn.compat.mindspeed
# from here on the script as it was
import torch
from mindspeed.core.optimizer.fused_ema_adamw.fused_ema_adamw import FusedEmaAdamW
from mindspeed.ops.npu_apply_fused_ema_adamw import npu_apply_fused_ema_adamw
from mindspeed.optimizer.ema_adamw import FusedEmaAdamW as Same

assert Same is FusedEmaAdamW
import importlib.util
assert all(importlib.util.find_spec(name) for name in ("torch_npu", "mindspeed", "mindspeed.optimizer"))
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
optimizer.store(optimizer.param_groups)
optimizer.copy_to()
assert not torch.equal(network.weight, before)
optimizer.restore(optimizer.param_groups)
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
except RuntimeError as error:
    assert "amsgrad" in str(error)
else:
    raise SystemExit("amsgrad was accepted")
"""


def run(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_torch
@pytest.mark.parametrize("script", ["TORCH_NPU", "DEVICES", "ABSENT", "UNCHANGED"])
def test_script_for_torch_npu(script):
    run(globals()[script])


@needs_newer_torch(2, 1)
def test_contexts_and_compiled_functions_know_the_device():
    run(CONTEXTS)


@needs_torch
def test_functions_of_torchscript_know_the_device(tmp_path):
    """TorchScript needs a file."""
    program = tmp_path / "scripted.py"
    program.write_text(SCRIPTED)
    run(f"import runpy; runpy.run_path({str(program)!r})")


@needs_torch
def test_processes_of_hccl_run_with_gloo():
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    run(PROCESSES)


@needs_torch
def test_script_for_mindspeed():
    run(MINDSPEED)


@pytest.mark.parametrize("module", ["acl", "torch_npu", "mindspeed"])
def test_installed_packages_stay_what_they_are(module, tmp_path):
    if module != "acl":
        pytest.importorskip("torch")
    (tmp_path / f"{module}.py").write_text("real = True\n")
    run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import openaclnn.compat.{module}, {module}; assert {module}.real")


@pytest.mark.parametrize("module", ["acl", "torch_npu", "mindspeed"])
def test_modules_that_are_loaded_already_stay(module):
    """Tests autoloading, as PyTorch loads an installed torch_npu."""
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
        "assert type(torch.device) is type and torch.Tensor.to is torch.Tensor.__base__.to; "
        "assert 'torch.npu' not in sys.modules and sys.modules.get('torch_npu') is not compat")
