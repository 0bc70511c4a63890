# Tests the package on GPUs: arrays of CuPy and PyTorch in memory of the emulated GPU that the C++ tests use.
import os
import pathlib
import subprocess
import sys

import fake_gpu
import pytest
from conftest import needs_jax, needs_torch, optional, torch

import openaclnn

HERE = pathlib.Path(__file__).resolve().parent
BUILDS = HERE.parents[1] / "build"
EMULATED = BUILDS / "release" / "lib" / "libopenaclnn_simt.so"
PLUGIN = BUILDS / "cuda" / "lib" / "libopenaclnn_cuda.so"


def needs_emulated_gpu(test):
    is_missing = pytest.mark.skipif(not EMULATED.exists(), reason=f"the emulated GPU is not built: ./dev build release makes {EMULATED.name}")
    return pytest.mark.emulated_gpu(is_missing(test))


def run(arguments, plugin):
    return subprocess.run([sys.executable, "-W", "ignore", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "OPENACLNN_DEVICE": "cuda", "OPENACLNN_CUDA_PLUGIN": str(plugin)})


@needs_emulated_gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_on_a_gpu_are_used_where_they_lie(library, tmp_path):
    """Tests results, order in the library's stream, faults, rejections and graphs. It proves nothing about a real GPU."""
    fake_gpu.compare(library, EMULATED, tmp_path / "results.npz")


@needs_emulated_gpu
def test_a_call_without_an_array_on_the_gpu_is_refused():
    """Empty arrays may be in any memory, but a number needs memory of a library."""
    program = ("import numpy as np, openaclnn\n"
               "arrays = [np.zeros(0, np.float32) for _ in range(5)]\n"
               "for more in ({}, {'grad_scale': 2.0}):\n"
               "    try: openaclnn.apply_fused_ema_adam_(*arrays, 1, **more)\n"
               "    except ValueError as failure: print(failure)")
    done = run(["-c", program], EMULATED)
    assert done.stdout.count("no array of the call is on a GPU, but OPENACLNN_DEVICE is cuda") == 2, done.stdout + done.stderr


@pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="PyTorch sees no GPU here")
@pytest.mark.skipif(not PLUGIN.exists(), reason=f"./dev build cuda has not made {PLUGIN.name}")
def test_tensors_on_a_real_gpu(tmp_path):
    fake_gpu.compare("real-torch", PLUGIN, tmp_path / "results.npz")


@pytest.mark.skipif(optional("cupy") is None, reason="CuPy is not installed; it needs an NVIDIA GPU")
@pytest.mark.skipif(not PLUGIN.exists(), reason=f"./dev build cuda has not made {PLUGIN.name}")
def test_arrays_of_cupy_on_a_real_gpu(tmp_path):
    fake_gpu.compare("real-cupy", PLUGIN, tmp_path / "results.npz")


def test_without_a_gpu_calls_say_what_is_missing():
    program = ("import numpy as np, openaclnn\n"
               "try: openaclnn.embedding(np.zeros((0, 2), np.float32), np.zeros(0, np.int64))\n"
               "except openaclnn.AclnnError as failure: print(failure.code, failure)")
    done = run(["-c", program], "/nowhere/libopenaclnn_cuda.so")
    assert done.stdout.startswith("207004 ") and "/nowhere/libopenaclnn_cuda.so" in done.stdout, done.stdout + done.stderr


@needs_torch
def test_operators_of_pytorch_are_those_of_the_gpu():
    program = ("import torch, openaclnn.torch as ot\n"
               "print(torch._C._dispatch_has_kernel_for_dispatch_key('openaclnn::nsa_compress', 'CUDA'))\n"
               "ot.embedding(torch.zeros(2, 2), torch.tensor([1]))")
    done = run(["-c", program], EMULATED)
    assert done.stdout.startswith("True") and "Could not run 'openaclnn::embedding' with arguments from the 'CPU'" in done.stderr


@needs_jax
def test_jax_stays_on_the_cpu():
    done = run(["-c", "import openaclnn.jax"], EMULATED)
    assert done.returncode != 0 and "ImportError: OPENACLNN_DEVICE is cuda, but openaclnn.jax computes on the CPU" in done.stderr


def test_the_doctor_says_what_is_missing():
    done = run(["-c", "import openaclnn; print(openaclnn.doctor())"], "/nowhere/libopenaclnn_cuda.so")
    assert "devices: none: aclrtSetDevice: no CUDA device: plugin file not found" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith("False\n")


def test_on_the_cpu_there_is_nothing_to_wait_for():
    assert openaclnn.synchronize() is None
