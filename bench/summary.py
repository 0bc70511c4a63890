# Medians, quartiles and paired ratios of measurements, and values derived from the record of a workload.
"""A record is a worker's report about one workload in one configuration:

    {"workload": {name, operator, dtype, size, variant, shape, bytes, reference}, "isa": "avx512", "threads": 2,
     "contestants": [{"name", "kind": "ours" | "reference" | "peer", "seconds": [one call, per round],
                      "calls": per measurement, "disturbed": measurements in which others used the cores,
                      of peers also "difference": relative, "inexact": whether that is much}],
     "skipped": [{"name", "reason"}]}            or, instead of the last two, "failed": "why"

`condensed` reduces the seconds of all rounds to the three numbers that reports keep.
"""
import dataclasses
import statistics


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


def condensed(record):
    """Returns the record with summaries: seconds of each contestant, and how many times longer than ours it takes."""
    if "failed" in record:
        return dict(record)
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
        contestants.append(short)
    return {**record, "contestants": contestants}


def key_of(record):
    """Returns the key that identifies a record among those of other runs."""
    return record["workload"]["name"], record["isa"], record["threads"]


def contestants_of(record, kind):
    return [c for c in record.get("contestants", []) if c["kind"] == kind]


def ours_of(record):
    return contestants_of(record, "ours")[0]


def ratio_to_reference(record):
    """Returns our speed as a share of the reference's, from a condensed record, or None without a reference."""
    found = [Summary(**c["ratio"]) for c in contestants_of(record, "reference") if "ratio" in c]
    return found[0] if found else None


def fastest_peer(record, name=""):
    """Returns the fastest peer whose name contains `name`, or None. Ratios decide, because not all peers join all rounds."""
    peers = [c for c in contestants_of(record, "peer") if name in c["name"] and "ratio" in c]
    return min(peers, key=lambda c: c["ratio"]["median"], default=None)
