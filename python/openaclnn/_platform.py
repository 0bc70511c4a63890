# The platform of the package: arrays are used where they lie, in memory of the host, so it must be the CPU.
"""Sets OPENACLNN_DEVICE for the library, which reads it once; imported before everything else."""
import os

if os.environ.get("OPENACLNN_DEVICE") == "cuda":
    raise ImportError("OPENACLNN_DEVICE is cuda, but the Python package computes on the CPU; unset it, or set it to cpu")
os.environ["OPENACLNN_DEVICE"] = "cpu"  # auto would take a GPU, whose kernels cannot reach host arrays
