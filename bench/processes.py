# Starts the worker of a configuration, communicates with it, and survives its crash.
import json
import os
import pathlib
import subprocess
import threading

import summary

# glibc keeps and reuses the memory that PyTorch frees, in large pages like ours: its results then also cost no page faults.
ALLOCATOR = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1099511627776:glibc.malloc.hugetlb=1"
ANSWER_SECONDS = 900  # a worker that is silent for longer has hung


class WorkerDied(Exception):
    """The worker ended without a reply."""


class Worker:
    """A worker process of one configuration."""

    def __init__(self, options, isa, threads, with_peers):
        self.isa, self.threads = isa, threads
        command = [options.python, str(pathlib.Path(__file__).with_name("worker.py")), str(options.library), str(threads)]
        environment = {**os.environ, "OPENACLNN_ISA": isa, "OPENACLNN_NUM_THREADS": str(threads),
                       "OMP_NUM_THREADS": str(threads), "GLIBC_TUNABLES": ALLOCATOR}
        self.process = subprocess.Popen(command + (["--peers"] if with_peers else []), env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready = self._answer()
        self.peers, self.no_peers_reason = ready["peers"], ready["reason"]

    def measure(self, names, rounds, with_peers=False, arithmetic=False):
        """Returns the records of workloads that share their rounds. A worker's rejection becomes a failed record."""
        request = {"workloads": names, "rounds": rounds, "peers": with_peers, "arithmetic": arithmetic}
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # _answer says how the worker ended
        answer = self._answer()
        records = answer.get("records") or [{"workload": {"name": name}, "failed": answer["error"]} for name in names]
        return [{**record, "isa": self.isa, "threads": self.threads} for record in records]

    def _answer(self):
        alarm = threading.Timer(ANSWER_SECONDS, self.process.kill)
        alarm.start()
        line = self.process.stdout.readline()
        alarm.cancel()
        if not line:
            raise WorkerDied(f"the worker ended with status {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Workers:
    """All workers of a run, started when first needed."""

    def __init__(self, options):
        self.options = options
        self.running = {}
        self.peers = ""  # version of the peers, once a worker has loaded them
        self.no_peers_reason = "" if options.peers else "not asked for"
        self.measurements = self.disturbed = 0

    def worker(self, isa, threads, with_peers):
        key = isa, threads, with_peers
        if key not in self.running:
            worker = self.running[key] = Worker(self.options, *key)
            if with_peers:
                self.peers, self.no_peers_reason = worker.peers or "", worker.no_peers_reason
        return self.running[key]

    def measure(self, names, isa, threads, rounds, with_peers=False, arithmetic=False):
        """As Worker.measure. A crash becomes failed records, and the next request gets a new worker."""
        with_peers = with_peers and self.options.peers
        try:
            records = self.worker(isa, threads, with_peers).measure(names, rounds, with_peers, arithmetic)
            self._count(records)
            return records
        except WorkerDied as death:
            self.running.pop((isa, threads, with_peers), None)
            failed = {"isa": isa, "threads": threads, "failed": str(death)}
            return [{"workload": {"name": name}, **failed} for name in names]

    def measure_alternately(self, name, configurations, rounds):
        """Returns one record for each configuration; the configurations take turns, three rounds at a time."""
        records = [None] * len(configurations)
        for _ in range(0, rounds, 3):
            for number, (isa, threads) in enumerate(configurations):
                record, = self.measure([name], isa, threads, 3)
                records[number] = joined(records[number], record)
        return records

    def _count(self, records):
        for contestant in (c for record in records for c in record.get("contestants", [])):
            self.measurements += sum(s is not None for s in contestant["seconds"])
            self.disturbed += contestant["disturbed"]

    def disturbed_share(self):
        """Returns the share of measurements in which other programs used the cores."""
        return round(self.disturbed / max(1, self.measurements), 3)

    def close(self):
        for worker in self.running.values():
            worker.close()
        self.running.clear()


def joined(first, second):
    """Returns one record with the rounds of two; a failure of either stays."""
    if first is None or "failed" in second:
        return second
    if "failed" in first:
        return first
    first["probes"] += second["probes"]
    for kind in ("ours", "reference"):
        for a, b in zip(summary.contestants_of(first, kind), summary.contestants_of(second, kind)):
            a["seconds"] += b["seconds"]
    return first
