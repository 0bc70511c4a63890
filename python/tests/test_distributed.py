# Compares two and four gloo processes on this machine with one process: see ranks.py for the cases.
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import needs_torch, torch, torch_version

pytestmark = [needs_torch, pytest.mark.slow]
CASES = {"data_parallel": (1, 13), "zero_redundancy": (1, 13), "zero_redundancy_without_a_share": (1, 13),
         "fully_sharded": (2, 6), "sequence_parallel": (2, 6), "tensor_parallel": (2, 6), "vocabulary_parallel": (1, 13),
         "counts_of_the_batch": (1, 13), "experts": (1, 13), "token_compression": (1, 13)}
_runs = {}


PROGRAM = pathlib.Path(__file__).with_name("ranks.py")


def run_ranks(program, size, folder):
    """Runs Python with the words `program` and each rank's arguments, until the end or the time limit."""
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OPENACLNN_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    started = []
    for rank in range(size):
        with open(folder / f"{rank}.log", "w") as log:
            started.append(subprocess.Popen([sys.executable, *program, str(rank), str(size), str(folder)], stdout=log,
                                            stderr=subprocess.STDOUT, env=environment))
    try:
        for process in started:
            process.wait(timeout=240)
    except subprocess.TimeoutExpired:
        pass
    finally:
        for process in started:
            process.kill()


def run(size, folder_of):
    """Runs the processes once for each size. Returns the folder with their results and saved files."""
    if size not in _runs:
        folder = folder_of.mktemp(f"ranks{size}")
        run_ranks([str(PROGRAM)], size, folder)
        _runs[size] = folder
    return _runs[size]


def test_a_failing_rank_says_why(tmp_path):
    program = f"""if True:
        import pathlib, sys
        sys.path.insert(0, {str(PROGRAM.parent)!r})
        import ranks

        def fully_sharded(*arguments):
            raise ValueError("planted")

        ranks.fully_sharded, ranks.CASES, ranks.NEEDS = fully_sharded, [fully_sharded], {{}}
        ranks.main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
    """
    run_ranks(["-c", program], 2, tmp_path)
    for rank in range(2):
        assert "ValueError: planted" in json.loads((tmp_path / f"{rank}.json").read_text())["fully_sharded"]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_ranks_reproduce_one_process(case, size, tmp_path_factory):
    if torch_version() < CASES[case]:
        pytest.skip(f"{case} needs PyTorch {'.'.join(map(str, CASES[case]))}; here is {torch.__version__}")
    folder = run(size, tmp_path_factory)
    for rank in range(size):
        report = folder / f"{rank}.json"
        log = (folder / f"{rank}.log").read_text()[-3000:]
        results = json.loads(report.read_text()) if report.exists() else {}
        assert results.get(case) == "ok", f"rank {rank}: {results.get(case, 'did not finish')}\n{log}"


def check_averages(optimizer, model):
    """The averages of a checkpoint of two ranks equal those of one process."""
    import ranks

    expected, other = ranks.whole()
    for got, want in zip(model.parameters(), expected.parameters()):
        assert torch.equal(optimizer.state[got]["ema_params"], other.state[want]["ema_params"])
    assert optimizer.param_groups[0]["ema_updates"] == 4


def test_a_checkpoint_of_two_ranks_loads_on_one(tmp_path_factory):
    import ranks

    folder = run(2, tmp_path_factory)
    model = ranks.network()
    optimizer = ranks.oat.FusedEmaAdamW(model.parameters(), lr=0.5)
    optimizer.load_state_dict(torch.load(folder / "zero.pt"))
    check_averages(optimizer, model)


def test_a_sharded_checkpoint_of_two_ranks_loads_on_one(tmp_path_factory):
    if torch_version() < (2, 6):
        pytest.skip(f"FSDP2 needs PyTorch 2.6; here is {torch.__version__}")
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

    import ranks

    folder = run(2, tmp_path_factory)
    model = ranks.network()
    optimizer = ranks.oat.FusedEmaAdamW(model.parameters(), lr=0.5)
    set_optimizer_state_dict(model, optimizer, torch.load(folder / "fsdp.pt", weights_only=False),
                             options=StateDictOptions(full_state_dict=True))
    check_averages(optimizer, model)
