"""The same bits on Arm: the kernels' NEON code under emulation, on processors without SVE and with SVE of three widths.

Builds for AArch64 and runs under qemu-aarch64: conversions_test and multiply_add_test (with NEON's own instructions) and bits_test --print-hashes.
The hashes must be those of the rooms' verify/golden_hashes.txt, with SVE switched off and with vectors of 128, 256 and 512 bits, which the C library
then uses. A few tests of the runtime, a room and the floating-point state also run. Tests that start their own program again are left out, because
the machine's kernel cannot run it.
To repeat: qemu-aarch64 -cpu max,sve=off build/arm64/bin/bits_test --print-hashes.
Limits: emulation has x86's strong memory order, so it proves bits, not the absence of races on Arm. The kernels use NEON everywhere, because
Highway's SVE vectors have no fixed size and cannot be members of the kernels' value types.
"""
import os

from golden import golden_hashes, hashes_of
from workshop import Failure, Result

GOAL = "the hashes of x86 on Arm without SVE and with SVE of 128, 256 and 512 bits; all tests of the subset pass"
FAST = False
PROCESSORS = ("max,sve=off", "max,sve-max-vq=1", "max,sve-max-vq=2", "max,sve-max-vq=4")
TESTS = ("conversions_test", "multiply_add_test", "views_test", "fp_environment_test", "embedding_test", "stream_test", "threads_test", "cases_test")
# Tests that start their own program again, which the machine's kernel cannot run.
LEFT_OUT = "--gtest_filter=-*Settings.*:*AreTheSameForAnyNumberOfThreads*:*RefusesMemoryThatTheAllocatorDoesNotKnow*"


def run(workshop):
    tests = TESTS[:workshop.pick(6, 6, 8)]  # the last two take long
    workshop.build("arm64", "bits_test", *tests)
    golden = golden_hashes(workshop.root)
    equal = 0
    for processor in PROCESSORS:
        env = {"QEMU_CPU": processor, "OPENACLNN_NUM_THREADS": str(os.cpu_count() or 1)}
        command = ["qemu-aarch64", workshop.program("arm64", "bits_test"), "--print-hashes"]
        output = workshop.run(command, seconds=1200, env=env)
        if not output.text.startswith("# neon"):
            raise Failure(f"bits_test did not use NEON: {output.text[:40]}")
        equal += hashes_of(output.text) == golden
    for test in tests:
        workshop.run(["qemu-aarch64", workshop.program("arm64", test), LEFT_OUT], seconds=3600, env={"OPENACLNN_NUM_THREADS": "2"})
    figure = f"{len(golden)} hashes equal on {equal} of {len(PROCESSORS)} processors, {len(tests)} test programs pass"
    return Result(figure, met=equal == len(PROCESSORS) and len(golden) >= 200)
