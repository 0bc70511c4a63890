# Medians, quartiles and paired ratios of measurements, and values derived from the record of a workload.
"""A record is a worker's report about one workload in one configuration:

    {"workload": {name, operator, dtype, size, variant, shape, bytes, reference}, "isa": "avx512", "threads": 2,
     "probes": [[before, after] of each round: see regimes.py],
     "contestants": [{"name", "kind": "ours" | "reference" | "arithmetic" | "peer", "seconds": [one call, per round],
                      "calls": per measurement, "disturbed": measurements in which others used the cores,
                      of peers also "difference": relative, "inexact": whether that is much}],
     "skipped": [{"name", "reason"}]}            or, instead of the last two, "failed": "why"

`condensed` reduces the seconds of all rounds to the three numbers that reports keep, for all rounds and for those of each regime. It keeps the
regime of every round in "regimes" instead of the probes.
"""
import dataclasses
import statistics

import regimes


@dataclasses.dataclass(frozen=True)
class Summary:
    """A median with its quartiles."""
    median: float
    q1: float
    q3: float

    @property
    def spread(self):
        return self.q3 - self.q1


def summarize(values):
    """The summary of numbers; quartiles are interpolated between the ordered values."""
    values = sorted(values)
    if len(values) == 1:
        return Summary(values[0], values[0], values[0])
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return Summary(median, q1, q3)


def paired_ratio(numerator, denominator):
    """Returns the summary of a/b over the rounds that both joined, or None if there is no such round."""
    ratios = [a / b for a, b in zip(numerator, denominator) if a is not None and b is not None and b > 0]
    return summarize(ratios) if ratios else None


def within(values, rounds, regime):
    """Returns the values with None for rounds of other regimes."""
    return [value if regime in (regimes.ANY, name) else None for value, name in zip(values, rounds)]


def condensed(record, found=None):
    """Returns the record with summaries: seconds of each contestant, and how many times longer than ours it takes. `found` are the run's regimes."""
    if "failed" in record:
        return dict(record)
    rounds = (found or regimes.Regimes([], 1)).of_rounds(record)
    ours = next(c["seconds"] for c in record["contestants"] if c["kind"] == "ours")
    contestants = []
    for contestant in record["contestants"]:
        joined = [s for s in contestant["seconds"] if s is not None]
        if not joined:
            continue
        short = {key: value for key, value in contestant.items() if key != "seconds"}
        short["rounds"] = len(joined)
        short["seconds"] = dataclasses.asdict(summarize(joined))
        ratio = paired_ratio(contestant["seconds"], ours)
        if contestant["kind"] != "ours" and ratio is not None:
            short["ratio"] = dataclasses.asdict(ratio)
        short["in"] = {name: figures_in(name, contestant, ours, rounds) for name in (regimes.SLOW, regimes.FAST) if name in rounds}
        contestants.append(short)
    kept = {key: value for key, value in record.items() if key != "probes"}
    return {**kept, "regimes": rounds, "contestants": contestants}


def figures_in(regime, contestant, ours, rounds):
    """Returns the figures of a contestant in the rounds of one regime, in the form of those of all rounds."""
    seconds = within(contestant["seconds"], rounds, regime)
    joined = [s for s in seconds if s is not None]
    found = {"rounds": len(joined)}
    if joined:
        found["seconds"] = dataclasses.asdict(summarize(joined))
        if contestant["kind"] != "ours":
            found["ratio"] = dataclasses.asdict(paired_ratio(seconds, ours))
    return found


def key_of(record):
    """Returns the key that identifies a record among those of other runs."""
    return record["workload"]["name"], record["isa"], record["threads"]


def contestants_of(record, kind):
    return [c for c in record.get("contestants", []) if c["kind"] == kind]


def ours_of(record):
    return contestants_of(record, "ours")[0]


def ratio_to_reference(record, regime=regimes.ANY):
    """Returns our speed as a share of the reference's, from a condensed record, or None without a reference or rounds of the regime."""
    found = [Summary(**figures["ratio"]) for c in contestants_of(record, "reference") for figures in [figures_of(c, regime)] if "ratio" in figures]
    return found[0] if found else None


def figures_of(contestant, regime):
    """Returns the figures of a condensed contestant in a regime."""
    return contestant if regime == regimes.ANY else contestant["in"].get(regime, {})


def figure(contestant, key, regime):
    """Returns the median of a condensed contestant's "seconds" or "ratio" in a regime, or None if it has none there."""
    return figures_of(contestant, regime).get(key, {}).get("median")


def rounds_in(record, regime):
    """Returns how many rounds of a condensed record were in the regime."""
    return len(record["regimes"]) if regime == regimes.ANY else record["regimes"].count(regime)


def fastest_peer(record, name=""):
    """Returns the fastest peer whose name contains `name`, or None. Ratios decide, because not all peers join all rounds."""
    peers = [c for c in contestants_of(record, "peer") if name in c["name"] and "ratio" in c]
    return min(peers, key=lambda c: c["ratio"]["median"], default=None)
