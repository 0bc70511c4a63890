"""No stack frame of the library is larger than 16 KiB, and a stack of 64 KiB is enough for every call of every operator.

The compiler writes the frame of every function beside each object of libopenaclnn.so (-fstack-usage). small_stacks_test runs all cases of all
operators, with both phases, synchronise and a rejected call each, on a thread whose stack has 64 KiB above a guard page. It runs once where the
system refuses worker threads, so that this thread runs every kernel, and once with workers that have equally small stacks. It repeats this for each
instruction set of this machine. Builds with sanitizers, whose frames are several times as large, skip the test.
To repeat: OPENACLNN_ISA=avx2 build/release/bin/small_stacks_test.
"""
import re

from workshop import Failure, Result

LARGEST_FRAME = 16 << 10
LEAST_CALLS = 200  # for each instruction set, in each of the two tests
GOAL = f"largest frame <= {LARGEST_FRAME} bytes; every case on a stack of 64 KiB with each instruction set, at least {LEAST_CALLS} calls each"
FAST = True
INSTRUCTION_SETS = ("scalar", "avx2", "avx512")  # as OPENACLNN_ISA names them; elsewhere there is one


def largest_frame(build):
    """Returns (bytes, function) of the largest frame in the library of a build folder. Frames whose size is known only at run time are rejected."""
    frames = []
    for name in re.findall(r" -o (src/CMakeFiles/\S+)\.o ", (build / "compile_commands.json").read_text()):
        report = build / f"{name}.su"
        if not report.exists():
            raise Failure(f"the compiler reported no stack usage of {name}")
        for line in report.read_text().splitlines():
            function, size, kind = line.rsplit("\t", 2)
            if kind == "dynamic":
                raise Failure(f"the frame of {function} has no fixed size")
            frames.append((int(size), function))
    return max(frames, default=(0, "no function"))


def run_with(workshop, instruction_set):
    """Returns the instruction set that was used, and the figures. Both tests must have run."""
    output = workshop.run([workshop.program("release", "small_stacks_test")], seconds=900,
                          env={"OPENACLNN_ISA": instruction_set} if instruction_set else {})
    used = re.search(r"^(\w+): \d+ calls", output.text, re.M)
    figures = output.figures()
    if not used or not {"alone_calls", "alone_deepest", "shared_calls", "shared_deepest"} <= figures.keys():
        raise Failure("small_stacks_test skipped its tests")
    return used.group(1), figures


def run(workshop):
    folder = workshop.build("release", "openaclnn", "small_stacks_test")
    frame, function = largest_frame(folder)
    if frame > LARGEST_FRAME:
        print(f"the frame of {function} has {frame} bytes")
    best, figures = run_with(workshop, None)
    runs = [figures]
    if best in INSTRUCTION_SETS:
        for wanted in INSTRUCTION_SETS[:INSTRUCTION_SETS.index(best)]:
            used, figures = run_with(workshop, wanted)
            if used != wanted:
                raise Failure(f"small_stacks_test used {used} instead of {wanted}")
            runs.append(figures)
    least = min(figures[name] for figures in runs for name in ("alone_calls", "shared_calls"))
    deepest = max(figures[name] for figures in runs for name in ("alone_deepest", "shared_deepest"))
    calls = sum(figures["alone_calls"] + figures["shared_calls"] for figures in runs)
    figure = (f"largest frame {frame} bytes; {calls:.0f} calls with {len(runs)} instruction sets on stacks of 64 KiB, "
              f"of which at most {deepest:.0f} bytes were used")
    return Result(figure, met=0 < frame <= LARGEST_FRAME and least >= LEAST_CALLS)
