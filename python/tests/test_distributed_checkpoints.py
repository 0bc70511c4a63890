# Sharded checkpoints on two, four and one gloo processes, second derivatives of split tables, and a process that is killed.
import json
import pathlib

import pytest

from conftest import needs_newer_torch, torch
from test_distributed import run_ranks

pytestmark = [needs_newer_torch(2, 6), pytest.mark.slow]
PROGRAM = pathlib.Path(__file__).with_name("ranks_checkpoints.py")


def run(stage, size, folder):
    run_ranks([str(PROGRAM), stage], size, folder)


def require(stage, size, folder):
    run(stage, size, folder)
    for rank in range(size):
        report = folder / f"{stage}.{rank}.json"
        result = json.loads(report.read_text()) if report.exists() else "did not finish"
        assert result == "ok", f"{stage}, rank {rank}: {result}\n{(folder / f'{rank}.log').read_text()[-3000:]}"


def test_averages_move_from_two_processes_to_four_to_one(tmp_path):
    require("two", 2, tmp_path)
    require("four", 4, tmp_path)
    require("one", 1, tmp_path)


def test_a_consolidated_state_of_two_processes_runs_on_four(tmp_path):
    require("zero", 2, tmp_path)
    require("zero", 4, tmp_path)


@pytest.mark.parametrize("size", [2, 4])
def test_placements_derivatives_and_offload_have_the_bits_of_one_process(size, tmp_path):
    require("bits", size, tmp_path)


def test_a_killed_process_resumes_from_the_last_checkpoint(tmp_path):
    run("killed", 2, tmp_path)
    assert not (tmp_path / "killed.1.json").exists(), "the process was not killed"
    require("resumed", 2, tmp_path)


def test_averages_in_pinned_memory():
    """FSDP2 pins offloaded parameters, and state is made like its parameter."""
    if not torch.cuda.is_available():
        pytest.skip("memory can be pinned only beside a GPU")
    import openaclnn.torch as oat

    parameter = torch.nn.Parameter(torch.ones(5).pin_memory())
    optimizer = oat.FusedEmaAdamW([parameter], lr=0.1, ema_decay=0.9)
    parameter.grad = torch.ones(5)
    optimizer.step()
    plain = torch.nn.Parameter(torch.ones(5))
    other = oat.FusedEmaAdamW([plain], lr=0.1, ema_decay=0.9)
    plain.grad = torch.ones(5)
    other.step()
    assert torch.equal(parameter, plain) and torch.equal(optimizer.state[parameter]["ema_params"], other.state[plain]["ema_params"])
