# The process that measures: one for each instruction set and number of threads, which the library reads only once.
"""usage: worker.py LIBRARY THREADS [--peers]

It answers requests, one JSON object a line. The reply to {"workloads": [names], "rounds": n, "peers": bool, "arithmetic": bool} is
{"records": [...]}, or {"error": why}.
The workloads of one request share their rounds, so that they can be compared. bench.py starts workers and sets their environment.
"""
import contextlib
import json
import os
import sys

import library
import rounds

# PyTorch's OpenMP threads spin after each operation, 8 ms of CPU time with libgomp's default, and would take the cores from
# the next contestant.
PAUSE_WITH_PEERS = 12e-3


def protect_stdout():
    """Reserves stdout for the replies: output of libraries goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def load_peers(threads):
    """Returns the module of the peers, or None and the reason."""
    try:
        import peers_torch
    except ImportError as error:
        return None, f"PyTorch is not importable: {error}"
    peers_torch.use_threads(threads)
    return peers_torch, ""


def own_contestants(opened, arithmetic):
    """Returns the operator and, if the shape has them, the reference and, if wanted, the reference with arithmetic."""
    found = [rounds.Contestant("openaclnn", "ours", lambda calls: opened.run(library.OURS, calls))]
    if opened.has(library.REFERENCE):
        found.append(rounds.Contestant("reference", "reference", lambda calls: opened.run(library.REFERENCE, calls)))
    if arithmetic and opened.has(library.ARITHMETIC):
        found.append(rounds.Contestant("arithmetic", "arithmetic", lambda calls: opened.run(library.ARITHMETIC, calls)))
    return found


def measure(lib, request, peers):
    """The records of one request."""
    with contextlib.ExitStack() as stack:
        groups = []
        for name in request["workloads"]:
            opened = stack.enter_context(lib.open(name))
            record = {"workload": opened.workload.summary(), "skipped": []}
            contestants = own_contestants(opened, request.get("arithmetic"))
            if peers is not None and request.get("peers"):
                found, record["skipped"] = peers.contestants(opened)
                contestants += found
            groups.append((record, contestants))
        everyone = [contestant for _, contestants in groups for contestant in contestants]
        probes = rounds.take_turns(everyone, request["rounds"], PAUSE_WITH_PEERS if peers is not None else 0.0, lib.probe)
        for record, contestants in groups:
            record["probes"] = probes
            record["contestants"] = [described(c) for c in contestants]
        return [record for record, _ in groups]


def described(contestant):
    """Returns a contestant in the form of records."""
    return {"name": contestant.name, "kind": contestant.kind, "calls": contestant.calls, "seconds": contestant.seconds,
            "disturbed": contestant.disturbed, **contestant.remarks}


def main(path, threads, *options):
    answers = protect_stdout()

    def answer(message):
        print(json.dumps(message), file=answers, flush=True)

    lib = library.Library(path)
    peers, reason = load_peers(int(threads)) if "--peers" in options else (None, "not asked for")
    answer({"peers": peers.VERSION if peers is not None else None, "reason": reason})
    for line in sys.stdin:
        try:
            answer({"records": measure(lib, json.loads(line), peers)})
        except (RuntimeError, LookupError, MemoryError) as error:
            answer({"error": str(error)})


if __name__ == "__main__":
    main(*sys.argv[1:])
