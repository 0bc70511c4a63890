"""Each planted bug fails the test that is assigned to it.

tests/planted/planted_bugs.def lists the bugs, and tests/planted/bugs.txt the layer, the build, the program and the tests for each. Bugs in an
operator's own files are in tests/planted/rooms, in <room>.def and <room>.txt. tests/planted/patches inserts them into a copy of the sources, which
tools/planted_sources makes. The build `planted` of this copy has all of them, and OPENACLNN_PLANTED=<bug> enables one; `planted-tsan` is for races.
Every command must first pass without a bug, because its failure would otherwise prove nothing. A failed test, a crash, a report of the sanitizer or a
hang counts as caught. The released library must contain no trace of the bugs, neither symbol nor text.
By hand: ./dev build planted && OPENACLNN_PLANTED=ties_rounded_away build/planted/bin/conversions_test
"""
import os
import pathlib
import platform
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from layers import NAMES
from workshop import Failure, Result, idle_patterns

LEAST = 30
GOAL = f"all of at least {LEAST} caught, no trace in the release"
FAST = False

BUG = re.compile(r'^OPENACLNN_BUG\((\w+), "(.*)"\)$', re.M)
ENVIRONMENT = {"OPENACLNN_TEST_ELEMENTS": "20000", "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.M)
RUNNING = re.compile(r"^\[ RUN      \] ([\w/.]+)", re.M)
PASSED = re.compile(r"^\[  PASSED  \] ([1-9]\d*) tests?", re.M)


@dataclass(frozen=True)
class Command:
    preset: str
    program: str
    tests: str

    def words(self, root):
        words = [str(root / "build" / self.preset / "bin" / self.program), f"--gtest_filter={self.tests}"]
        return [*unrandomised(), *words] if self.preset.endswith("tsan") else words


@dataclass
class Outcome:
    status: int  # exit status of the shell: negative for a signal, None for a hang
    text: str
    seconds: float

    def passes(self, command, root):
        return self.status == 0 and PASSED.search(self.text) is not None and not idle_patterns(command.words(root), self.text)

    def verdict(self):
        """Returns how a bug shows, or None if it does not."""
        failed, running = FAILED.search(self.text), RUNNING.findall(self.text)
        where = running[-1] if running else "the start"
        if self.status is None:
            return f"hang in {where}"
        if "WARNING: ThreadSanitizer" in self.text:
            return f"report of ThreadSanitizer in {where}"
        if self.status < 0:
            return f"{signal.Signals(-self.status).name} in {where}"
        return f"failure of {failed.group(1)}" if failed and self.status == 1 else None


def unrandomised():
    """gcc's ThreadSanitizer cannot start when the kernel randomises more than 28 address bits."""
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    return ["setarch", platform.machine(), "-R"] if bits.exists() and int(bits.read_text()) > 28 else []


def attempt(root, command, bug, seconds):
    environment = {**os.environ, **ENVIRONMENT, "OPENACLNN_PLANTED": bug}
    start = time.monotonic()
    # It gets a process group, because tests have children, and a hang must not leave any of them running.
    process = subprocess.Popen(command.words(root), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, status = process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, status = process.communicate()[0], None
    return Outcome(status, output.decode(errors="replace"), time.monotonic() - start)


def read_bugs(root):
    """Returns the table as [(bug, layer, command)]. A bug without a line, and a line without a bug, are failures."""
    planted = root / "tests/planted"
    definitions = [planted / "planted_bugs.def", *sorted(planted.glob("rooms/*.def"))]
    tables = [planted / "bugs.txt", *sorted(planted.glob("rooms/*.txt"))]
    listed = dict(BUG.findall("".join(path.read_text() for path in definitions)))
    bugs = []
    for line in "".join(path.read_text() for path in tables).splitlines():
        if line and not line.startswith("#"):
            bug, layer, preset, program, tests = line.split()
            bugs.append((bug, layer, Command(preset, program, tests)))
    named = [bug for bug, _, _ in bugs]
    if sorted(named) != sorted(listed):
        odd = set(named).symmetric_difference(listed) or {bug for bug in named if named.count(bug) > 1}
        raise Failure(f"planted_bugs.def and bugs.txt (or those of a room) differ: {', '.join(sorted(odd))}")
    return bugs


def require_sound_commands(root, commands, workers):
    """Returns the seconds that each command takes without a bug."""
    unknown = attempt(root, commands[0], "no_such_bug", 30)
    if unknown.status != 2 or "no such bug" not in unknown.text:
        raise Failure("a bug that does not exist is not refused")
    outcomes = list(workers.map(lambda command: attempt(root, command, "", 300), commands))
    for command, outcome in zip(commands, outcomes):
        if not outcome.passes(command, root):
            print(outcome.text[-3000:])
            raise Failure(f"{command.program} --gtest_filter={command.tests} does not pass without a bug, or has a pattern without a test")
    return {command: outcome.seconds for command, outcome in zip(commands, outcomes)}


def traces(folder):
    """Returns the files of the release that still contain planted bugs."""
    files = [*folder.glob("lib/libopenaclnn.so*"), *folder.glob("src/CMakeFiles/*/**/*.o")]
    if len(files) < 10:
        raise Failure("the objects of the release were not found")
    return [path for path in files if b"planted" in path.read_bytes().lower()]


def run(workshop):
    bugs = read_bugs(workshop.root)
    commands = list(dict.fromkeys(command for _, _, command in bugs))
    source = workshop.planted_source()
    for preset in dict.fromkeys(command.preset for command in commands):
        workshop.build(preset, *sorted({command.program for command in commands if command.preset == preset}), source=source)
    found = traces(workshop.build("release", "openaclnn"))
    for path in found:
        print(f"   trace of planted bugs: {path.relative_to(workshop.root)}")

    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as workers:
        clean = require_sound_commands(workshop.root, commands, workers)
        outcomes = list(workers.map(lambda row: attempt(workshop.root, row[2], row[0], 20 + 5 * clean[row[2]]), bugs))
    caught = 0
    for (bug, layer, command), outcome in zip(bugs, outcomes):
        verdict = outcome.verdict()
        caught += verdict is not None
        unknown_layer = "" if layer in NAMES else f"; unknown layer {layer}"
        print(f"   {bug:31} {layer:11} {outcome.seconds:5.1f} s  {command.program}: {verdict or 'NOT CAUGHT'}{unknown_layer}")
    figure = f"caught {caught} of {len(bugs)}, {len(found)} traces in the release, {time.monotonic() - start:.0f} s"
    return Result(figure, met=caught == len(bugs) >= LEAST and not found)
