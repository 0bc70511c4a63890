# The goals of speed on GPUs, and the table that compares what openaclnn_gpu_bench printed with them.
import json

# (operator, start of the case's name) -> goal for fp32 and for 16-bit types, of the copy's bandwidth.
GOALS = {
    ("ApplyFusedEmaAdam", "64 Mi"): (0.97, 0.95),
    ("GroupedBiasAddGrad", "512 MiB"): (1.00, 1.00),
    ("EmbeddingDenseBackward", "8 Ki indices, uniform"): (0.93, 0.90),
    ("EmbeddingDenseBackward", "32 Ki indices, uniform"): (0.93, 0.90),
    ("NsaCompressGrad", "256 MiB"): (0.90, 0.92),
}
SKEW_LIMIT = 1.05  # GroupedBiasAddGrad: time with one giant group by time with equal groups
EQUAL_LIMIT = 1.25  # EmbeddingDenseBackward: time with equal indices by time with uniform ones


def rows_of(text):
    """Reads the measurements of the bench. A bench that was killed leaves its last line unfinished."""
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        if row:
            rows.append(row)
    return rows


def table(rows):
    """Returns the lines of the report."""
    copies = [row["bytes"] / row["microseconds"] for row in rows if row["operator"] == "copy"]
    if not copies:
        return ["speed: the bench did not get as far as its first figure, the bandwidth of a copy"]
    ceiling = max(copies)
    lines = [f"copy: {' and '.join(f'{copy / 1e3:.0f}' for copy in copies)} GB/s, before and after"]
    # The bandwidth of one direction explains figures; no goal depends on it.
    lines += [f"{row['operator']} alone: {row['bytes'] / row['microseconds'] / 1e3:.0f} GB/s" for row in rows if row["operator"] in ("write", "read")]
    lines.append("| operator | case | dtype | µs | of the copy | goal | |\n|---|---|---|---|---|---|---|")
    times = {}
    for row in rows:
        if row["operator"] in ("copy", "write", "read"):
            continue
        times[row["operator"], row["case"], row["dtype"]] = row["microseconds"]
        share = row["bytes"] / row["microseconds"] / ceiling
        goal = next((goals[row["dtype"] != "fp32"] for (operator, case), goals in GOALS.items()
                     if operator == row["operator"] and row["case"].startswith(case)), None)
        verdict = "" if goal is None else "met" if share >= goal else "**missed**"
        lines.append(f"| {row['operator']} | {row['case']} | {row['dtype']} | {row['microseconds']:.1f} | {share:.2f} | {goal or '–'} | {verdict} |")
    for (operator, case, dtype), microseconds in times.items():
        for worse, better, limit in ((", one group has nearly all", ", equal groups", SKEW_LIMIT), (", equal", ", uniform", EQUAL_LIMIT)):
            base = times.get((operator, case.replace(worse, better), dtype)) if case.endswith(worse) else None
            if base:
                ratio = microseconds / base
                lines.append(f"| {operator} | {case} by {better[2:]} | {dtype} | | {ratio:.2f} times as long | ≤ {limit} | "
                             f"{'met' if ratio <= limit else '**missed**'} |")
    return lines
