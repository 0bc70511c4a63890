# Measures what limits a goal that is missed.
"""A limit explains a miss and never changes a verdict. There are four kinds:

    ratio     the reference with the arithmetic that no kernel can leave out, as a share of the reference's speed
              if there is no such arithmetic: the operator's speed with its data in a cache, as a share of the reference's speed in memory
    speed-up  how many times as fast as the peer the reference traffic is: no kernel that moves these bytes is faster
    scaling   how much the reference itself gains from the second thread
"""
import dataclasses

import report
import summary

NEAR = 0.90  # a value of at least this share of its limit is at the limit
CACHES = ("L1", "L2", "L3")
LISTS = "ApplyFusedEmaAdamList"  # its reference is the loop of single calls, not traffic


@dataclasses.dataclass(frozen=True)
class Limit:
    value: float
    text: str  # how it was measured


def cached_counterparts(workload, data):
    """Returns the workloads of the same kind whose data are in a cache; those of another variant only if there are none of this one."""
    there = [w for w in data.workloads if (w.operator, w.dtype) == (workload.operator, workload.dtype) and w.size in CACHES]
    return [w for w in there if w.variant == workload.variant] or there


def speed_in_cache(workload, isa, data):
    """Returns the bytes per second of one thread without the cost of the call, and the size of the data. Cores compute independently."""
    overhead = data.call_seconds(isa)
    found = []
    for cached in cached_counterparts(workload, data):
        record = data.single(cached.name, isa, 1, False)
        if "failed" not in record:
            seconds = summary.ours_of(record)["seconds"]["median"]
            found.append((cached.bytes / max(seconds - overhead, seconds / 2), cached))
    return max(found, key=lambda pair: pair[0], default=(0.0, None))


def of_arithmetic(goal, record, isa, data):
    record = data.with_arithmetic(record["workload"]["name"], isa, goal.threads)
    alone, reference = (summary.contestants_of(record, kind) for kind in ("arithmetic", "reference"))
    if not alone or not reference:
        return None
    times = [summary.figure(found[0], "ratio", goal.regime) for found in (alone, reference)]
    if None in times:
        return None
    speeds = [record["workload"]["bytes"] / summary.figure(found[0], "seconds", goal.regime) for found in (alone, reference)]
    return Limit(times[1] / times[0], f"{report.rate(speeds[0])} GB/s with arithmetic alone, reference {report.rate(speeds[1])} GB/s")


def of_cache(goal, record, isa, data):
    workload = next(w for w in data.workloads if w.name == record["workload"]["name"])
    speed, cached = speed_in_cache(workload, isa, data)
    reference = summary.contestants_of(record, "reference")
    seconds = summary.figure(reference[0], "seconds", goal.regime) if reference else None
    if cached is None or not seconds or not workload.bytes:
        return None
    available = workload.bytes / seconds
    return Limit(speed * goal.threads / available,
                 f"{report.rate(speed * goal.threads)} GB/s with the data in {cached.size}, reference {report.rate(available)} GB/s")


def of_speed_up(goal, record):
    reference, peer = summary.contestants_of(record, "reference"), summary.fastest_peer(record, goal.peer)
    if not reference or "ratio" not in reference[0] or peer is None:
        return None
    value = peer["ratio"]["median"] / reference[0]["ratio"]["median"]
    return Limit(value, f"{peer['name']} is at {1 / value:.2f} of the reference")


def of_scaling(records):
    one, two = (summary.contestants_of(record, "reference") for record in records)
    if not one or not two:
        return None
    ratio = summary.paired_ratio(one[0]["seconds"], two[0]["seconds"])
    return Limit(ratio.median, "the reference's own gain from the second thread") if ratio else None


def measure(verdict, data, isa):
    """Returns the limit of the worst workload of a missed goal, or None if no kind applies."""
    goal, name = verdict.goal, verdict.workload
    if goal.measure == "scaling":
        return of_scaling(data.scaling(name, isa))
    if goal.measure not in ("ratio", "speed-up"):
        return None
    record = data.single(name, isa, goal.threads, goal.measure == "speed-up")
    if goal.measure == "speed-up":
        return of_speed_up(goal, record)
    limit = of_arithmetic(goal, record, isa, data)
    return limit if limit or goal.operator == LISTS else of_cache(goal, record, isa, data)


def explains(limit, goal, measured):
    """Returns whether the value is as good as its limit allows. A limit beyond the speed of reference traffic limits nothing."""
    limits = limit.value < 1 or goal.measure != "ratio" or goal.operator == LISTS
    return limits and measured >= NEAR * limit.value


def text(limit, goal, measured):
    """Returns the words for a missed goal's row."""
    if explains(limit, goal, measured):
        return f"limit: {limit.value:.2f} ({limit.text})"
    return f"its limit is {limit.value:.2f} ({limit.text})"
