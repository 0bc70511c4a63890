# Makes only the measurements that the goals need, and judges each goal.
import dataclasses
import subprocess

import from_python
import goals
import limits
import regimes
import report
import summary

CLOSE = 0.95  # a miss by less than 5 % may be noise: it is shown as a miss, but does not fail the run
LEAST_ROUNDS = 3  # of the regime that a row names


@dataclasses.dataclass
class Verdict:
    """The outcome of one goal. `share` is 1 if the goal is just met, more if it is exceeded."""
    goal: object
    measured: float = None
    share: float = None
    workload: str = ""  # the worst of the goal's workloads
    peer: str = ""  # its peer
    rounds: str = ""  # how many rounds each regime had
    limit: object = None  # of a miss: see limits.py
    skipped: str = ""  # why the goal could not be judged here
    failed: str = ""  # why it could not be judged although it should have been

    @property
    def met(self):
        return not self.failed and self.share is not None and self.share >= 1

    @property
    def counts(self):
        return bool(self.failed) or self.share is not None

    @property
    def explained(self):
        return self.limit is not None and limits.explains(self.limit, self.goal, self.measured)


class Measurements:
    """Makes records on demand; each is measured once. The regimes are those of all measurements up to `find_regimes`."""

    def __init__(self, workers, workloads, isas, cores, rounds, progress):
        self.workers, self.workloads, self.isas, self.cores = workers, workloads, isas, cores
        self.rounds, self.progress = rounds, progress
        self.cache = {}
        self.regimes = regimes.Regimes([], cores)

    def _once(self, key, text, measure):
        if key not in self.cache:
            self.progress(text)
            self.cache[key] = measure()
        return self.cache[key]

    def single(self, name, isa, threads, with_peers):
        """Returns the condensed record of one workload. Ratios to the reference are measured in processes without PyTorch."""
        found, = self._once(((name,), isa, threads, with_peers), f"{name}, {isa}, {threads} threads",
                            lambda: self.workers.measure([name], isa, threads, self.rounds, with_peers))
        return summary.condensed(found, self.regimes)

    def with_arithmetic(self, name, isa, threads):
        """Returns the condensed record of one workload beside the reference with arithmetic."""
        found, = self._once(("arithmetic", name, isa, threads), f"{name}, {isa}, {threads} threads, arithmetic alone",
                            lambda: self.workers.measure([name], isa, threads, self.rounds, arithmetic=True))
        return summary.condensed(found, self.regimes)

    def together(self, names, isa, threads):
        """Returns the records of workloads measured in the same rounds."""
        return self._once((names, isa, threads), f"{' and '.join(names)}, {isa}, {threads} threads",
                          lambda: self.workers.measure(list(names), isa, threads, self.rounds))

    def scaling(self, name, isa):
        """Returns the records with one and with two threads, measured alternately."""
        return self._once((name, isa), f"{name}, {isa}, 1 and 2 threads",
                          lambda: self.workers.measure_alternately(name, [(isa, 1), (isa, 2)], self.rounds))

    def call_seconds(self, isa):
        """Returns the time of a call that does nothing worth mentioning; 0 without such a workload."""
        tiny = next((w for w in self.workloads if w.operator == "Overhead" and w.size == "two_phases_sync"), None)
        record = self.single(tiny.name, isa, 1, False) if tiny else {"failed": "there is none"}
        return 0.0 if "failed" in record else summary.ours_of(record)["seconds"]["median"]

    def from_python(self, script):
        """Returns the factors that a program of python/bench prints, or the exception that it ended with."""
        def measure():
            try:
                return from_python.factors(self.workers.options.python, script[0], script[1:])
            except (from_python.NotThere, ValueError, OSError, subprocess.TimeoutExpired) as error:
                return error

        return self._once(script, " ".join(script), measure)

    def find_regimes(self):
        measured = [records for records in self.cache.values() if isinstance(records, list)]
        self.regimes = regimes.Regimes.of([record for records in measured for record in records], self.cores)

    def records(self):
        """Returns the condensed records of single workloads, for reports. Those with peers have their peers."""
        order = {workload.name: number for number, workload in enumerate(self.workloads)}
        found = [{**summary.condensed(records[0], self.regimes), "with_peers": key[3]} for key, records in self.cache.items()
                 if isinstance(key[0], tuple) and len(key) == 4]
        return sorted(found, key=lambda record: order[record["workload"]["name"]])


class Skipped(Exception):
    """The machine or its software lacks a requirement of a goal."""


class Failed(Exception):
    """A measurement that a goal needs did not succeed."""


def succeeded(record):
    if "failed" in record:
        raise Failed(f"{record['workload']['name']}: {record['failed']}")
    return record


def measured(goal, workload, data, isa):
    """Returns the value of a goal for one workload, the name of its peer, and the regimes of the rounds."""
    if goal.measure == "scaling":
        one, two = (succeeded(r) for r in data.scaling(workload.name, isa))
        rounds = data.regimes.of_rounds(one)
        return summary.paired_ratio(summary.ours_of(one)["seconds"], summary.ours_of(two)["seconds"]).median, "", rounds
    if goal.measure == "skew":
        pair = data.together((workload.name, counterpart(workload, goal.against, data)), isa, goal.threads)
        skewed, even = (summary.ours_of(succeeded(r))["seconds"] for r in pair)
        return summary.paired_ratio(skewed, even).median, "", data.regimes.of_rounds(pair[0])
    record = succeeded(data.single(workload.name, isa, goal.threads, goal.measure == "speed-up"))
    if goal.measure == "seconds":
        return summary.ours_of(record)["seconds"]["median"], "", record["regimes"]
    if goal.measure == "ratio":
        ratio = summary.ratio_to_reference(record)
        if ratio is None:
            raise Failed(f"{workload.name} has no reference")
        return in_regime(goal, record), "", record["regimes"]
    peer = summary.fastest_peer(record, goal.peer)
    if peer is None:
        raise Skipped(why_no_peer(goal, record, data))
    return peer["ratio"]["median"], peer["name"], record["regimes"]


def in_regime(goal, record):
    """Returns the ratio in the regime that the goal names."""
    if summary.rounds_in(record, goal.regime) < LEAST_ROUNDS and goal.regime != regimes.ANY:
        raise Skipped(f"the {goal.regime} regime had fewer than {LEAST_ROUNDS} rounds ({regimes.counted(record['regimes'])})")
    return summary.figure(summary.contestants_of(record, "reference")[0], "ratio", goal.regime)


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


def isa_of(goal, data):
    return data.isas[0] if goal.isa == goals.BEST else goal.isa


def judge_from_python(goal, data):
    verdict, found = Verdict(goal), data.from_python(goal.script)
    if isinstance(found, from_python.NotThere):
        verdict.skipped = str(found)
    elif isinstance(found, Exception) or goal.peer not in found:
        verdict.failed = str(found) if isinstance(found, Exception) else f"{goal.script[0]} prints no factor against {goal.peer}"
    else:
        verdict.measured, verdict.share = found[goal.peer], found[goal.peer] / goal.bound
        verdict.workload = " ".join(goal.script)
    return verdict


def judge(goal, data):
    """Returns the verdict on one goal: that of its worst workload."""
    if goal.measure == "python":
        return judge_from_python(goal, data)
    verdict = Verdict(goal)
    isa = isa_of(goal, data)
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
            value, peer, rounds = measured(goal, workload, data, isa)
        except Skipped as reason:
            verdict.skipped = str(reason)
            continue
        except Failed as reason:
            verdict.failed = str(reason)
            continue
        share = goal.bound / value if goal.at_most else value / goal.bound
        if verdict.share is None or share < verdict.share:
            verdict.measured, verdict.share, verdict.rounds = value, share, regimes.counted(rounds)
            verdict.workload, verdict.peer = workload.name, peer
    return verdict


def number(goal, value):
    return report.time_text(value) if goal.measure == "seconds" else f"{value:.2f}"


def line_of(verdict):
    """The cells of a verdict's line."""
    goal = verdict.goal
    bound = ("<= " if goal.at_most else ">= ") + number(goal, goal.bound)
    if verdict.failed or verdict.share is None:
        return [goal.text, "", bound, "", status(verdict), "", verdict.failed or verdict.skipped]
    worst = f"{verdict.workload}: {verdict.peer}" if verdict.peer else verdict.workload
    if verdict.limit is not None:
        worst += f"; {limits.text(verdict.limit, goal, verdict.measured)}"
    return [goal.text, number(goal, verdict.measured), bound, f"{verdict.share:.0%}", status(verdict), verdict.rounds, worst]


HEADS = ["goal", "measured", "goal", "share", "", "rounds", "worst workload, or why not"]


def verdicts_on(data, rows):
    """Returns the verdicts. All measurements precede the first verdict, because the regimes are those of the whole run."""
    for goal in rows:
        judge(goal, data)
    data.find_regimes()
    verdicts = [judge(goal, data) for goal in rows]
    for verdict in verdicts:
        if verdict.share is not None and not verdict.failed and not verdict.met:
            verdict.limit = limits.measure(verdict, data, isa_of(verdict.goal, data))
    return verdicts


def status(verdict):
    if verdict.failed:
        return "failed"
    if verdict.share is None:
        return "skipped"
    return "met" if verdict.met else "missed"


def to_json(verdict):
    """Returns a verdict in the form of result files."""
    goal = verdict.goal
    reason = verdict.failed or verdict.skipped if verdict.share is None or verdict.failed else ""
    return {"goal": goal.text, "operator": goal.operator, "measure": goal.measure, "regime": goal.regime, "threads": goal.threads, "isa": goal.isa,
            "bound": goal.bound, "at_most": goal.at_most, "measured": verdict.measured, "status": status(verdict), "rounds": verdict.rounds,
            "workload": verdict.workload, "peer": verdict.peer, "reason": reason,
            "limit": limits.text(verdict.limit, goal, verdict.measured) if verdict.limit is not None else ""}


def summary_line(verdicts):
    counted = [v for v in verdicts if v.counts]
    met, explained = sum(v.met for v in counted), sum(v.explained for v in counted)
    skipped = len(verdicts) - len(counted)
    return (f"{met} of {len(counted)} goals met" + (f", {explained} missed at a measured limit" if explained else "")
            + (f", {skipped} skipped" if skipped else ""))


def check(data, rows):
    """Returns the verdicts, the lines of the report, and whether nothing failed or missed its goal by more than 5 %."""
    verdicts = verdicts_on(data, rows)
    lines = report.aligned([HEADS] + [line_of(v) for v in verdicts], {1, 2, 3})
    good = all(not v.failed and v.share >= CLOSE for v in verdicts if v.counts)
    return verdicts, [*lines, summary_line(verdicts)], good
