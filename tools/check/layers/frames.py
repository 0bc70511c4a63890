"""No stack frame of the library is larger than 16 KiB, and a stack of 64 KiB is enough for every call of every operator.

The compiler writes the frame of every function beside each object of libopenaclnn.so (-fstack-usage), and where nvcc is, beside each object of the
CUDA plugin (not with --fast). small_stacks_test runs all cases of all operators, with both phases, synchronise and a rejected call each, on a thread
whose stack has 64 KiB above guard pages. It runs once where the system refuses worker threads, so that this thread runs every kernel, and once with
workers that have equally small stacks. It repeats this for each instruction set of this machine, and the second for the emulated GPU. Builds with
sanitizers, whose frames are several times as large, skip the test.
To repeat: OPENACLNN_ISA=avx2 build/release/bin/small_stacks_test.
"""
import re
import shutil

from workshop import Failure, Result

LARGEST_FRAME = 16 << 10
LEAST_CALLS = 200  # for each instruction set, in each of the two tests, and for the emulated GPU
GOAL = (f"largest frame <= {LARGEST_FRAME} bytes; every case on a stack of 64 KiB with each instruction set and on the emulated GPU, "
        f"at least {LEAST_CALLS} calls each")
FAST = True
INSTRUCTION_SETS = ("scalar", "avx2", "avx512")  # as OPENACLNN_ISA names them; elsewhere there is one


def largest_frame(build, objects="src/CMakeFiles/"):
    """Returns (bytes, function) of the largest frame in the library of a build folder, or in other objects by the start of their path. Frames whose
    size is known only at run time are rejected."""
    frames = []
    # The object is the last word of nvcc's command.
    for name in re.findall(rf' -o ({re.escape(objects)}\S+)\.o[ "]', (build / "compile_commands.json").read_text()):
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


def run_on_emulated_gpu(workshop):
    """Returns the figures of the test that runs there."""
    plugin = workshop.root / "build/release/lib/libopenaclnn_simt.so"
    output = workshop.run([workshop.program("release", "small_stacks_test"), "--gtest_filter=-*RunsAllKernels"], seconds=900,
                          env={"OPENACLNN_DEVICE": "cuda", "OPENACLNN_CUDA_PLUGIN": str(plugin)})
    figures = output.figures()
    if "shared_calls" not in figures:
        raise Failure("small_stacks_test skipped its test on the emulated GPU")
    return figures


def frames_of(workshop):
    """Returns the largest frame of the library, and that of the plugin if it is measured."""
    folders = [(workshop.build("release", "openaclnn", "openaclnn_simt", "small_stacks_test"), "src/CMakeFiles/")]
    if workshop.pick(fast=False, standard=True, deep=True) and shutil.which("nvcc"):
        folders.append((workshop.build("cuda", "openaclnn_cuda"), "src/CMakeFiles/openaclnn_cuda.dir/"))
    frames = []
    for folder, objects in folders:
        frame, function = largest_frame(folder, objects)
        if frame > LARGEST_FRAME:
            print(f"the frame of {function} has {frame} bytes")
        frames.append(frame)
    return frames


def run(workshop):
    frames = frames_of(workshop)
    best, figures = run_with(workshop, None)
    runs = [figures]
    if best in INSTRUCTION_SETS:
        for wanted in INSTRUCTION_SETS[:INSTRUCTION_SETS.index(best)]:
            used, figures = run_with(workshop, wanted)
            if used != wanted:
                raise Failure(f"small_stacks_test used {used} instead of {wanted}")
            runs.append(figures)
    on_gpu = run_on_emulated_gpu(workshop)
    least = min(on_gpu["shared_calls"], *(figures[name] for figures in runs for name in ("alone_calls", "shared_calls")))
    deepest = max(on_gpu["shared_deepest"], *(figures[name] for figures in runs for name in ("alone_deepest", "shared_deepest")))
    calls = sum(figures["alone_calls"] + figures["shared_calls"] for figures in runs)
    plugin = f"{frames[1]} in the CUDA plugin" if len(frames) > 1 else "the CUDA plugin's not measured"
    figure = (f"largest frame {frames[0]} bytes, {plugin}; {calls:.0f} calls with {len(runs)} instruction sets and {on_gpu['shared_calls']:.0f} on "
              f"the emulated GPU on stacks of 64 KiB, of which at most {deepest:.0f} bytes were used")
    return Result(figure, met=all(0 < frame <= LARGEST_FRAME for frame in frames) and least >= LEAST_CALLS)
