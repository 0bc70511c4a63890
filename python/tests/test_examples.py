# Tests that the examples, the notebook and the overhead benchmark run and print the promised results. They are read from the
# tree.
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import needs_torch, optional, torch_version

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
pytestmark = [needs_torch, pytest.mark.slow]
QUICK = {"adamw_to_fused_ema.py": ["--steps", "20", "--width", "128"], "expert_bias.py": [],
         "nsa_transformer.py": ["--seconds", "4"]}


@pytest.mark.parametrize("name", QUICK)
def test_example(name, tmp_path):
    arguments = QUICK[name] + (["--plot", str(tmp_path / "loss.png")] if name == "nsa_transformer.py" and optional("matplotlib")
                               else [])
    done = subprocess.run([sys.executable, "-W", "ignore", str(EXAMPLES / name), *arguments], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    if name == "adamw_to_fused_ema.py":  # the fastest rival comes first, or the reason why it is missing
        first = next(line for line in done.stdout.splitlines() if not line.startswith("FusedEmaAdamW"))
        assert first.startswith("fused AdamW, foreach average" if torch_version() >= (2, 4) else "PyTorch"), done.stdout
    assert "--plot" not in arguments or (tmp_path / "loss.png").stat().st_size > 1000


def test_the_compressed_transformer_learns_without_the_project(tmp_path):
    """A copy of the example alone has a text. A missing file is rejected with an error message."""
    program = shutil.copy(EXAMPLES / "nsa_transformer.py", tmp_path)
    for arguments, code, sentence in (["--seconds", "4"], 0, "training on Python's own reference"), (["--text", "no.txt"], 1, "not a file"):
        done = subprocess.run([sys.executable, "-W", "ignore", program, *arguments], capture_output=True, text=True,
                              timeout=300, cwd=tmp_path)
        assert done.returncode == code and sentence in done.stdout + done.stderr, done.stdout + done.stderr


def test_every_example_is_run():
    """test_npu_example.py runs the example for NPUs."""
    assert {*QUICK, "npu_moe_gpt.py"} == {path.name for path in EXAMPLES.glob("*.py")}


def test_overhead_of_a_call():
    """It measures and prints. `overhead.py --check` compares with the goals on a quiet machine, not this test."""
    program = EXAMPLES.parents[1] / "python" / "bench" / "overhead.py"
    done = subprocess.run([sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True, timeout=300)
    print(done.stdout)
    assert done.returncode == 0 and "apply_fused_ema_adam_    NumPy" in done.stdout, done.stdout + done.stderr


def test_triton_peer_of_token_compression():
    """The peers of the GPU benchmark compute the same results, in Triton's interpreter."""
    if optional("triton") is None:
        pytest.skip("Triton is not installed")
    program = EXAMPLES.parents[1] / "bench" / "gpu" / "triton_pool.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_notebook(tmp_path):
    if optional("nbclient") is None or optional("ipykernel") is None:
        pytest.skip("nbclient and ipykernel are not installed")
    if torch_version() < (2, 0):
        pytest.skip("the notebook is executed once, with the newest PyTorch")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    NotebookClient(notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "numpy" in printed and "indices[1] = 7 is outside [0, 4)" in printed
