# Makes the files of this folder with the torch that runs it: usage: make.py FOLDER
"""Writes pairs NAME.pt and NAME.npy with equal elements, and .pt files that the reader refuses."""
import pathlib
import sys

import numpy
import torch

TENSORS = {
    "plain": torch.arange(6.0).reshape(2, 3),
    "transposed": torch.arange(6.0).reshape(2, 3).t(),
    "every_second": torch.arange(20.0)[3:17:2],
    "scalar": torch.tensor(2.5),
    "empty": torch.empty(0, 3),
    "bfloat16": torch.tensor([1.5, -2, 3], dtype=torch.bfloat16),
    "float16": torch.tensor([[1.5, 2]], dtype=torch.float16),
    "int64": torch.tensor([1, -5]),
    "bool": torch.tensor([True, False]),
    "complex64": torch.tensor([1 + 2j]),
    "parameter": torch.nn.Parameter(torch.ones(2, 2)),
    "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 4),
    "permuted": torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4).permute(2, 0, 1)[1:3],
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in TENSORS.items():
        torch.save(tensor, folder / f"{name}.pt")
        plain = tensor.detach().contiguous()
        array = plain.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else plain.numpy()
        numpy.save(folder / f"{name}.npy", array)
    if hasattr(torch, "uint32"):
        torch.save(torch.tensor([1, 2], dtype=torch.uint32), folder / "uint32.pt")
        numpy.save(folder / "uint32.npy", numpy.array([1, 2], numpy.uint32))
    torch.save({"a": torch.ones(2), "b": torch.arange(3)}, folder / "dictionary.pt")
    torch.save(torch.nn.Linear(2, 1).state_dict(), folder / "state_dict.pt")
    torch.save([torch.ones(2)], folder / "list.pt")
    torch.save(torch.nn.Linear(2, 1), folder / "module.pt")
    torch.save(torch.ones(2), folder / "legacy.pt", _use_new_zipfile_serialization=False)


main(pathlib.Path(sys.argv[1]))
