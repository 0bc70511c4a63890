# Made-up records and workers of the benchmark's tests.
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import library


def record(name="A/f32/memory", ours=(2.0, 2.0, 2.0), reference=(1.8, 1.8, 1.8), peers=(), isa="avx2", threads=1,
           **workload):
    """Returns a record in the form of a worker's report."""
    described = library.Workload(name=name, operator=name.split("/")[0], bytes=4_000_000_000, **workload).summary()
    contestants = [{"name": "openaclnn", "kind": "ours", "calls": 1, "seconds": list(ours)},
                   {"name": "reference", "kind": "reference", "calls": 1, "seconds": list(reference)}]
    contestants += [{"name": peer, "kind": "peer", "calls": 1, "seconds": list(seconds), "difference": 0.04, "inexact": True}
                    for peer, seconds in peers]
    return {"workload": described, "isa": isa, "threads": threads, "contestants": contestants, "skipped": []}


class FakeWorkers:
    """Measurements without cost: the seconds of each workload, 0.9 times those for the reference, 3 times for a peer."""
    no_peers_reason = ""

    def __init__(self, seconds):
        self.seconds, self.asked, self.probes = seconds, [], []
        self.arithmetic = None  # how many times as long as ours; None: the workloads have no arithmetic

    def measure(self, names, isa, threads, number, with_peers=False, arithmetic=False):
        self.asked.append((tuple(names), isa, threads, with_peers))
        found = []
        for name in names:
            if name not in self.seconds:
                found.append({"workload": {"name": name}, "isa": isa, "threads": threads, "failed": "it crashed"})
                continue
            ours = self.seconds[name] / threads
            peers = [("peer one", [3 * ours] * number)] if with_peers else []
            found.append(record(name, [ours] * number, [0.9 * ours] * number, peers, isa, threads))
            found[-1]["probes"] = self.probes[:number]
            if arithmetic and self.arithmetic is not None:
                found[-1]["contestants"].append({"name": "arithmetic", "kind": "arithmetic", "calls": 1, "seconds": [self.arithmetic * ours] * number})
        return found

    def close(self):
        """Processes would end here."""

    def measure_alternately(self, name, configurations, number):
        return [self.measure([name], isa, threads, number)[0] for isa, threads in configurations]
