"""Sizes, counts and indices at the borders of 31, 32, 63 and 64 bits are accepted or rejected as documented: through C, the program and Python.

size_doors_test has a door for every parameter by value of type size_t, uint64_t or int64_t of every exported function. The public headers define the
list, and a parameter without a door fails. `openaclnn run` gets the same values, and negative ones, in every option that takes numbers. Both are
built with AddressSanitizer and UndefinedBehaviorSanitizer. tools/check/python_doors.py calls the library by ctypes as Python programs do, with 4 GiB of
address space, so that missing checks fail soon. The tests of the Python package that pass any sizes and objects run on a module with
UndefinedBehaviorSanitizer.
"""
import os
import pathlib
import re
import struct
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from workshop import Failure, Result

GOAL = "0 findings; at least 90 doors × 7 values in C, 100 calls of the program, 100 of Python by ctypes, 20 tests of the Python package"
FAST = True

VALUES = (0, 1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
LIMITS = ("prlimit", f"--as={4 << 30}", f"--fsize={1 << 26}")
LIMITS_OF_SANITIZERS = ("prlimit", f"--fsize={1 << 26}")  # their shadow memory takes terabytes of addresses
FINDING = 99  # the exit code of a sanitizer's finding
SANITIZERS = {"ASAN_OPTIONS": f"exitcode={FINDING}:allocator_may_return_null=1:max_allocation_size_mb=4096", "UBSAN_OPTIONS": f"exitcode={FINDING}"}
FLOATS = "<f4"


def npy(folder, name, shape, kind=FLOATS, values=None):
    """Writes a file of zeros, or of these values; returns its path."""
    count = 1
    for dim in shape:
        count *= dim
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({''.join(f'{dim}, ' for dim in shape)}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    code = {"<f4": "f", "<i4": "i", "<i8": "q"}[kind]
    data = struct.pack(f"<{count}{code}", *(values or [0] * count))
    path = pathlib.Path(folder) / f"{name}.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
    return str(path)


def valid_calls(folder):
    """Returns a successful call of each operator of the program that takes numbers."""
    def file(name, shape, kind=FLOATS, values=None):
        return npy(folder, f"{len(list(folder.iterdir()))}-{name}", shape, kind, values)

    windows = {"--compress-block-size": "16", "--compress-stride": "16"}
    return {
        "ApplyFusedEmaAdam": {**{f"--{name}": file(name, (2,)) for name in ("grad", "var", "m", "v", "s")},
                              "--step": file("step", (1,), "<i8", [1])},
        "ApplyFusedEmaAdamList": {**{f"--{name}": file(name, (2,)) for name in ("grads", "var", "m", "v", "s")},
                                  "--step": file("step", (1,), "<i8", [1])},
        "EmbeddingDenseBackward": {"--grad": file("grad", (2, 4)), "--indices": file("indices", (2,), "<i8"), "--num-weights": "3"},
        "GroupedBiasAddGradV2": {"--grad-y": file("grad", (4, 2)), "--group-idx": file("groups", (2,), "<i8", [2, 4])},
        "NsaCompress": {"--input": file("input", (32, 1, 16)), "--weight": file("weight", (16, 1)), "--act-seq-len": "32", **windows},
        "NsaCompressGrad": {"--output-grad": file("grad", (2, 1, 16)), "--input": file("input", (32, 1, 16)),
                            "--weight": file("weight", (16, 1)), "--act-seq-len": "32", **windows},
        "NsaCompressWithCache": {"--input": file("input", (20, 5, 1, 16)), "--weight": file("weight", (16, 1)),
                                 "--slot-mapping": file("slots", (1,), "<i4"), "--block-table": file("table", (1, 4), "<i4"),
                                 "--act-seq-len": "16", "--page-block-size": "5", "--output-cache": file("cache", (9, 1, 16)), **windows},
    }


def number_options(program, operator):
    """Returns the options that take a number or a list of numbers, from --help."""
    shown = subprocess.run([program, "run", operator, "--help"], capture_output=True, text=True, timeout=20).stdout
    return re.findall(r"^ +(--[a-z-]+) (N(?:,N,\.\.\.)?) ", shown, re.M)


def operators(program):
    shown = subprocess.run([program, "run", "--help"], capture_output=True, text=True, timeout=20).stdout
    return [name for name in re.findall(r"^  (\w+),? ", shown, re.M) if number_options(program, name)]


def calls_of_program(program, folder):
    """Yields (words, must succeed) for every option with every value, and for each valid call."""
    calls = valid_calls(folder)
    for operator in operators(program):
        if operator not in calls:
            raise Failure(f"{operator} of `openaclnn run` takes numbers and has no call in {pathlib.Path(__file__).name}")
        yield operator, calls[operator], True
        for option, kind in number_options(program, operator):
            for value in (*VALUES, -1, -(1 << 63)):
                yield operator, {**calls[operator], option: str(value)}, False
                if kind != "N":
                    yield operator, {**calls[operator], option: f"1,{value}"}, False


def finding_of_program(program, operator, options, must_succeed):
    """Returns an error message, or None."""
    with tempfile.TemporaryDirectory(prefix="doors-") as out:
        words = [*LIMITS_OF_SANITIZERS, program, "run", operator, *(f"{name}={value}" for name, value in options.items()), "--out",
                 f"{out}/results.safetensors"]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30,
                                  env={**os.environ, **SANITIZERS, "OPENACLNN_NUM_THREADS": "1"})
        except subprocess.TimeoutExpired:
            return f"{' '.join(words[len(LIMITS_OF_SANITIZERS):])} did not end in 30 s"
    said = done.stdout.strip()
    bad = done.returncode not in ((0,) if must_succeed else (0, 1, 2)) or (done.returncode != 0 and not said)
    return f"{' '.join(words[len(LIMITS_OF_SANITIZERS):])} exited with {done.returncode}: {said[-300:]}" if bad else None


def try_program(program):
    """Returns how many calls were made, and the findings."""
    with tempfile.TemporaryDirectory(prefix="doors-") as folder, ThreadPoolExecutor(2) as pool:
        calls = list(calls_of_program(program, pathlib.Path(folder)))
        found = list(pool.map(lambda call: finding_of_program(program, *call), calls))
    return len(calls), [finding for finding in found if finding]


def run(workshop):
    workshop.build("asan", "size_doors_test", "openaclnn_cli")
    release = workshop.build("release", "openaclnn")
    c = workshop.run([workshop.program("asan", "size_doors_test")], seconds=300, accept=(0, 1))
    library = release / "lib" / "libopenaclnn.so"
    python = workshop.run([*LIMITS, "python3", "-B", workshop.root / "tools" / "check" / "python_doors.py", library], seconds=120,
                          accept=(0, 1))
    package = workshop.run([workshop.root / "tools" / "python_suite", "--sanitize"], seconds=1200, accept=(0, 1))
    for output in (c, python, package):
        if output.status:
            print(output.text[-4000:])
    calls, found = try_program(workshop.program("asan", "openaclnn"))
    for finding in found[:20]:
        print(f"   {finding}")
    figures, python_figures = c.figures(), python.figures()
    doors, passages = int(figures.get("doors", 0)), int(figures.get("passages", 0))
    python_calls, tests = int(python_figures.get("calls", 0)), int(package.figures().get("passed", 0))
    findings = int(figures.get("findings", 1)) + int(python_figures.get("findings", 1)) + len(found)
    met = (findings == 0 and c.status == python.status == package.status == 0 and doors >= 90 and passages >= 7 * doors and calls >= 100
           and python_calls >= 100 and tests >= 20)
    figure = (f"{findings} findings; {doors} doors × {len(VALUES)} values in C, {calls} calls of the program, {python_calls} of Python by ctypes, "
              f"{tests} tests of the Python package")
    return Result(figure, met)
