# Writes the dump beside this file with mindstudio-probe 26.2.0: make.py, in a folder without dump/. The tests read it.
import json
import pathlib
import shutil
import tempfile

import torch
import torch.nn.functional as F
from msprobe.pytorch import PrecisionDebugger

HERE = pathlib.Path(__file__).parent


def run(debugger):
    torch.manual_seed(1)
    table = torch.randn(5, 3, requires_grad=True)
    narrow = torch.randn(4, 2).bfloat16().requires_grad_()
    indices = torch.tensor([[1, 2, 4], [2, 2, 0]])
    debugger.start()
    with_padding = F.embedding(indices, table, padding_idx=-1, scale_grad_by_freq=True)
    by_keyword = F.embedding(weight=table, input=indices)
    rows = torch.embedding(narrow, indices % 4)
    torch.mul(with_padding.detach(), float("nan"))
    F.embedding(indices, table.detach(), max_norm=1.0)
    (with_padding * torch.arange(18.0).view(2, 3, 3)).sum().backward()
    by_keyword.sum().backward()
    rows.float().sum().backward()
    debugger.stop()


def main():
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "config.json")
        config.write_text(json.dumps({
            "task": "tensor", "dump_path": f"{folder}/dump", "rank": [], "step": [], "level": "L1",
            "tensor": {"scope": [], "list": ["embedding", "mul"]}}))
        run(PrecisionDebugger(config_path=str(config)))
        made, = pathlib.Path(folder, "dump").glob("step0/proc*")
        dump = json.loads((made / "dump.json").read_text())
        dump["dump_data_dir"] = None  # a folder that is gone
        (made / "dump.json").write_text(json.dumps(dump, indent=1) + "\n")
        with (made / "construct.json").open("a") as construct:
            construct.write("\n")
        (made / "stack.json").unlink()  # has paths of the machine
        for unread in (made / "dump_tensor_data").glob("*mul*"):
            unread.unlink()
        shutil.move(made, HERE / "dump" / "step0" / "proc1")


main()
