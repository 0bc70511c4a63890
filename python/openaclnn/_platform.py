# The platform of the package. Arrays are used in place, so it is the CPU unless the program chose GPUs.
"""Sets OPENACLNN_DEVICE for the library, which reads it once; imported before everything else."""
import os

computes_on_gpu = os.environ.get("OPENACLNN_DEVICE") == "cuda"
if not computes_on_gpu:
    os.environ["OPENACLNN_DEVICE"] = "cpu"  # auto would take a GPU, whose kernels cannot reach host arrays
