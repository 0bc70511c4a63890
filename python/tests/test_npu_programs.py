# Tests of the ways to run a program written for torch_npu: `python -m openaclnn.compat`, spawned processes and pytest.
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import needs_newer_torch, needs_torch, optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "docs"))
import pages  # noqa: E402

SCRIPT = """
import sys
import torch
import torch_npu
from beside import NAME

if __name__ == "__main__":
    assert __file__ == sys.argv[0] and NAME == "beside", sys.argv
    print("arguments", sys.argv[1:], torch.ones(2).npu().is_npu, torch_npu.__name__)
    raise SystemExit(3)
"""

PROCESSES = """
import os
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing
import torch_npu
from mindspeed.optimizer.ema_adamw import FusedEmaAdamW


def work(rank, folder, finish):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method="file://" + folder + "/store", rank=rank, world_size=2,
                            device_id=torch.device("npu", rank))
    assert dist.get_backend() == "gloo" and torch.npu.current_device() == rank
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1).npu(), device_ids=[rank])
    optimizer = FusedEmaAdamW(model.parameters(), lr=0.1)
    model(torch.full((1, 3), float(rank)).npu()).sum().backward()
    assert torch.allclose(model.module.weight.grad, torch.full((1, 3), 0.5))
    optimizer.step()
    total = model.module.weight.detach().clone()
    dist.all_reduce(total)
    assert torch.equal(total, 2 * model.module.weight)
    mesh = dist.device_mesh.init_device_mesh("npu", (2,))
    assert mesh.device_type == "cpu" and mesh.size() == 2
    dist.destroy_process_group()
    finish.put(rank)


if __name__ == "__main__":
    queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(work, (sys.argv[1], queue), nprocs=2)
    print("finished", sorted((queue.get(), queue.get())))
"""

SUITE = """
import torch
import torch_npu
from torch_npu.testing.testcase import TestCase, run_tests


class TestAdd(TestCase):
    def test_add(self):
        self.assertRtolEqual(torch.ones(2).npu() + 1, torch.full((2,), 2.0))
"""


def run(*arguments, folder, code=0, **variables):
    done = subprocess.run([sys.executable, "-W", "ignore", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          cwd=folder, env={**os.environ, **variables})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@needs_torch
def test_a_script_runs_unchanged(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "train.py").write_text(SCRIPT)
    (place / "beside.py").write_text("NAME = 'beside'\n")
    done = run("-m", "openaclnn.compat", "place/train.py", "--steps", "2", folder=tmp_path, code=3)
    assert done.stdout == "arguments ['--steps', '2'] True openaclnn.compat.torch_npu\n" and done.stderr == "", done.stderr


@needs_torch
def test_a_module_runs_unchanged(tmp_path):
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__main__.py").write_text("import sys, torch_npu\nprint(sys.argv[1:], __package__)\n")
    done = run("-m", "openaclnn.compat", "-m", "trainer", "-v", folder=tmp_path)
    assert done.stdout == "['-v'] trainer\n"


@needs_torch
def test_a_real_package_takes_precedence(tmp_path):
    (tmp_path / "torch_npu.py").write_text("NAME = 'real'\n")
    (tmp_path / "train.py").write_text("import torch, torch_npu\nprint(torch_npu.NAME, hasattr(torch, 'npu'), hasattr(torch.Tensor, 'npu'))\n")
    done = run("-m", "openaclnn.compat", "train.py", folder=tmp_path)
    assert done.stdout == "real False False\n"
    assert done.stderr == "openaclnn.compat: torch_npu is installed and takes precedence\n"


@needs_torch
def test_torch_npu_is_missing_unless_asked_for(tmp_path):
    done = run("-c", "import openaclnn.torch, torch_npu", folder=tmp_path, code=1)
    assert "ModuleNotFoundError" in done.stderr and "'torch_npu'" in done.stderr


def test_wrong_command_lines(tmp_path):
    for arguments, message in (([], "a script, or -m and a module, is needed"), (["-m"], "a script, or -m and a module"),
                               (["no.py"], "SCRIPT is no.py, which is not a file")):
        assert message in run("-m", "openaclnn.compat", *arguments, folder=tmp_path, code=1).stderr
    assert "usage: python -m openaclnn.compat SCRIPT" in run("-m", "openaclnn.compat", "--help", folder=tmp_path).stdout


@pytest.mark.slow
@needs_newer_torch(2, 2)
def test_spawned_processes_train_together(tmp_path):
    """PyTorch 2.2 brought meshes of devices."""
    (tmp_path / "train.py").write_text(PROCESSES)
    assert "finished [0, 1]" in run("-m", "openaclnn.compat", "train.py", tmp_path, folder=tmp_path).stdout


@needs_torch
def test_a_suite_runs_with_the_plugin_of_pytest(tmp_path):
    (tmp_path / "test_add.py").write_text(SUITE)
    done = run("-m", "pytest", "-q", "-p", "openaclnn.compat.torch_npu", "-p", "no:cacheprovider", "test_add.py", folder=tmp_path)
    assert "1 passed" in done.stdout


def write_page(folder):
    """Writes the programs of the page, and returns its other blocks."""
    blocks = pages.blocks("docs/ascend_laptop.md")
    for block in blocks:
        if "file" in block.says:
            (folder / block.says["file"]).write_text(block.text)
    return [block for block in blocks if "file" not in block.says]


@needs_newer_torch(2, 1)
def test_the_programs_of_the_page_run(tmp_path):
    """The first one prints the losses on the page, up to their last digit."""
    written = next(block.text for block in write_page(tmp_path) if block.text.startswith("step 10"))
    printed = run("-m", "openaclnn.compat", "train.py", folder=tmp_path).stdout
    number = r"loss (\d+\.\d+)"
    assert re.sub(number, "loss", printed) == re.sub(number, "loss", written)
    for one, other in zip(re.findall(number, printed), re.findall(number, written)):
        assert abs(float(one) - float(other)) < 0.02, printed
    run("-m", "openaclnn.compat", "save.py", "here.npy", folder=tmp_path)
    assert (tmp_path / "here.npy").stat().st_size == 128 + 2 * 64 * 128


@pytest.mark.slow
@needs_newer_torch(2, 1)
def test_the_workflow_of_the_page_runs(tmp_path):
    """Its steps without those that install packages."""
    workflow = next(block.text for block in write_page(tmp_path) if block.language == "yaml")
    if yaml := optional("yaml"):
        assert yaml.safe_load(workflow)["jobs"]["train"]["steps"][-1]["run"] == "python -m openaclnn.compat train.py\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_add.py").write_text(SUITE)
    commands = re.findall(r"^ {10}((?:pytest|python) .*)$", workflow, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["pytest", "python"]
    for command in commands:
        run(*(["-m"] if command.startswith("pytest") else []), *command.removeprefix("python ").split(), folder=tmp_path)
