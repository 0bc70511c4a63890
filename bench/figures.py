# Picks from a kept run the figures that pages show.
"""A run is the JSON of `--publish`. Shares of memory's speed come from records without PyTorch in the process, of workloads far beyond the caches. A share
belongs to one regime and needs at least three rounds in it.
"""
import dataclasses
import json
import pathlib

import machine
import regimes
import report
import summary

LEAST_ROUNDS = 3
DTYPES = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BF16"}


@dataclasses.dataclass(frozen=True)
class Share:
    """How fast a workload is, as a share of its reference traffic in one regime."""
    value: float
    workload: dict
    regime: str

    @property
    def label(self):
        """The workload without its operator, such as 'bf16 32_16'."""
        return " ".join(part for part in (self.workload["dtype"], self.workload["variant"]) if part)


@dataclasses.dataclass(frozen=True)
class Factor:
    """How many times as fast as its fastest peer a workload is."""
    value: float
    workload: dict
    peer: str
    of_reference: float  # the peer's own share of the reference's speed, or None

    label = Share.label


def ratios_of(record):
    """Returns (regime, ratio) of the regimes with enough rounds. If the run knows none, all rounds count as "unknown"."""
    if set(record["regimes"]) == {regimes.UNKNOWN}:
        found = [(regimes.UNKNOWN, summary.ratio_to_reference(record))]
    else:
        found = [(name, summary.ratio_to_reference(record, name)) for name in (regimes.SLOW, regimes.FAST)
                 if summary.rounds_in(record, name) >= LEAST_ROUNDS]
    return [(name, ratio) for name, ratio in found if ratio is not None]


class Run:
    """The content of a result file."""

    def __init__(self, path):
        path = pathlib.Path(path)
        self.path = path if path.is_absolute() else machine.ROOT / path
        with open(self.path, encoding="utf-8") as file:
            self.content = json.load(file)
        if self.content.get("format") != report.FORMAT:
            raise ValueError(f"{path} isn't a result of format {report.FORMAT}")
        self.about, self.records = self.content["machine"], [r for r in self.content["records"] if "failed" not in r]
        self.goals = self.content.get("goals", [])

    @property
    def name(self):
        return self.path.resolve().relative_to(machine.ROOT).as_posix()

    @property
    def provisional(self):
        """Whether other programs disturbed every probe. Then the figures say little, and peers suffer more than openaclnn."""
        return bool(self.records) and all(set(r["regimes"]) <= {regimes.UNKNOWN} for r in self.records)

    def _of(self, isa, threads, with_peers):
        return [r for r in self.records if (r["isa"], r["threads"], r.get("with_peers", False)) == (isa, threads, with_peers)
                and r["workload"]["size"] == "memory"]

    def operators(self):
        return list(dict.fromkeys(r["workload"]["operator"] for r in self._of(self.isas()[0], self.threads(), False)))

    def threads(self):
        return max((r["threads"] for r in self.records), default=1)

    def isas(self):
        """Returns the instruction sets, the one of most threads first."""
        most = self.threads()
        return sorted(dict.fromkeys(r["isa"] for r in self.records), key=lambda isa: not any(r["isa"] == isa and r["threads"] == most for r in self.records))

    def shares(self, isa=None, threads=None):
        """Returns {operator: shares in ascending order}."""
        found = {}
        for record in self._of(isa or self.isas()[0], threads or self.threads(), False):
            for regime, ratio in ratios_of(record):
                found.setdefault(record["workload"]["operator"], []).append(Share(ratio.median, record["workload"], regime))
        return {operator: sorted(shares, key=lambda s: s.value) for operator, shares in found.items()}

    def factors(self):
        """Returns {operator: factors in ascending order}."""
        found = {}
        for record in self._of(self.isas()[0], self.threads(), True):
            peer = summary.fastest_peer(record)
            if peer is not None:
                reference = summary.ratio_to_reference(record)
                factor = Factor(peer["ratio"]["median"], record["workload"], peer["name"],
                                reference.median / peer["ratio"]["median"] if reference else None)
                found.setdefault(record["workload"]["operator"], []).append(factor)
        return {operator: sorted(factors, key=lambda f: f.value) for operator, factors in found.items()}

    def tiny_calls(self):
        """Returns (size, threads, seconds) of the calls on four elements, in ascending order."""
        return sorted((r["workload"]["size"], r["threads"], summary.ours_of(r)["seconds"]["median"]) for r in self.records
                      if r["workload"]["operator"] == "Overhead" and not r.get("with_peers", False))

    def call_seconds(self):
        """Returns {"two_phases_sync", "phase1": seconds of a call on four elements} with the fewest threads measured."""
        return {size: seconds for size, _, seconds in reversed(self.tiny_calls())}
