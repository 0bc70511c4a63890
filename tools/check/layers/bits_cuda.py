"""The same bits on NVIDIA GPUs: what nvcc makes of the CUDA kernels, run on the CPU instruction by instruction, in both orders of blocks.

Builds the plugin with nvcc's own objects over a machine that executes their PTX with the GPU's arithmetic (tests/cuda/ptx), and compares
the hash of every case with the CPU's in tests/ops/golden_hashes.txt, except those of the weight gradient of NsaCompressGrad, which has an
order of additions of its own on CUDA and so golden hashes of its own. The machine ends the program where a kernel races in shared
memory, reads there what nobody wrote, or touches memory that is not its own.
To repeat: build/cuda/bin/ptx_device_test --print-hashes, and with OPENACLNN_SIMT_SCHEDULE=reverse.
Limits: it needs nvcc. PTX is not machine code: what ptxas and a GPU make of it, only a GPU shows (./dev gpu).
"""
import shutil

from workshop import Failure, Result

GOAL = "the golden hash of every case in both orders"
FAST = False
SCHEDULES = ("forward", "reverse")
GOLDEN = ("tests/ops/golden_hashes.txt", "tests/cuda/golden_hashes.txt")  # the second replaces hashes of the first


def hashes(text):
    pairs = (line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: value for value, name in pairs}


def run(workshop):
    if shutil.which("nvcc") is None:
        raise Failure("not proved here: nvcc was not found")
    workshop.build("cuda", "ptx_device_test")
    golden = {}
    for path in GOLDEN:
        golden.update(hashes((workshop.root / path).read_text()))
    equal = 0
    for schedule in SCHEDULES:
        output = workshop.run([workshop.program("cuda", "ptx_device_test"), "--print-hashes"], seconds=1200,
                              env={"OPENACLNN_SIMT_SCHEDULE": schedule})
        equal += hashes(output.text) == golden
    return Result(f"{len(golden)} hashes equal in {equal} of {len(SCHEDULES)} orders", met=equal == len(SCHEDULES) and len(golden) >= 200)
