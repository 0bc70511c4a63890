# Tests that the GPT written for an NPU trains here unchanged, and like the same model in plain PyTorch.
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import needs_newer_torch

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "npu_moe_gpt.py"
pytestmark = [needs_newer_torch(2, 1), pytest.mark.slow]  # the functions of torch_npu need 2.1


def run(*arguments, folder=None):
    # One thread: threads that wait for each other would take minutes on a busy machine.
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "openaclnn.compat", *map(str, arguments)], capture_output=True,
                          text=True, timeout=300, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_learns():
    """It exits with an error unless the loss falls."""
    printed = run(EXAMPLE, "--steps", 30)
    assert "after 30 steps on " in printed and "of the averaged parameters" in printed, printed


def test_a_plain_model_has_the_same_losses():
    """Ten steps from the same weights; losses may differ by 1e-5."""
    assert "largest difference" in run(pathlib.Path(__file__).with_name("plain_gpt.py"), EXAMPLE)
