# Memory of the host that GPUs copy from and to by themselves: pinned, and no larger than requested.
"""PyTorch rounds pinned memory up to powers of two, which can nearly double the memory of a large model. Here, memory of NumPy is
registered with CUDA."""
from __future__ import annotations

import weakref

import numpy
import torch


def pinned(rows, columns, dtype, device):
    """Returns a tensor of pinned memory, in which all elements are 0."""
    count = rows * columns * torch.empty((), dtype=dtype).element_size()
    if count == 0:
        return torch.empty(rows, columns, dtype=dtype, device="cpu")
    memory = numpy.zeros(count, numpy.uint8)
    address = memory.ctypes.data
    with torch.cuda.device(device):
        code = int(torch.cuda.cudart().cudaHostRegister(address, count, 0))
    if code != 0:
        raise RuntimeError(f"{count} bytes of the host's memory cannot be pinned for offloaded state (CUDA error {code}); free memory "
                           "of the host, or keep the state on the GPU with offload=None")
    # The tensor keeps the array alive, and the array ends before its memory does.
    weakref.finalize(memory, _release, address, device).atexit = False
    return torch.from_numpy(memory).view(dtype).view(rows, columns)


def _release(address, device):
    torch.cuda.synchronize(device)  # copies may still use the memory
    torch.cuda.cudart().cudaHostUnregister(address)
