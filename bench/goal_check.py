# Makes only the measurements that the goals need, and judges each goal.
import dataclasses

import goals
import report
import summary

CLOSE = 0.95  # a miss by less than 5 % may be noise: it is shown as a miss, but does not fail the run


@dataclasses.dataclass
class Verdict:
    """The outcome of one goal. `share` is 1 if the goal is just met, more if it is exceeded."""
    goal: object
    measured: float = None
    share: float = None
    worst: str = ""  # the worst of the goal's workloads, and its peer
    skipped: str = ""  # why the goal could not be judged here
    failed: str = ""  # why it could not be judged although it should have been


class Measurements:
    """Makes records on demand; each is measured once."""

    def __init__(self, workers, workloads, isas, cores, rounds, progress):
        self.workers, self.workloads, self.isas, self.cores = workers, workloads, isas, cores
        self.rounds, self.progress = rounds, progress
        self.cache = {}

    def _once(self, key, text, measure):
        if key not in self.cache:
            self.progress(text)
            self.cache[key] = measure()
        return self.cache[key]

    def single(self, name, isa, threads, with_peers):
        """Returns the condensed record of one workload. Ratios to the reference are measured in processes without PyTorch."""
        return self._once((name, isa, threads, with_peers), f"{name}, {isa}, {threads} threads",
                          lambda: summary.condensed(
                              self.workers.measure([name], isa, threads, self.rounds, with_peers)[0]))

    def together(self, names, isa, threads):
        """Returns the records of workloads measured in the same rounds."""
        return self._once((names, isa, threads), f"{' and '.join(names)}, {isa}, {threads} threads",
                          lambda: self.workers.measure(list(names), isa, threads, self.rounds))

    def scaling(self, name, isa):
        """Returns the records with one and with two threads, measured alternately."""
        return self._once((name, isa), f"{name}, {isa}, 1 and 2 threads",
                          lambda: self.workers.measure_alternately(name, [(isa, 1), (isa, 2)], self.rounds))


class Skipped(Exception):
    """The machine or its software lacks a requirement of a goal."""


class Failed(Exception):
    """A measurement that a goal needs did not succeed."""


def succeeded(record):
    if "failed" in record:
        raise Failed(f"{record['workload']['name']}: {record['failed']}")
    return record


def measured(goal, workload, data, isa):
    """Returns the value of a goal for one workload, and the name of its peer."""
    if goal.measure == "scaling":
        one, two = (succeeded(r) for r in data.scaling(workload.name, isa))
        return summary.paired_ratio(summary.ours_of(one)["seconds"], summary.ours_of(two)["seconds"]).median, ""
    if goal.measure == "skew":
        pair = data.together((workload.name, counterpart(workload, goal.against, data)), isa, goal.threads)
        skewed, even = (summary.ours_of(succeeded(r))["seconds"] for r in pair)
        return summary.paired_ratio(skewed, even).median, ""
    record = succeeded(data.single(workload.name, isa, goal.threads, goal.measure == "speed-up"))
    if goal.measure == "seconds":
        return summary.ours_of(record)["seconds"]["median"], ""
    if goal.measure == "ratio":
        ratio = summary.ratio_to_reference(record)
        if ratio is None:
            raise Failed(f"{workload.name} has no reference")
        return ratio.median, ""
    peer = summary.fastest_peer(record, goal.peer)
    if peer is None:
        raise Skipped(why_no_peer(goal, record, data))
    return peer["ratio"]["median"], peer["name"]


def why_no_peer(goal, record, data):
    reasons = [f"{s['name']}: {s['reason']}" for s in record["skipped"] if goal.peer in s["name"]]
    return "; ".join(reasons) or data.workers.no_peers_reason or f"there is no peer {goal.peer}"


def counterpart(workload, variant, data):
    """Returns the name of the workload that differs only in the variant."""
    def essence(w):
        return w.operator, w.dtype, w.size, w.shape

    for other in data.workloads:
        if other.variant == variant and essence(other) == essence(workload):
            return other.name
    raise Failed(f"{workload.name} has no counterpart {variant}")


def judge(goal, data):
    """Returns the verdict on one goal: that of its worst workload."""
    verdict = Verdict(goal)
    isa = data.isas[0] if goal.isa == goals.BEST else goal.isa
    workloads = [w for w in data.workloads if goal.matches(w)]
    if not workloads:
        verdict.failed = "no workload matches this row"
    elif isa not in data.isas:
        verdict.skipped = f"this machine has no {isa}"
    elif goal.threads > data.cores:
        verdict.skipped = f"this machine has {data.cores} core"
    if verdict.failed or verdict.skipped:
        return verdict
    for workload in workloads:
        try:
            value, peer = measured(goal, workload, data, isa)
        except Skipped as reason:
            verdict.skipped = str(reason)
            continue
        except Failed as reason:
            verdict.failed = str(reason)
            continue
        share = goal.bound / value if goal.at_most else value / goal.bound
        if verdict.share is None or share < verdict.share:
            verdict.measured, verdict.share = value, share
            verdict.worst = f"{workload.name}: {peer}" if peer else workload.name
    return verdict


def number(goal, value):
    return report.time_text(value) if goal.measure == "seconds" else f"{value:.2f}"


def line_of(verdict):
    """The cells of a verdict's line."""
    goal = verdict.goal
    bound = ("<= " if goal.at_most else ">= ") + number(goal, goal.bound)
    if verdict.failed:
        return [goal.text, "", bound, "", "failed", verdict.failed]
    if verdict.share is None:
        return [goal.text, "", bound, "", "skipped", verdict.skipped]
    return [goal.text, number(goal, verdict.measured), bound, f"{verdict.share:.0%}",
            "met" if verdict.share >= 1 else "missed", verdict.worst]


def check(data, rows):
    """Returns the lines of the report, and whether nothing failed or missed its goal by more than 5 %."""
    verdicts = [judge(goal, data) for goal in rows]
    heads = [["goal", "measured", "goal", "share", "", "worst workload, or why not"]]
    lines = report.aligned(heads + [line_of(v) for v in verdicts], {1, 2, 3})
    counted = [v for v in verdicts if v.failed or v.share is not None]
    met = [v for v in counted if not v.failed and v.share >= 1]
    good = all(not v.failed and v.share >= CLOSE for v in counted)
    lines.append(f"{len(met)} of {len(counted)} goals met"
                 + (f", {len(verdicts) - len(counted)} skipped" if len(counted) < len(verdicts) else ""))
    return lines, good
