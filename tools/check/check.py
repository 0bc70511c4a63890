#!/usr/bin/env python3
"""Proves the promises of SECURITY.md layer by layer: builds what a layer needs, runs it and compares one figure with a goal."""
import argparse
import importlib
import json
import pathlib
import sys
import time
import traceback

from layers import NAMES
from report import append_deep_run, print_table, write_document
from workshop import FULL_DEEP_HOURS, Failure, Result, Workshop

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load(names):
    return [importlib.import_module("layers." + name) for name in names]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev check", description=__doc__)
    parser.add_argument("layer", nargs="*", help="layers to run (default: all)")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--fast", action="store_true", help="the short variants: ten minutes on two cores once they are built")
    depth.add_argument("--deep", action="store_true", help="the long variants that go before a release: hours")
    parser.add_argument("--hours", type=float, default=FULL_DEEP_HOURS, metavar="H",
                        help=f"shorten the long parts of a deep run to H of {FULL_DEEP_HOURS} hours, and their goals, down to the standard run")
    parser.add_argument("--list", action="store_true", help="name the layers and their goals, run nothing")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the table as JSON")
    parser.add_argument("--save", action="store_true", help="put the table into docs/reliability.md, with today's date; a deep run: also into docs/deep_runs.md")
    options = parser.parse_args(arguments)
    if options.hours != FULL_DEEP_HOURS and not options.deep:
        parser.error("--hours requires --deep")
    if not options.hours > 0:
        parser.error(f"--hours is {options.hours:g}; it must be above 0")
    for name in options.layer:
        if name not in NAMES:
            parser.error(f"unknown layer '{name}'; the layers are {', '.join(NAMES)}")
    return options


def run_layer(layer, workshop):
    """Returns one row of the table. Any error inside a layer becomes a verdict and does not end the run."""
    start = time.monotonic()
    try:
        result = layer.run(workshop)
    except Failure as failure:
        result = Result(str(failure), met=False)
    except Exception:  # a broken layer must not hide the others
        traceback.print_exc()
        result = Result("the layer itself is broken: see above", met=False)
    return {
        "layer": layer.__name__.removeprefix("layers."),
        "proves": layer.__doc__.splitlines()[0],
        "figure": result.figure,
        "goal": layer.GOAL,
        "met": result.met,
        "seconds": round(time.monotonic() - start, 1),
    }


def main(arguments):
    options = parse(arguments)
    layers = load(options.layer or NAMES)
    if options.fast:
        layers = [layer for layer in layers if layer.FAST]
        if not layers:
            print(f"check: no fast variant of {', '.join(options.layer)}; run it without --fast", file=sys.stderr)
            return 2
    if options.list:
        for layer in layers:
            print(f"{layer.__name__.removeprefix('layers.'):13} {layer.__doc__.splitlines()[0]}\n{'':13} goal: {layer.GOAL}")
        return 0
    workshop = Workshop(ROOT, depth="deep" if options.deep else "fast" if options.fast else "standard", hours=options.hours)
    rows = []
    for layer in layers:
        print(f"== {layer.__name__.removeprefix('layers.')}: {layer.__doc__.splitlines()[0]}", flush=True)
        rows.append(run_layer(layer, workshop))
        print(f"== {rows[-1]['figure']} ({'met' if rows[-1]['met'] else 'NOT met'}, {rows[-1]['seconds']:.0f} s)", flush=True)
        if options.save and options.deep:  # # at once, so that this row is kept if the run ends early
            append_deep_run(ROOT / "docs" / "deep_runs.md", rows[-1])
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    if options.save:
        write_document(ROOT / "docs" / "reliability.md", rows)
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
