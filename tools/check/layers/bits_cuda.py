"""The PTX that nvcc makes of the CUDA kernels gives the same bits, in both orders of blocks (executed on the CPU).

Builds the plugin with nvcc's own objects over a machine that executes their PTX with the GPU's arithmetic (tests/cuda/ptx). Compares the hash of
every case with the CPU's in the room's verify/golden_hashes.txt, or with golden_hashes_cuda.txt for rooms whose order of additions differs on CUDA.
The machine aborts if a kernel races in shared memory, reads uninitialised shared memory, or accesses memory outside its blocks.
To repeat: build/cuda/bin/ptx_device_test --print-hashes, and with OPENACLNN_SIMT_SCHEDULE=reverse.
Limits: it needs nvcc. PTX is not machine code: only a GPU shows what ptxas and the hardware do with it (./dev gpu).
"""
import shutil

from golden import golden_hashes, hashes_of
from workshop import Failure, Result

GOAL = "the golden hash of every case in both orders"
FAST = False
SCHEDULES = ("forward", "reverse")


def run(workshop):
    if shutil.which("nvcc") is None:
        raise Failure("not proved here: nvcc was not found")
    workshop.build("cuda", "ptx_device_test")
    golden = {**golden_hashes(workshop.root), **golden_hashes(workshop.root, "golden_hashes_cuda.txt")}
    equal = 0
    for schedule in SCHEDULES:
        output = workshop.run([workshop.program("cuda", "ptx_device_test"), "--print-hashes"], seconds=1200,
                              env={"OPENACLNN_SIMT_SCHEDULE": schedule})
        equal += hashes_of(output.text) == golden
    return Result(f"{len(golden)} hashes equal in {equal} of {len(SCHEDULES)} orders", met=equal == len(SCHEDULES) and len(golden) >= 200)
