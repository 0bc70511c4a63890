# Measures how the cost of a call grows with elements, indices, groups and threads, and judges that it never jumps.
"""The sizes are 1 and 3 times powers of ten, as far as the memory of the machine allows. A jump is a size beyond the caches whose ratio to its reference
traffic is more than a tenth below that of the size before, and by more than noise. Times per element alone would also jump where data leave a cache.
"""
import math

import machine
import report
import summary
from library import ELEMENT_BYTES

SIZE = "growth"
ROUNDS = 7
MOST_OF_MEMORY = 0.6  # of what is available: other programs also need some
MUCH = 1 << 30
BEYOND_BYTES = 1 << 20  # of traffic: below it, a call costs more than its work
MOST_LOSS = 0.10

# The thing that the variant of a workload counts, by operator.
COUNTS = {"ApplyFusedEmaAdam": "elements", "EmbeddingDenseBackward": "indices", "GroupedBiasAddGrad": "groups"}
DTYPES = {"ApplyFusedEmaAdam": ("f32", "bf16")}  # others: FLOAT
# One workload of each operator is also measured with 1, 2, 4 … threads.
THREADED = ["ApplyFusedEmaAdam/f32/memory", "GroupedBiasAddGrad/f32/memory/uniform", "EmbeddingDenseBackward/f32/memory/rows_of_2k",
            "NsaCompress/f32/memory/32_16", "NsaCompressGrad/f32/memory/32_16"]


def bytes_needed(workload):
    total = 0
    for dims, dtype in workload.tensors.values():
        size = ELEMENT_BYTES.get(dtype, 8)
        for dim in dims:
            size *= dim
        total += size
    return total


def bytes_available():
    for line in machine.read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def thread_counts(cores):
    counts = [1]
    while counts[-1] * 2 < cores:
        counts.append(counts[-1] * 2)
    return sorted({*counts, cores})


def measure(workers, workloads, options, cores, progress):
    """Returns the records, and lines about the sizes that don't fit into memory."""
    records, skipped = [], []
    rounds = min(options.rounds, ROUNDS)
    growing = [w for w in workloads if w.size == SIZE and w.dtype in DTYPES.get(w.operator, ("f32",))]
    for workload in growing:
        needed = bytes_needed(workload)
        if needed > MUCH:
            workers.close()  # a worker keeps the memory of the sizes before
        available = bytes_available()
        if needed > MOST_OF_MEMORY * available:
            skipped.append(f"skipped: {workload.name} needs {needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are available")
            continue
        progress(workload.name)
        records += workers.measure([workload.name], options.isa[0], cores, rounds)
    for threads in thread_counts(cores):
        for workload in workloads:
            if workload.name in THREADED:
                progress(f"{workload.name}, {threads} threads")
                records += workers.measure([workload.name], options.isa[0], threads, rounds)
    return records, skipped


def series(records):
    """Returns {(operator, dtype): [(count, record)]} of the growing workloads, in ascending order."""
    found = {}
    for record in records:
        workload = record["workload"]
        if "failed" not in record and workload["size"] == SIZE:
            found.setdefault((workload["operator"], workload["dtype"]), []).append((int(workload["variant"]), record))
    return {key: sorted(points, key=lambda point: point[0]) for key, points in found.items()}


def lost(before, after):
    """Returns whether the ratio fell by more than a tenth of 1 or of itself, and by more than both spreads together."""
    fell = min(before.median, 1) - after.median
    return fell > MOST_LOSS * min(before.median, 1) and fell > math.hypot(before.spread, after.spread)


def jumps(points):
    """Returns (count, ratio before, ratio) where the ratio falls by more than a tenth beyond the caches. Above 1 it may fall to 1."""
    found, before = [], None
    for count, record in points:
        ratio = summary.ratio_to_reference(record)
        if ratio is None or record["workload"]["bytes"] < BEYOND_BYTES:
            continue
        if before is not None and lost(before, ratio):
            found.append((count, before.median, ratio.median))
        before = ratio
    return found


def judge(records):
    """Returns one line for each kind of growth, and whether nothing failed or jumped."""
    lines = [f"failed: {record['workload']['name']}: {record['failed']}" for record in records if "failed" in record]
    good = not lines
    for (operator, dtype), points in series(records).items():
        first, last = points[0], points[-1]
        what = (f"{operator}, {dtype}: {first[0]:,} to {last[0]:,} {COUNTS.get(operator, '')}, "
                f"{report.time_text(seconds_of(first[1]))} to {report.time_text(seconds_of(last[1]))}")
        found = jumps(points)
        good = good and not found
        lines.append(f"{what}: " + ("; ".join(f"jumps at {count:,}, ratio {before:.2f} to {after:.2f}" for count, before, after in found)
                                    or "no jump beyond 1 MiB of traffic"))
    return lines, good


def seconds_of(record):
    return summary.ours_of(record)["seconds"]["median"]
