# The platform of the package. Arrays are used in place, so it is the CPU unless the program chose GPUs.
"""Sets OPENACLNN_DEVICE for the library, which reads it once; imported before everything else."""
import os
import sys

_given = os.environ.get("OPENACLNN_DEVICE", "")
computes_on_gpu = _given == "cuda"
if _given not in ("", "auto", "cpu", "cuda"):  # the library won't see the value, and couldn't warn of it
    print(f"openaclnn: OPENACLNN_DEVICE is {_given!r}; accepted: auto|cpu|cuda; the package computes on the CPU", file=sys.stderr)
if not computes_on_gpu:
    os.environ["OPENACLNN_DEVICE"] = "cpu"  # auto would take a GPU, whose kernels cannot reach host arrays
