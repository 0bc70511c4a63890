# Tests examples/judge/msprobe: the goldens as functions, and registered with msprobe on a dump that this test makes.
import csv
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import openaclnn
from conftest import needs_newer_torch, torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "judge" / "msprobe"


@pytest.fixture(scope="module")
def goldens():
    spec = importlib.util.spec_from_file_location("openaclnn_goldens", FOLDER / "openaclnn_goldens.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def windows(dtype="float32"):
    tokens, weight = torch.randn(64, 2, 16), torch.randn(8, 2)
    return tokens.to(getattr(torch, dtype)), weight.to(getattr(torch, dtype)), 8, 4


def state(dtype="float32", count=5):
    return [torch.rand(300).to(getattr(torch, dtype)) for _ in range(count)]


LENGTHS = [24, 64]


@needs_newer_torch(2, 0)
@pytest.mark.parametrize("raised, dtype", [("float64", "float32"), ("float32", "float16"), ("float32", "bfloat16")])
def test_compression_with_gradients(goldens, raised, dtype):
    """msprobe passes wider tensors. The golden is the formula in float64, rounded to the wider dtype."""
    wide = getattr(torch, raised)
    tokens, weight, block, stride = (one.to(wide).requires_grad_() if torch.is_tensor(one) else one for one in windows(dtype))
    out = goldens.openaclnn_nsa_compress(tokens, weight, block, stride, actual_seq_len=LENGTHS)
    starts = [*range(0, 17, 4), *range(24, 57, 4)]
    copies = [one.detach().double().requires_grad_() for one in (tokens, weight)]
    expected = torch.stack([torch.einsum("ln,lnd->nd", copies[1], copies[0][start:start + 8]) for start in starts])
    assert out.dtype == wide
    torch.testing.assert_close(out, expected.to(wide), rtol=1e-7, atol=1e-7)
    grad = torch.randn(out.shape).to(getattr(torch, dtype))
    out.backward(grad.to(wide))
    expected.backward(grad.double())
    for one, copy in zip((tokens, weight), copies):
        torch.testing.assert_close(one.grad, copy.grad.to(wide), rtol=1e-6, atol=1e-6)
    pair = goldens.openaclnn_nsa_compress_grad(grad.to(wide), tokens, weight, block, stride, actual_seq_len=LENGTHS)
    assert torch.equal(pair[0], tokens.grad) and torch.equal(pair[1], weight.grad)


@needs_newer_torch(2, 0)
def test_optimizers(goldens):
    grad, var, m, v, s = state()
    found = goldens.openaclnn_apply_fused_ema_adamw(*(one.double() for one in (grad, var, m, v, s)), torch.tensor([3]), 0.1, 0.5,
                                                    weight_decay=0.25)
    step = openaclnn.golden("apply_fused_ema_adam", grad=grad, var=var, m=m, v=v, s=s, step=3, lr=0.1, ema_decay=0.5, weight_decay=0.25)
    assert all(np.array_equal(one.numpy(), step[name].exact) for one, name in zip(found, ("var", "m", "v", "s")))
    found = goldens.openaclnn_apply_adam_w(0.81, 0.98, 0.1, 0.25, 0.9, 0.99, 1e-6, grad.double(), None, False, False,
                                           out=tuple(one.double() for one in (var, m, v)))
    numbers = dict(zip(("beta1_power", "beta2_power", "lr", "weight_decay", "beta1", "beta2", "eps"),
                       ([0.81], [0.98], [0.1], [0.25], [0.9], [0.99], [1e-6])))
    step = openaclnn.golden("ApplyAdamW", grad=grad, var=var, m=m, v=v,
                            **{name: np.array(number, np.float32) for name, number in numbers.items()})
    assert all(np.array_equal(one.numpy(), step[name].exact) for one, name in zip(found, ("var", "m", "v")))


@needs_newer_torch(2, 0)
def test_the_cache(goldens):
    tokens, weight, block, stride = windows()
    tokens, cache = tokens[:8], torch.randn(4, 2, 16)
    slots = torch.tensor([2], dtype=torch.int32)
    found = goldens.openaclnn_nsa_compress_infer(tokens.double(), weight.double(), slots, block, stride, 0, actual_seq_len=[8],
                                                 cache=cache.double())
    expected = cache.double()
    expected[2] = torch.einsum("ln,lnd->nd", weight.double(), tokens.double())
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


@needs_newer_torch(2, 0)
def test_numbers_that_no_operator_has_are_refused(goldens):
    tokens, weight, block, stride = windows()
    with pytest.raises(ValueError, match="input has numbers that float32 cannot hold"):
        goldens.openaclnn_nsa_compress(tokens.double() + 1e-12, weight.double(), block, stride, actual_seq_len=LENGTHS)


class Dump:
    """A dump of task tensor in msprobe's layout."""

    def __init__(self, folder):
        self.folder, self.data = folder, {}
        (folder / "dump_tensor_data").mkdir()

    def entry(self, value, name, needs_grad=False):
        if isinstance(value, (list, tuple)):
            return [self.entry(one, f"{name}.{i}") for i, one in enumerate(value)]
        if not torch.is_tensor(value):
            return None if value is None else {"type": type(value).__name__, "value": value}
        torch.save(value, self.folder / "dump_tensor_data" / f"{name}.pt")
        wide = value.double()
        return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), "Max": wide.max().item(),
                "Min": wide.min().item(), "Mean": wide.mean().item(), "Norm": wide.norm().item(), "requires_grad": needs_grad,
                "data_name": f"{name}.pt"}

    def forward(self, call, args, kwargs, outputs, needs_grad=False):
        key = f"NPU.{call}.0.forward"
        self.data[key] = {"input_args": [self.entry(one, f"{key}.input.{i}", needs_grad) for i, one in enumerate(args)],
                          "input_kwargs": {name: self.entry(one, f"{key}.kwargs.{name}") for name, one in kwargs.items()},
                          "output": [self.entry(one, f"{key}.output.{i}") for i, one in enumerate(outputs)]}

    def backward(self, call, grad, outputs):
        key = f"NPU.{call}.0.backward"
        self.data[key] = {"input": [self.entry(grad, f"{key}.input.0")],
                          "output": [self.entry(one, f"{key}.output.{i}") for i, one in enumerate(outputs)]}

    def save(self):
        (self.folder / "dump.json").write_text(json.dumps({"task": "tensor", "level": "L1", "framework": "pytorch",
                                                           "dump_data_dir": str(self.folder / "dump_tensor_data"), "data": self.data}))


def make_dump(folder):
    dump = Dump(folder)
    tokens, weight, block, stride = windows("float16")
    grad = torch.randn(14, 2, 16).half()
    dump.forward("npu_nsa_compress", (tokens, weight, block, stride), {"actual_seq_len": LENGTHS}, (grad,), needs_grad=True)
    dump.backward("npu_nsa_compress", grad, (tokens, weight))
    dump.forward("npu_nsa_compress_grad", (grad, tokens, weight, block, stride), {"actual_seq_len": LENGTHS}, (tokens, weight))
    grad, *state_before = state()
    dump.forward("npu_apply_fused_ema_adamw", (grad, *state_before, torch.tensor([3]), 0.1, 0.5, 0.9, 0.99, 1e-6, 1, True, 0.25), {},
                 state_before)
    dump.forward("npu_apply_adam_w", (0.81, 0.98, 0.1, 0.25, 0.9, 0.99, 1e-6, grad, None, False, False), {"out": state_before[:3]},
                 state_before[:3])
    dump.save()


def paste(installed):
    """Does what the page says."""
    bench = installed / "pytorch" / "bench_functions"
    shutil.copy(FOLDER / "openaclnn_goldens.py", bench)
    config, names = bench / "fusion_operator_config.yaml", installed / "pytorch" / "dump" / "api_dump" / "support_wrap_ops.yaml"
    config.write_text(config.read_text(encoding="utf-8") + (FOLDER / "operators.yaml").read_text(), encoding="utf-8")
    text = names.read_text(encoding="utf-8")
    names.write_text(text.replace("\ntorch_npu:\n", f"\ntorch_npu:\n{(FOLDER / 'wrapped_names.yaml').read_text()}"), encoding="utf-8")


@pytest.mark.slow
@needs_newer_torch(2, 0)
def test_msprobe_has_the_goldens(tmp_path):
    msprobe = importlib.util.find_spec("msprobe")
    if msprobe is None:
        pytest.skip("msprobe is not installed (pip install mindstudio-probe), so its acc_check doesn't run")
    shutil.copytree(pathlib.Path(msprobe.origin).parent, tmp_path / "msprobe")
    paste(tmp_path / "msprobe")
    dump = tmp_path / "dump"
    dump.mkdir()
    make_dump(dump)
    done = subprocess.run([sys.executable, "-W", "ignore", str(FOLDER / "acc_check_here.py"), "-api_info", str(dump / "dump.json"), "-o",
                           str(tmp_path / "out")], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"})
    assert done.returncode == 0, done.stdout + done.stderr
    with open(next((tmp_path / "out").glob("accuracy_checking_result_*.csv")), encoding="utf-8-sig") as file:
        found = {row[0]: row[1:3] for row in list(csv.reader(file))[1:]}
    assert found == {"NPU.npu_nsa_compress.0": ["pass", "pass"], "NPU.npu_nsa_compress_grad.0": ["pass", " "],
                     "NPU.npu_apply_fused_ema_adamw.0": ["pass", " "], "NPU.npu_apply_adam_w.0": ["pass", "SKIP"]}, done.stderr
