# Measures how much a call from Python costs more than the same call from C, in microseconds, for NumPy arrays and PyTorch
# tensors.
"""usage: overhead.py [--check]

Short rounds of C, NumPy and PyTorch take turns. It prints the least processor time of a round and, in brackets, the median. The
work of a call is always the same, so other programs can only add to it. --check exits 1 if the least exceeds the goals: 1.5 us
with NumPy, 1 us with PyTorch tensors that have a C interface (__dlpack_c_exchange_api__).
"""
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import openaclnn
from openaclnn import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS, ROUNDS = 5000, 81
GOALS = {"NumPy": 1.5, "PyTorch": 1.0}


def direct_library(folder):
    """Compiles python/bench/direct.c, linked to the library that the package has loaded."""
    path = pathlib.Path(folder) / "direct.so"
    subprocess.run(["cc", "-O2", "-std=c99", "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(ROOT / "python/bench/direct.c"),
                    _native.library_path(), "-o", str(path)], check=True)
    library = ctypes.CDLL(str(path))
    for name in ("embedding_seconds", "ema_adam_seconds"):
        getattr(library, name).restype = ctypes.c_double
    return library


def seconds(function, *arguments, **more):
    start = time.thread_time()  # as in direct.c
    for _ in range(CALLS):
        function(*arguments, **more)
    return time.thread_time() - start


def contestants(library):
    table, ids, rows = np.zeros((4, 4), np.float32), np.array([1, 2]), np.zeros((2, 4), np.float32)
    data, step = np.ones((5, 4), np.float32), np.array([1])
    pointer = lambda array: ctypes.c_void_p(array.ctypes.data)
    count = ctypes.c_int64(CALLS)
    arrays = list(data)
    operators = {
        "embedding": {
            "C": lambda: library.embedding_seconds(count, pointer(table), pointer(ids), pointer(rows)),
            "NumPy": lambda: seconds(openaclnn.embedding, table, ids, out=rows),
        },
        "apply_fused_ema_adam_": {
            "C": lambda: library.ema_adam_seconds(count, pointer(data), pointer(step)),
            "NumPy": lambda: seconds(openaclnn.apply_fused_ema_adam_, *arrays, step),
        },
    }
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return operators, False
    tensors = [torch.from_numpy(array) for array in (table, ids, rows, *arrays, step)]
    operators["embedding"]["PyTorch"] = lambda: seconds(openaclnn.embedding, *tensors[:2], out=tensors[2])
    operators["apply_fused_ema_adam_"]["PyTorch"] = lambda: seconds(openaclnn.apply_fused_ema_adam_, *tensors[3:])
    return operators, hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def main(arguments):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        operators, has_table = contestants(direct_library(folder))
        for name, runs in operators.items():
            times = {who: [] for who in runs}
            for _ in range(ROUNDS):
                for who, run in runs.items():
                    times[who].append(run() / CALLS * 1e6)
            direct = min(times["C"])
            for who, rounds in times.items():
                extra = min(rounds) - direct
                print(f"{name:24} {who:8} {min(rounds):6.2f} us" + (f"   {extra:+.2f} us" if who != "C" else " " * 11)
                      + f"   ({statistics.median(rounds):.2f})")
                judged = who == "NumPy" or (who == "PyTorch" and has_table)
                failed = failed or (judged and extra > GOALS[who])
    return 1 if failed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
