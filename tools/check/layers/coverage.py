"""The tests reach nearly every line and branch of the library.

A build with clang's counters in src/ alone runs the tests that are not marked slow, including those that go through every instruction set of this
machine. A line or an outcome of a condition counts once, at its place in the source, and is covered if any template instance or instruction set's
copy took it. (The counters of gcc, which gcovr reads, cannot be merged like that: a kernel's condition would be dozens of branches.) Tests, cases and
oracles in rooms are not counted, nor are conditions that the compiler decides.
build/coverage/report/index.html shows every line, build/coverage/report/missing.txt what is not covered.
"""
import json
import os
import re
import shutil
from collections import defaultdict

from workshop import Failure, Result

LINES, BRANCHES = 95, 90
GOAL = f"lines >= {LINES} %, branches >= {BRANCHES} % of src/"
FAST = False

LABELS = "^(runtime|ops|numeric|lifetime|cuda|cli)$"
# They count the allocations of millions of calls, or run kernels on the emulation, and cover no additional part of the library.
LEFT_OUT = "^(allocation_test|.*_on_simt|cuda_(kernels|device|gpu|barrier_deleted|guard_deleted|sums_overwritten)_.*)$"
LEAST_LINES = 3000  # fewer mean that most of src/ was not counted
NOT_THE_LIBRARY = r"(test\.cc|/(cases|call_cases|launch_cases|oracle)\.h)$"
DECIDED_BY_THE_COMPILER = re.compile(r"\bif constexpr\b")


def counted_lines(lcov):
    """Returns {file: {line: count}} of a report in lcov's format."""
    files, current = defaultdict(dict), None
    for entry in lcov.splitlines():
        kind, _, rest = entry.partition(":")
        if kind == "SF":
            current = files[rest]
        elif kind == "DA":
            line, count = rest.split(",")[:2]
            current[int(line)] = max(int(count), current.get(int(line), 0))
    return files


def counted_outcomes(export):
    """Returns {file: {place of a condition: [count of true, count of false]}}."""
    files = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for entry in export["data"][0]["files"]:
        for *place, true, false, _, _, _ in entry.get("branches", []):
            outcomes = files[entry["filename"]][tuple(place)]
            outcomes[0] += true
            outcomes[1] += false
    return files


class Tally:
    """Returns how many lines and branches exist and were reached, and a list of those that were not."""

    def __init__(self, root):
        self.root, self.missing = root, []
        self.lines, self.branches = [0, 0], [0, 0]

    def add(self, name, lines, outcomes):
        with open(name, encoding="utf-8") as file:
            source = file.read().split("\n")
        missed = []
        for line, count in lines.items():
            if DECIDED_BY_THE_COMPILER.search(source[line - 1]):
                continue
            self.lines[0] += count > 0
            self.lines[1] += 1
            if count == 0:
                missed.append((line, "never reached"))
        for (line, column, _, end), counts in outcomes.items():
            if DECIDED_BY_THE_COMPILER.search(source[line - 1]):
                continue
            self.branches[0] += sum(count > 0 for count in counts)
            self.branches[1] += 2
            if lines.get(line, 0) and min(counts) == 0:
                what = "never decided" if max(counts) == 0 else "never true" if counts[0] == 0 else "never false"
                missed.append((line, f"{what}: columns {column} to {end}"))
        shown = os.path.relpath(name, self.root)
        self.missing += [f"{shown}:{line}: {why}: {source[line - 1].strip()}" for line, why in sorted(missed)]

    def percent(self):
        return [100 * covered / max(total, 1) for covered, total in (self.lines, self.branches)]


def run(workshop):
    workshop.setup("check", "fuzz")  # llvm-cov, and clang with its run-time library
    folder = workshop.build("coverage")
    profiles, report = folder / "profiles", folder / "report"
    for old in (profiles, report):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir()
    workshop.run(["ctest", "--preset", "coverage", "--no-tests=error", "-j", "2", "-L", LABELS, "-LE", "^slow$", "-E", LEFT_OUT], seconds=900,
                 env={"LLVM_PROFILE_FILE": str(profiles / "%2m.profraw")})

    library, profile = folder / "lib" / "libopenaclnn.so", folder / "coverage.profdata"
    workshop.run(["llvm-profdata", "merge", "-sparse", *sorted(profiles.glob("*.profraw")), "-o", profile], seconds=120)
    options = [library, f"-instr-profile={profile}", f"-ignore-filename-regex={NOT_THE_LIBRARY}"]
    workshop.run(["llvm-cov", "show", *options, "-format=html", f"-output-dir={report}", "-show-instantiations=false",
                  "-show-branches=count"], seconds=300)
    lines = counted_lines(workshop.run(["llvm-cov", "export", *options, "-format=lcov"], seconds=300).text)
    outcomes = counted_outcomes(json.loads(
        workshop.run(["llvm-cov", "export", *options, "-skip-functions", "-skip-expansions"], seconds=300).text))

    tally = Tally(workshop.root)
    for name in sorted(name for name in lines if name.startswith(f"{workshop.root}/src/")):
        tally.add(name, lines[name], outcomes[name])
    (report / "missing.txt").write_text("\n".join(tally.missing) + "\n")
    if tally.lines[1] < LEAST_LINES:
        raise Failure(f"only {tally.lines[1]} lines of src/ were counted")
    line_percent, branch_percent = tally.percent()
    figure = (f"lines {line_percent:.1f} % of {tally.lines[1]}, branches {branch_percent:.1f} % of {tally.branches[1]}")
    return Result(figure, met=line_percent >= LINES and branch_percent >= BRANCHES)
