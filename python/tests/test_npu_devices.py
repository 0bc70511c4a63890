# Tests of the device layer of torch_npu: torch.npu, pinned memory, transfer_to_npu. Each program runs in its own process.
import subprocess
import sys

from conftest import needs_newer_torch, needs_torch

FUNCTIONS = """
import openaclnn.compat.torch_npu
import os
import torch
import torch_npu
from torch_npu.npu import _lazy_call, device as device_ctx_manager
from torch_npu.npu.memory import max_memory_allocated
from torch_npu.npu.streams import Stream

# numbers of devices
assert torch_npu.npu is torch.npu and torch.npu.device_count() >= 1 and torch.npu.can_device_access_peer(0, 1)
with device_ctx_manager(5):
    assert torch.npu.current_device() == 5
with torch.npu.device_of(torch.ones(1)), torch.npu.device(None):
    assert torch.npu.current_device() == 0
called = []
_lazy_call(lambda: called.append(1))
assert called == [1] and torch.npu.is_initialized() and torch.npu.is_bf16_supported()

# streams and events
first, second = Stream(), torch.npu.Stream(priority=-1)
numbers = [stream.npu_stream for stream in (torch.npu.current_stream(), first, second)]
assert numbers[0] == 0 and len(set(numbers)) == 3 and second.priority == -1
torch.npu.set_stream(second)
assert torch.npu.current_stream("npu:0") is second and not torch.npu.is_current_stream_capturing()
with torch.npu.stream(None):
    assert torch.npu.current_stream() is second
torch.npu.set_stream(torch.npu.default_stream())
event = second.record_event()
assert event.query() and second.query()
first.wait_event(event)
event.synchronize()
event.wait(first)
external = torch.npu.ExternalEvent()
external.record(first)
external.wait(second)
external.reset(second)

# memory: a tensor of 64 MiB raises the figures, and after its release the peak can be reset
size = 64 * 2**20
before = torch.npu.memory_allocated()
tensor = torch.ones(size // 4, device="npu")
stats = torch.npu.memory_stats()
assert torch.npu.memory_allocated() - before > size // 2
assert stats["allocated_bytes.all.current"] <= stats["allocated_bytes.all.peak"] and stats["num_ooms"] == 0
peak = max_memory_allocated()
assert peak >= before + size // 2 and torch.npu.max_memory_reserved() >= peak
del tensor
torch.npu.empty_cache()
assert torch.npu.max_memory_allocated() >= peak - 2**20  # the system's counters are exact to some pages
torch.npu.reset_peak_memory_stats()
if os.access("/proc/self/clear_refs", os.W_OK):
    assert torch.npu.max_memory_allocated() < peak - size // 2, (peak, torch.npu.max_memory_allocated())
assert torch.npu.memory_summary().count("MiB") == 4
free, total = torch.npu.mem_get_info(0)
assert 0 < free <= total == torch.npu.get_device_properties("npu").total_memory

# random numbers
torch.npu.manual_seed(7)
state, drawn = torch.npu.get_rng_state("npu:0"), torch.rand(3, device="npu")
assert torch.npu.initial_seed() == 7
torch.npu.default_generators[torch.npu.current_device()].set_state(state)
assert torch.equal(torch.rand(3), drawn)
torch.npu.set_rng_state_all(torch.npu.get_rng_state_all())
torch.npu.random.set_rng_state(state, "npu")
assert torch.equal(torch.rand(3).npu(), drawn)
torch.npu.seed_all()
assert torch.npu.initial_seed() != 7

# types
assert torch.npu.FloatTensor([1, 2]).dtype == torch.float32 and isinstance(torch.ones(2).npu(), torch.npu.FloatTensor)
assert torch.ones(2).type("torch.npu.HalfTensor").dtype == torch.float16 and torch.ones(2).type(torch.int8).dtype == torch.int8
assert torch.ones(2).npu(memory_format=torch.contiguous_format).type() == "torch.FloatTensor"
"""

MODELS = """
import openaclnn.compat.torch_npu
import copy
import io
import torch

# pinned memory
tensor = torch.ones(3, pin_memory=True)
assert tensor.pin_memory() is tensor and tensor.is_pinned() and tensor.pin_memory("npu").npu().is_pinned()
assert torch.ones(1).new_zeros(2, pin_memory=True, device="npu").shape == (2,) and not torch.empty(2, device="meta").is_pinned()

# a module, an optimizer and a data loader; with and without "npu" they give the same numbers
def trained(device):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.LSTM(8, 2)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 4)), batch_size=3, shuffle=True,
                                         pin_memory=device == "npu", num_workers=2 if device == "npu" else 0)
    for (batch,) in loader:
        optimizer.zero_grad(set_to_none=True)
        output = torch.utils.checkpoint.checkpoint(model, batch.to(device, non_blocking=True), use_reentrant=False)
        output[0].square().sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model, optimizer

(model, optimizer), (other, _) = trained("npu"), trained("cpu")
assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters()))

# checkpoints
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
saved = torch.load(file, map_location="npu:0")
fresh = copy.deepcopy(other)
fresh.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
assert all(torch.equal(one, two) for one, two in zip(model.parameters(), fresh.parameters()))
assert model.npu(0) is model and next(model.parameters()).is_npu

# mixed precision
from torch.npu.amp import autocast, custom_bwd, custom_fwd

class Doubled(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        assert x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        return 2 * x

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return 2 * grad

x = torch.ones(2, dtype=torch.bfloat16, device="npu", requires_grad=True)
with autocast(dtype=torch.bfloat16):
    result = Doubled.apply(x)
result.sum().backward()
assert torch.equal(x.grad, torch.full((2,), 2, dtype=torch.bfloat16))
"""

TRANSFERRED = """
import openaclnn.compat.torch_npu
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
# from here on a program for GPUs
import io
import sys
import tempfile
import torch.distributed as dist
from torch.cuda.amp import GradScaler, autocast
from torch.cuda.random import get_rng_state

assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
torch.manual_seed(1)
drawn = torch.rand(2)
torch.cuda.manual_seed_all(1)
state = get_rng_state()
assert torch.equal(torch.rand(2, device="cuda"), drawn)
torch.cuda.default_generators[0].set_state(state)
assert torch.equal(torch.rand(2).cuda(non_blocking=True), drawn)
torch.cuda.set_device(3)
assert torch.cuda.current_device() == torch.npu.current_device() == 3
with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()) as _:
    assert torch.cuda.current_device() == 0
for where in ("cuda", "cuda:1", torch.device("cuda"), torch.device("cuda", 0), 0, "npu"):
    tensor = torch.ones(2, device=where)
    assert tensor.is_cuda and tensor.to(where).is_npu and tensor.new_ones(1, device=where).device.type == "cpu"
assert torch.nn.LSTM(2, 2).cuda()(torch.ones(3, 2).cuda())[0].is_cuda
model = torch.nn.Sequential(torch.nn.Linear(2, 2)).cuda()
optimizer = torch.optim.Adam(model.parameters())
scaler = GradScaler()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
with autocast(), torch.autocast("cuda", torch.bfloat16):
    loss = model(torch.ones(3, 2).pin_memory().cuda()).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) > 0 and torch.cuda.max_memory_allocated() > 0 and torch.cuda.mem_get_info()[0] > 0
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
assert torch.load(file, map_location="cuda:0")["0.weight"].is_cuda
assert torch.cuda.FloatTensor([1]).type() == "torch.FloatTensor" and torch.cuda.DoubleTensor([1]).dtype == torch.float32
with torch.random.fork_rng():
    torch.rand(3)
with torch.random.fork_rng(device_type="npu"):
    torch.rand(3)

@torch.compile(backend="eager")
def compiled(x):
    return x.to("cuda") + torch.ones(2, device="cuda")

assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
assert dist.is_nccl_available()
with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("nccl", init_method="file://" + folder + "/store", rank=0, world_size=1)
    tensor = torch.ones(2).cuda()
    dist.all_reduce(tensor)
    dist.barrier()
    assert dist.get_backend() == "gloo" and torch.equal(tensor, torch.ones(2))
    dist.destroy_process_group()

openaclnn.compat.torch_npu.uninstall()
assert not torch.cuda.is_available() and not hasattr(torch, "npu") and not torch.ones(1).is_cuda
assert not [name for name in sys.modules if name.startswith("torch_npu")]
try:
    torch.ones(1, device="cuda")
except (AssertionError, RuntimeError):
    pass
else:
    raise SystemExit("cuda still has a meaning")
import importlib
importlib.reload(openaclnn.compat.torch_npu)
assert torch.ones(1, device="npu").is_npu and not torch.cuda.is_available()
"""

PARTS = """
import openaclnn.compat.torch_npu
import pathlib
import tempfile
import torch
import torch_npu
from torch_npu.optim import NpuFusedAdamW

values = [torch.nn.Parameter(torch.tensor([3.0, -4.0]).npu()) for _ in range(2)]
optimizers = NpuFusedAdamW(values[:1], lr=0.1, weight_decay=0.2), torch.optim.AdamW(values[1:], lr=0.1, weight_decay=0.2)
for value, optimizer in zip(values, optimizers):
    value.square().sum().mul(0.5).backward()
norm = optimizers[0].clip_grad_norm_fused_(2.5)
assert abs(norm - 5) < 1e-5 and torch.allclose(values[0].grad, torch.tensor([1.5, -2.0]))
torch.nn.utils.clip_grad_norm_(values[1:], 2.5)
for optimizer in optimizers:
    optimizer.step()
assert torch.equal(*values) and values[0][0] < 3

with tempfile.TemporaryDirectory() as folder:
    settings = torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
                                                      aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization)
    with torch_npu.profiler.profile(
            activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
            schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
            on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(folder), experimental_config=settings) as profiler:
        for _ in range(3):
            torch.ones(8, 8).npu() @ torch.ones(8, 8)
            profiler.step()
    (trace,) = pathlib.Path(folder).iterdir()
    assert "aten::mm" in trace.read_text()
"""

ABSENT = """
import openaclnn.compat.torch_npu
import torch
import torch_npu

def refused(code, name, kinds=(AttributeError, NotImplementedError)):
    try:
        exec(code)
    except kinds[0] as error:
        assert all(isinstance(error, kind) for kind in kinds) and name in str(error), error
        assert "docs/from_torch_npu.md" in str(error), error
    else:
        raise SystemExit(code + " was accepted")

refused("torch.npu.NPUGraph()", "torch.npu.NPUGraph")
refused("torch.npu.graph", "torch.npu.graph")
refused("torch.npu.memory.NPUPluggableAllocator", "torch.npu.memory.NPUPluggableAllocator")
refused("torch.npu.amp.autocast_mode", "torch.npu.amp.autocast_mode")
refused("torch_npu.optim.NpuFusedSGD", "torch_npu.optim.NpuFusedSGD")
refused("torch_npu.profiler.analyse", "torch_npu.profiler.analyse")
refused("import torch_npu.utils.flops_count", "torch_npu.utils", [ModuleNotFoundError])
refused("from torch_npu.npu import _recovery", "torch_npu.npu._recovery", [ModuleNotFoundError])
for module, name in ((torch.npu, "NPUGraph"), (torch_npu, "npu_no_such_function"), (torch.npu, "SomeTensor")):
    assert not hasattr(module, name) and name not in dir(module)
"""


def run(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_torch
def test_functions_of_torch_npu():
    run(FUNCTIONS)


@needs_newer_torch(2, 4)
def test_modules_optimizers_loaders_and_checkpoints():
    """torch.amp.custom_fwd is new in 2.4."""
    run(MODELS)


@needs_newer_torch(2, 1)
def test_programs_for_gpus_are_transferred():
    run(TRANSFERRED)


@needs_newer_torch(2, 0)
def test_optimizer_and_profiler():
    run(PARTS)


@needs_torch
def test_missing_names_raise_the_error_of_the_registry():
    run(ABSENT)
