# The benchmark's command line: chooses configurations, makes workers measure, and writes the requested reports.
"""Measures openaclnn against reference traffic of the same run and, where PyTorch is importable, against PyTorch."""
import argparse
import datetime
import pathlib
import re
import sys
import time

import against
import figures
import goal_check
import goals
import growth
import history
import latency
import library
import machine
import processes
import publish
import quiet
import regimes
import report
import summary

RESULTS = pathlib.Path(__file__).with_name("results")
LIBRARY = machine.ROOT / "build/release/lib/libopenaclnn_bench.so"
QUICK_ROUNDS = 5


def words(text):
    return [word for word in text.split(",") if word]


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def default_python():
    newest = machine.ROOT / "build/python/newest/bin/python"
    return str(newest) if newest.exists() else sys.executable


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__, allow_abbrev=False)
    parser.add_argument("--filter", metavar="REGEX", type=re.compile, help="only workloads whose name contains a match")
    parser.add_argument("--threads", metavar="N,…", type=lambda t: [positive(w) for w in words(t)],
                        help="numbers of threads (default: 1 and all)")
    parser.add_argument("--isa", metavar="NAME,…", type=words,
                        help="instruction sets, peers run with the first (default: all vector instruction sets of this machine)")
    parser.add_argument("--rounds", metavar="N", type=positive, help="rounds of each workload (default: 15)")
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_ROUNDS} rounds, all threads, the best instruction set, no peers")
    parser.add_argument("--json", metavar="FILE", help="write the results for --against")
    parser.add_argument("--csv", metavar="FILE", help="write one line for each contestant")
    parser.add_argument("--plot", metavar="FILE.png", help="draw speeds below the reference's")
    parser.add_argument("--save", metavar="NAME", type=result_name, help="write bench/results/DATE-NAME.json, .csv and .md")
    parser.add_argument("--against", metavar="OLD.json", help="compare with an older run; fails when one ratio got worse")
    parser.add_argument("--goals", action="store_true", help="measure what the goals need, and judge them")
    parser.add_argument("--publish", metavar="NAME", type=result_name, nargs="?", const="speed",
                        help="measure and judge the goals, keep the run as --save does (NAME: speed), and renew the pages' figures and bench/history")
    parser.add_argument("--growth", action="store_true",
                        help="measure time against elements, indices, groups and threads, and draw docs/images/growth_*.svg")
    parser.add_argument("--latency", action="store_true",
                        help="measure only the latency of tiny calls during frees, allocations and long kernels (a part of whole runs)")
    parser.add_argument("--require-quiet", action="store_true", help="don't measure while other programs use the cores")
    parser.add_argument("--python", metavar="PYTHON", default=default_python(),
                        help="interpreter that has the peers (default: that of ./dev test, if it exists, else this one)")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave PyTorch out")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads")
    parser.add_argument("--library", metavar="FILE", default=LIBRARY,
                        help="libopenaclnn_bench.so of the build to measure (default: build/release)")
    options = parser.parse_args(arguments)
    available = machine.instruction_sets()
    for option in ("json", "csv", "plot"):
        file = getattr(options, option)
        if file and not pathlib.Path(file).absolute().parent.is_dir():
            parser.error(f"--{option} is '{file}', but the folder of this file doesn't exist")
    options.isa = options.isa or available[:1] if options.quick else options.isa or vectors(available)
    unknown = [isa for isa in options.isa if isa not in available]
    if unknown:
        parser.error(f"this machine has no {unknown[0]}; it has {', '.join(available)}")
    cores = machine.cores()
    options.threads = options.threads or ([cores] if options.quick else sorted({1, cores}))
    options.peers = options.peers and not options.quick
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else 15)
    return options


def result_name(text):
    """The name of a result that is kept. Errors come before the measurement, which takes minutes."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a name of letters, digits, '.', '_' and '-'; it becomes a part of a file name")
    return text


def vectors(instruction_sets):
    """Returns all levels except the scalar one, which exists for correctness, unless it is the only one."""
    return [isa for isa in instruction_sets if isa != "scalar"] or instruction_sets


def show_progress(text):
    """Prints a line that the next one replaces, if the output is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def chosen(options):
    """Returns the workloads that pass the filter. Those whose sizes grow are for --growth only."""
    workloads = library.Library(options.library).workloads
    return [w for w in workloads if (options.filter is None or options.filter.search(w.name)) and (options.growth or w.size != growth.SIZE)]


def time_left(start, done, total):
    """Returns words for the time that the other measurements take if they are like those that are done."""
    if done == 0:
        return ""
    minutes = (time.monotonic() - start) / done * (total - done) / 60
    return f", about {max(round(minutes), 1)} min left"


def measure(options, workloads, workers):
    """Returns the condensed records of all workloads in all configurations, and the regimes of the run."""
    configurations = [(isa, threads) for isa in options.isa for threads in options.threads]
    records, total, start = [], len(workloads) * len(configurations), time.monotonic()
    print(f"{total} measurements of {options.rounds} rounds; --filter REGEX, --quick and --no-peers take less time", file=sys.stderr, flush=True)
    for isa, threads in configurations:
        with_peers = options.peers and isa == options.isa[0]
        for workload in workloads:
            show_progress(f"{len(records) + 1}/{total}  {workload.name}, {isa}, {threads} threads{time_left(start, len(records), total)}")
            records += workers.measure([workload.name], isa, threads, options.rounds, with_peers)
        workers.close()
    show_progress("")
    order = {workload.name: number for number, workload in enumerate(workloads)}
    found = regimes.Regimes.of(records, machine.cores())
    return [summary.condensed(record, found) for record in sorted(records, key=lambda record: order[record["workload"]["name"]])], found


class NotQuiet(Exception):
    """Other programs use the cores, and the caller wants none."""


def described(options):
    """Returns the header of the report, which says whether the machine was quiet before the run."""
    is_quiet, line = quiet.check(machine.cores())
    print(line, file=sys.stderr, flush=True)
    if options.require_quiet and not is_quiet:
        raise NotQuiet("--require-quiet: end the other programs, or measure without it")
    return {**machine.describe(), "quiet": line}


def peers_line(workers):
    return workers.peers or (f"none, {workers.no_peers_reason}" if workers.no_peers_reason else "")


def measures_latency(options):
    """Returns whether the run ends with the latencies: not for a part of the workloads or another build."""
    return not (options.filter or options.quick or options.growth or options.library != LIBRARY)


def latency_lines(options):
    """Returns the latencies, if they are measured, and whether their goal is met."""
    if not measures_latency(options):
        return [], True
    show_progress("latency of tiny calls")
    found = latency.report(latency.program_beside(options.library))
    show_progress("")
    return found


def run_latency(options):
    lines, met = latency.report(latency.program_beside(options.library))
    print("\n".join(machine.header_lines(machine.describe()) + lines))
    return 0 if met else 1


def run_table(options, workloads, workers):
    """Measures and writes everything; returns the exit status."""
    old = report.read_json(options.against) if options.against else None  # an invalid file must not cost a run
    if options.plot:
        import plot  # only this needs matplotlib
    about = described(options)
    records, found = measure(options, workloads, workers)
    about.update(peers=peers_line(workers), disturbed=workers.disturbed_share(), regimes=found.lines())
    lines = report.table(records) + latency_lines(options)[0]
    regressions = 0
    if old is not None:
        compared, regressions = against.compare(old, records)
        lines += ["", *compared]
    print("\n".join(machine.header_lines(about) + lines))
    if options.json:
        report.write_json(options.json, about, records)
    if options.csv:
        report.write_csv(options.csv, about, records)
    if options.plot:
        plot.draw(options.plot, about, records)
    if options.save:
        write_all(saved(options.save), about, lines, records)
    return 1 if regressions or any("failed" in record for record in records) else 0


def run_goals(options, workloads, workers):
    """Judges the goals and, if asked for, keeps or publishes them; returns the exit status."""
    about = described(options)
    data = goal_check.Measurements(workers, workloads, options.isa, machine.cores(), options.rounds, show_progress)
    # A row without any workload fails, unless the filter is the reason.
    rows = [goal for goal in goals.GOALS if options.filter is None or any(goal.matches(w) for w in workloads)]
    verdicts, lines, good = goal_check.check(data, rows)
    show_progress("")
    latencies, prompt = latency_lines(options)
    lines += latencies
    about.update(peers=peers_line(workers), disturbed=workers.disturbed_share(), regimes=data.regimes.lines())
    print("\n".join(machine.header_lines(about) + [""] + lines))
    if latencies:
        about["latency"] = latencies[-1]
    name = options.publish or options.save
    if name:
        write_all(saved(name), about, ["", *lines], data.records(), goals=[goal_check.to_json(verdict) for verdict in verdicts])
    if options.publish and figures.Run(f"{saved(name)}.json").provisional:
        print(f"The pages are as before, because other programs disturbed every probe; bench/publish.py {saved(name)}.json renews them nevertheless.")
        return 1
    if options.publish:
        for path in [*publish.renew(f"{saved(name)}.json"), history.append(figures.Run(f"{saved(name)}.json"))]:
            print(f"wrote {path.relative_to(machine.ROOT)}")
    return 0 if good and prompt else 1


def run_growth(options, workloads, workers):
    """Measures and draws how cost grows; returns the exit status."""
    about = described(options)
    records, skipped = growth.measure(workers, workloads, options, machine.cores(), show_progress)
    show_progress("")
    found = regimes.Regimes.of(records, machine.cores())
    records = [summary.condensed(record, found) for record in records]
    about.update(disturbed=workers.disturbed_share(), regimes=found.lines())
    lines, good = growth.judge(records)
    lines = report.table(records) + [""] + skipped + lines
    print("\n".join(machine.header_lines(about) + lines))
    if not options.filter:
        write_all(saved(options.save or "growth"), about, lines, records)
        publish.draw_growth(f"{saved(options.save or 'growth')}.json")
    return 0 if good else 1


def write_all(base, about, lines, records, **more):
    report.write_json(f"{base}.json", about, records, **more)
    report.write_csv(f"{base}.csv", about, records)
    report.write_markdown(f"{base}.md", about, lines)


def saved(name):
    """Returns the path of a result that is kept, without suffix."""
    RESULTS.mkdir(exist_ok=True)
    return RESULTS / f"{datetime.date.today().isoformat()}-{name}"


def main(arguments):
    options = parse(arguments)
    if options.latency:
        return run_latency(options)
    workloads = chosen(options)
    if not workloads:
        print(f"no workload's name contains a match of {options.filter.pattern}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(workload.name for workload in workloads))
        return 0
    workers = processes.Workers(options)
    try:
        if measures_latency(options):
            latency.require(latency.program_beside(options.library))
        run = run_growth if options.growth else run_goals if options.goals or options.publish else run_table
        return run(options, workloads, workers)
    except (OSError, ValueError, ImportError, NotQuiet, processes.WorkerDied) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        workers.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
