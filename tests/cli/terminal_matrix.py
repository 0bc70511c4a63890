#!/usr/bin/env python3
# Runs every command of the program openaclnn with every state of its standard streams and of the terminal.
"""usage: terminal_matrix.py PROGRAM

Runs each command three times (valid, --help, rejected) under each condition, compares with a run under none, and prints findings and the figures
"cells" and "findings". Exits with 1 if there is a finding.
"""
import errno
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

PIPE_ENDED = (-signal.SIGPIPE, 128 + signal.SIGPIPE)
TIMEOUT = 120
OUTPUTS = ("rows.npy", "t.json")  # files that commands write; both must be complete if the command succeeds


@dataclass
class Row:
    """One command line. `figures`: it prints measured times or speeds, so only its length can be compared."""
    command: str
    words: list
    figures: bool = False


WORK = {
    "doctor": Row("doctor", ["doctor"], figures=True),
    "ops": Row("ops", ["ops", "Embedding"]),
    "run": Row("run", ["run", "Embedding", "--weight", "table.npy", "--indices", "2,0", "--out", "rows.npy"], figures=True),
    "check": Row("check", ["check", "Embedding", "--cases", "2"]),
    "trace": Row("trace", ["trace", "--out", "t.json", "PROGRAM", "run", "Embedding", "--weight", "table.npy", "--indices", "1"], figures=True),
    "explain": Row("explain", ["explain", "507035"]),
    "compat-check": Row("compat-check", ["compat-check", "old.cpp"]),
    "completion": Row("completion", ["completion", "bash"]),
    "man": Row("man", ["man", "run"]),
    "demo": Row("demo", ["demo", "--text", "small.txt", "--steps", "1", "--batch", "16", "--check-every", "0", "--out", "d"], figures=True),
    # The benchmark belongs to the source tree, and Python handles broken streams differently.
    "bench": Row("bench", ["bench", "--operator", "Embeding"]),
}
STARTS_OTHERS = {"demo", "bench"}  # options that they do not know go to the program that they start


@dataclass
class Done:
    code: int
    out: bytes
    err: bytes
    files: dict


def fixtures(folder):
    """Writes the small files that the commands read."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }".ljust(117) + b"\n"
    (folder / "table.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<8f", *range(8)))
    (folder / "old.cpp").write_text('#include "acl/acl.h"\nint main() { return aclmdlMissing(nullptr); }\n')
    (folder / "small.txt").write_text("A line of text to learn from.\n" * 400)


def ended_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


class Condition:
    """The state of the three streams and the environment. `broken`: the names of the streams that cannot be written."""

    def __init__(self, name, redirection="", ended=None, environment=None, terminal=False, broken=()):
        self.name, self.redirection, self.ended, self.terminal, self.broken = name, redirection, ended, terminal, broken
        self.environment = environment or {}

    def run(self, program, words):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENACLNN_")}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            fixtures(folder)
            command = ["bash", "-c", f'exec "$0" "$@" {self.redirection}', program, *words]
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            mine = []
            if self.ended:
                streams[self.ended] = ended_pipe()
                mine.append(streams[self.ended])
            master = None
            if self.terminal:
                master, slave = pty.openpty()
                streams.update(stdin=slave, stdout=slave, stderr=slave)
                mine.append(slave)
            child = subprocess.Popen(command, cwd=folder, env={**clean, "TERM": "xterm", **self.environment}, **streams)
            for descriptor in mine:
                os.close(descriptor)
            out, err = (read_terminal(master), b"") if self.terminal else child.communicate(timeout=TIMEOUT)
            child.wait(TIMEOUT)
            files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name in OUTPUTS}
            return Done(child.returncode, out or b"", err or b"", files)


def read_terminal(master):
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError as error:
        if error.errno != errno.EIO:  # the other end is closed
            raise
    os.close(master)
    return shown


CONDITIONS = [
    Condition("stdin closed", "0<&-"),
    Condition("stdout closed", "1>&-", broken={"stdout"}),
    Condition("stderr closed", "2>&-", broken={"stderr"}),
    Condition("all closed", "0<&- 1>&- 2>&-", broken={"stdout", "stderr"}),
    Condition("stdout full", "1>/dev/full", broken={"stdout"}),
    Condition("stderr full", "2>/dev/full", broken={"stderr"}),
    Condition("both full", "1>/dev/full 2>/dev/full", broken={"stdout", "stderr"}),
    Condition("stdout ended", ended="stdout", broken={"stdout"}),
    Condition("stderr ended", ended="stderr", broken={"stderr"}),
    Condition("narrow", environment={"COLUMNS": "20"}),
    Condition("without UTF-8", environment={"LC_ALL": "C", "LANG": "C"}),
    Condition("without TERM and HOME", environment={"TERM": "", "HOME": "/nonexistent"}),
    Condition("narrow terminal without UTF-8", environment={"COLUMNS": "20", "LC_ALL": "C"}, terminal=True),
]


def judge(row, condition, plain, done):
    """Returns error messages about one cell."""
    wrong = []
    prints = bool(plain.out)
    if condition.name == "stdout ended" and prints:
        if done.code not in PIPE_ENDED:
            wrong.append(f"ends with {done.code} when the reader goes away")
        if b"written" in done.err or b"Broken" in done.err:
            wrong.append(f"speaks of it: {done.err!r}")
        return wrong
    lost = "stdout" in condition.broken and prints
    expected = 1 if lost else plain.code
    if done.code != expected:
        wrong.append(f"ends with {done.code} instead of {expected}: {done.err[-300:]!r}")
    if lost and "stderr" not in condition.broken and b"be written" not in done.err and b"be printed" not in done.err:
        wrong.append(f"does not say that stdout failed: {done.err[-300:]!r}")
    if "stderr" not in condition.broken and not condition.terminal and not lost and done.err != plain.err:
        wrong.append(f"stderr differs: {done.err[-300:]!r}")
    if "stdout" not in condition.broken and not condition.terminal:
        same = bool(done.out) == prints if row.figures else done.out == plain.out
        if not same:
            wrong.append(f"stdout differs: {done.out[-300:]!r}")
    if condition.terminal and (plain.out or plain.err) and not done.out:
        wrong.append("shows nothing on the terminal")
    if condition.terminal and (long := [line for line in progress_lines(done.out) if len(line) >= 20]):
        wrong.append(f"progress that does not fit: {long[0]!r}")
    if done.files.keys() != plain.files.keys() or done.files.get("rows.npy") != plain.files.get("rows.npy"):
        wrong.append(f"files differ: {sorted(done.files)}")
    if any(not content.endswith(b"\n]\n") for name, content in done.files.items() if name == "t.json"):
        wrong.append("the trace is not whole")
    return wrong


def progress_lines(shown):
    """Returns the overwritten text: between a carriage return and the next one, without line breaks."""
    return [re.sub(r"\033\[[0-9;]*[A-Za-z]", "", piece) for piece in re.findall(r"\r\033\[K([^\r\n]*)(?=\r\033)", shown.decode("utf-8", "replace"))]


def rows_of(program):
    """Returns three command lines for each command that the program's help names."""
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z-]+) {2,}", shown.split("Subcommands:")[1], re.M)
    missing = sorted(set(commands) - WORK.keys())
    rows = [Row("(none)", []), Row("(none)", ["--version"]), Row("(none)", ["no-such-command"])]
    for command in commands:
        if command in missing:
            continue
        rows.append(WORK[command])
        rows.append(Row(command, [command, "--help"]))
        if command not in STARTS_OTHERS:
            rows.append(Row(command, [command, "--no-such-option"]))
    return rows, missing


def check_row(program, row):
    words = [program if word == "PROGRAM" else word for word in row.words]
    if row.command == "demo" and not (pathlib.Path(program).parent / "openaclnn-train").exists():
        return 0, [], "demo: was not built"
    plain = Condition("").run(program, words)
    findings = []
    for condition in CONDITIONS:
        try:
            done = condition.run(program, words)
        except subprocess.TimeoutExpired:
            findings.append(f"{' '.join(row.words)} | {condition.name}: hangs")
            continue
        findings += [f"{' '.join(row.words)} | {condition.name}: {sentence}" for sentence in judge(row, condition, plain, done)]
    return len(CONDITIONS), findings, None


def main(program):
    program = str(pathlib.Path(program).resolve())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows, missing = rows_of(program)
    findings = [f"{command}: has no row in {pathlib.Path(__file__).name}" for command in missing]
    cells = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for count, found, skipped in pool.map(lambda row: check_row(program, row), rows):
            cells += count
            findings += found
            if skipped:
                print(f"skipped: {skipped}")
    for finding in findings:
        print(f"FINDING {finding}")
    print(f"figure commands {len({row.command for row in rows})}\nfigure conditions {len(CONDITIONS)}")
    print(f"figure cells {cells}\nfigure findings {len(findings)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
