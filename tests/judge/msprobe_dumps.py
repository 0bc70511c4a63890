"""Dumps of pairs in msprobe's layout, and what `msprobe compare` says of them."""

import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch


def tensor_of(tensor):
    elements = torch.tensor(tensor.elements if tensor.dtype != "BF16" else tensor.elements.view(np.int16))
    return elements.view(torch.bfloat16) if tensor.dtype == "BF16" else elements.bool() if tensor.dtype == "BOOL" else elements


def entry(tensor, name, folder):
    torch.save(tensor, folder / name)
    values = tensor.double()
    return {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "Max": values.max().item(), "Min": values.min().item(),
            "Mean": values.mean().item(), "Norm": values.norm().item(), "requires_grad": False, "data_name": name}


def write_dump(folder, tensors):
    """Writes a call for each tensor: its output, and an input that is the same in all dumps."""
    tensor_folder = folder / "dump_tensor_data"
    tensor_folder.mkdir(parents=True)
    data = {}
    for number, tensor in enumerate(tensors):
        key = f"Torch.mul.{number}.forward"
        data[key] = {"input_args": [entry(torch.ones(3), f"{key}.input.0.pt", tensor_folder)], "input_kwargs": {},
                     "output": [entry(tensor_of(tensor), f"{key}.output.0.pt", tensor_folder)]}
    (folder / "dump.json").write_text(json.dumps({"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(tensor_folder),
                                                  "data": data}))
    (folder / "stack.json").write_text("{}")


def compared(pairs, folder):
    """Returns the rows of the outputs in the table that `msprobe compare` writes, in the order of the pairs."""
    folder = pathlib.Path(folder)
    write_dump(folder / "device", [pair.device for pair in pairs])
    write_dump(folder / "golden", [pair.golden for pair in pairs])
    program = pathlib.Path(sys.executable).parent / "msprobe"
    done = subprocess.run([program, "compare", "-tp", folder / "device" / "dump.json", "-gp", folder / "golden" / "dump.json", "-o",
                           folder / "out"], capture_output=True, text=True)
    tables = list((folder / "out").glob("compare_result_*.csv"))
    if done.returncode or len(tables) != 1:
        sys.exit(f"msprobe compare fails:\n{done.stdout}{done.stderr}")
    with open(tables[0], encoding="utf-8-sig", newline="") as table:
        return [row for row in csv.DictReader(table) if ".output." in row["NPU Name"]]
