#!/usr/bin/env python3
# Keeps one line for each published run, so that figures can be followed from commit to commit.
"""usage: history.py RESULT.json     appends the run to bench/history/runs.jsonl, or replaces its line

Each line is a JSON object: date, version, commit, machine, the name of the run, and key figures. `shares` are an operator's worst and best share of
the reference's speed, `factors` its worst and best factor against its fastest peer. `call_seconds` is the time of a call on four elements.
"""
import json
import pathlib
import sys

import figures
import machine

HISTORY = pathlib.Path("bench/history/runs.jsonl")


def ends(values):
    """Returns the worst and the best of sorted shares or factors."""
    return [round(value, 3) for value in (values[0].value, values[-1].value)]


def entry(run):
    """Returns the line of a run as an object."""
    about = run.about
    version, _, commit = about["library"].partition(" ")
    judged = [goal for goal in run.goals if goal["status"] != "skipped"]
    return {
        "date": about["date"], "version": version, "commit": commit,
        "machine": {"cpu": about["cpu"], "cores": about["cores"], "isa": run.isas()[0], "threads": run.threads()},
        "run": run.name, "disturbed": round(about.get("disturbed", 0), 3),
        "shares": {operator: ends(shares) for operator, shares in run.shares().items()},
        "factors": {operator: ends(factors) for operator, factors in run.factors().items()},
        "call_seconds": {size: float(f"{seconds:.3g}") for size, seconds in run.call_seconds().items()},
        "goals": {"met": sum(goal["status"] == "met" for goal in judged), "judged": len(judged)},
    }


def read():
    """Returns the entries, oldest first."""
    path = machine.ROOT / HISTORY
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def append(run):
    """Adds a run's entry; a run that is published again replaces its own. Returns the path of the history."""
    new = entry(run)
    entries = [old for old in read() if old["run"] != new["run"]] + [new]
    path = machine.ROOT / HISTORY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in sorted(entries, key=lambda one: one["date"])), encoding="utf-8")
    return path


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print(f"wrote {append(figures.Run(pathlib.Path(arguments[0]).resolve())).relative_to(machine.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
