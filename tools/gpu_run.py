# Runs commands within a time limit: writes output into logs and results into summary.md, and kills hanging commands with their children.
import concurrent.futures
import dataclasses
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAST_LINES = 12  # of a failed command, in the summary
MOST_SHOWN = 3  # failed tests of a program whose last lines are shown
TOGETHER = max(1, min(8, (os.cpu_count() or 1) // 2))  # tests that run at the same time: most of their time is the start of CUDA
HANGS = 20  # a test that has not ended after this many seconds fails; less time would prove nothing


@dataclasses.dataclass
class End:
    why: str  # how the command failed; empty when it did not
    code: typing.Optional[int] = None
    text: str = ""  # what it printed

    def last_lines(self):
        lines = self.text.rstrip().splitlines()[-LAST_LINES:]
        return ["```", *lines, "```"] if lines else []


def how_it_ended(code):
    if code >= 0:
        return f"exit code {code}" if code else ""
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def kill(process):
    """Ends a command that hangs or is no longer wanted, with all its children: compilers, the program under a sanitizer."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass  # a process that waits in the driver ends only when the driver returns


def names_of(listing):
    """Returns the full names in the output of --gtest_list_tests."""
    names, suite = [], None
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  ") and suite:
            names.append(suite + word.strip())
        elif word.endswith(".") and " " not in word:
            suite = word
    return names


class Run:
    def __init__(self, out, minutes, path):
        self.out, self.path, self.deadline = out, path, time.monotonic() + 60 * minutes
        self.lines, self.failed = [], False
        self.lock, self.running, self.has_ended = threading.Lock(), set(), False

    def left(self):
        return self.deadline - time.monotonic()

    def say(self, *lines):
        """Prints and keeps lines. It writes the summary each time, because an outside limit may end this program at any moment."""
        for line in lines:
            print(line, flush=True)
        self.lines += lines
        (self.out / "summary.md").write_text("\n".join(self.lines) + "\n")

    def fail(self, *lines):
        self.failed = True
        self.say(*lines)

    def execute(self, log, command, seconds, **environment):
        """Runs a command to its end, or until its time limit."""
        command = [str(word) for word in command]
        seconds = min(seconds, self.left())
        if seconds < 1:
            return End("the time is used up (--minutes)")
        with tempfile.TemporaryFile() as file:
            try:
                process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                           env={**os.environ, "PATH": self.path, **environment}, start_new_session=True)
            except OSError as error:
                self.keep(log, command, b"")
                return End(f"{error.strerror}: {command[0]}")
            try:
                code = self.wait_for(process, seconds)
            finally:
                file.seek(0)
                output = file.read()
                self.keep(log, command, output)
        text = output.decode(errors="replace")
        return End(f"no end in {seconds:.0f} s" if code is None else how_it_ended(code), code, text)

    def wait_for(self, process, seconds):
        """Returns the exit code, or None after killing a process that has not ended in time."""
        with self.lock:
            self.running.add(process)
            if self.has_ended:  # between the process's start and here
                kill(process)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.returncode is None:
                kill(process)
            with self.lock:
                self.running.discard(process)

    def keep(self, log, command, output):
        """Appends a command and what it printed to a log: in one piece, because commands may run at the same time."""
        with self.lock, (self.out / f"{log}.log").open("ab") as file:
            file.write(f"== {shlex.join(command)}\n".encode() + output)

    def kill_all(self):
        """Kills what runs, and what other threads start from now on."""
        with self.lock:
            self.has_ended = True
            processes = list(self.running)
        for process in processes:
            kill(process)

    def step(self, name, log, command, seconds, **environment):
        """Runs a command that is a whole step, and reports it in one line."""
        begin = time.monotonic()
        end = self.execute(log, command, seconds, **environment)
        if end.why:
            self.fail(f"{name}: FAILED ({end.why}), {log}.log", *end.last_lines())
        else:
            self.say(f"{name}: passed in {time.monotonic() - begin:.0f} s, {log}.log")
        return end

    def tests(self, name, log, program, seconds, pattern="*", wrapper=(), **environment):
        """Runs each test of a GoogleTest program in its own process, several at the same time: a GPU that a test loses is lost for its process."""
        begin = time.monotonic()
        listed = self.execute(log, [program, "--gtest_list_tests", f"--gtest_filter={pattern}"], seconds, **environment)
        names = names_of(listed.text)
        if listed.why or not names:
            self.fail(f"{name}: FAILED, it does not list its tests ({listed.why or 'none'}), {log}.log", *listed.last_lines())
            return

        def run(test):
            left = min(seconds - (time.monotonic() - begin), self.left())
            # A test that hangs leaves half of the time to the others.
            return (left, self.execute(log, [*wrapper, program, f"--gtest_filter={test}"], left / 2, **environment)) if left >= 2 else (left, None)

        failed, unfinished, skipped = [], [], 0
        with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
            try:
                ends = list(pool.map(run, names))
            except BaseException:  # an end from outside
                pool.shutdown(wait=False, cancel_futures=True)
                self.kill_all()
                raise
        for test, (left, end) in zip(names, ends):
            if end is None or (end.code is None and left / 2 < HANGS):
                unfinished.append(test)
                continue
            skipped += "[  SKIPPED ]" in end.text
            if end.why:
                failed.append((test, end))
        passed = len(names) - len(failed) - len(unfinished) - skipped
        self.say(f"{name}: {passed} of {len(names)} tests passed in {time.monotonic() - begin:.0f} s"
                 f"{f', {skipped} skipped themselves' if skipped else ''}, {log}.log")
        for at, (test, end) in enumerate(failed):
            self.fail(f"{name}: {test} FAILED ({end.why})", *(end.last_lines() if at < MOST_SHOWN else []))
        if unfinished:
            self.fail(f"{name}: not finished in the time for it: {', '.join(unfinished)}")
