# The commands of `python -m openaclnn`; further ones are those of the program openaclnn, if it is installed.
"""Prints the version, build, operators and status codes of the package."""
from __future__ import annotations

import argparse
import difflib
import inspect
import os
import pathlib
import re
import shutil
import sys

import openaclnn
from openaclnn import _native, _pages

_OF_THE_PROGRAM = ("bench", "check", "compat-check", "completion", "demo", "golden", "judge", "man", "run", "trace")


def _table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _near(word: str, names: list[str], command: str) -> str:
    nearest = difflib.get_close_matches(word, names, 1)
    return f"; did you mean {nearest[0]}?" if nearest else f"; `python -m openaclnn {command}` lists the accepted names"


def _doctor(arguments: argparse.Namespace) -> int:
    return 0 if openaclnn.doctor() else 1


def _explain(arguments: argparse.Namespace) -> int:
    codes = [(0, "ACL_SUCCESS", "the call succeeded", "nothing"), *_pages.codes()]
    word = arguments.code
    if word is None:
        _table([("code", "name", "usual reason"), *((str(code), name, reason) for code, name, reason, _ in codes[1:])])
        return 0
    word = {"ACLNN_SUCCESS": "ACL_SUCCESS"}.get(word, word)
    for code, name, reason, remedy in codes:
        if word in (str(code), name):
            remedy = re.sub(r"(?<!-m )\bopenaclnn (doctor|explain|ops)\b", r"python -m openaclnn \1", remedy)
            print(f"{code} {name}\n  means:   {reason}\n  do:      {remedy}")
            return 0
    for first, last, meaning in _native.code_ranges():
        if word.isdecimal() and first <= int(word) <= last:
            print(f"{word} without a published name\n  means:   not returned by openaclnn; codes from {first} to {last} belong to "
                  f"{meaning}")
            return 0
    print(f"'{word}' isn't a status code{_near(word, [name for _, name, _, _ in codes], 'explain')}", file=sys.stderr)
    return 2


def _simple(name: str) -> str:
    return name.lower().replace("_", "").replace("openaclnn.", "").replace("openaclnn", "").replace("aclnn", "")


def _ops(arguments: argparse.Namespace) -> int:
    operators = _pages.operators()
    if arguments.name is None:
        _table([("operator", "in Python"), *((c_function, python or "-") for c_function, python, _ in operators)])
        print("\n`python -m openaclnn ops NAME` prints the reference page of an operator.")
        return 0
    for c_function, python, page in operators:
        if _simple(arguments.name) in (_simple(c_function), _simple(python) or None):
            print(_pages.plain(page))
            if python:
                function = getattr(openaclnn, python.partition(".")[2])
                print(f"Python: {python}\n\n{inspect.getdoc(function)}")
            return 0
    print(f"unknown operator '{arguments.name}'{_near(arguments.name, [c_function for c_function, *_ in operators], 'ops')}",
          file=sys.stderr)
    return 2


def _cann_compat(arguments: argparse.Namespace) -> int:
    folder = pathlib.Path(__file__).resolve().parent / "cann-compat"
    if not folder.is_dir():
        print(f"{folder} is missing; only wheels contain cann-compat, and `cmake --install` puts it into lib/openaclnn",
              file=sys.stderr)
        return 1
    print(folder)
    return 0


def _run_program(words: list[str]) -> int:
    program = shutil.which("openaclnn")
    if program is None:
        print(f"'{words[0]}' is a command of the program openaclnn, which isn't in PATH; the Debian package openaclnn-tools "
              "and ./dev build contain it", file=sys.stderr)
        return 2
    os.execv(program, [program, *words])


def main(words: list[str] | None = None) -> int:
    """Runs a command. Returns the exit status: 0 if all is well, 1 for problems found or output that nobody reads, 2 for wrong
    arguments."""
    words = sys.argv[1:] if words is None else words
    if words and words[0] in _OF_THE_PROGRAM:
        return _run_program(words)
    parser = argparse.ArgumentParser(
        prog="python -m openaclnn", description="Shows the package's version, build, operators and status codes.",
        epilog=f"The commands {', '.join(_OF_THE_PROGRAM)} are those of the program openaclnn, if it is in PATH.")
    parser.add_argument("--version", action="version", version=f"openaclnn {openaclnn.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    doctor = commands.add_parser("doctor", help="report the installation, and test each array library")
    doctor.set_defaults(run=_doctor)
    explain = commands.add_parser("explain", help="print the meaning of a status code and the remedy")
    explain.add_argument("code", nargs="?", metavar="CODE", help="a number or a name; by default, list all codes")
    explain.set_defaults(run=_explain)
    ops = commands.add_parser("ops", help="list operators, or print the reference page of one")
    ops.add_argument("name", nargs="?", metavar="NAME", help="such as Embedding, aclnnEmbedding or nsa_compress")
    ops.set_defaults(run=_ops)
    cann_compat = commands.add_parser("cann-compat", help="print the folder that stands in for the CANN toolkit "
                                                          "(ASCEND_HOME_PATH)")
    cann_compat.set_defaults(run=_cann_compat)
    arguments = parser.parse_args(words)
    if sys.stdout is None:  # Python's sign of a closed descriptor
        print("openaclnn: stdout could not be written: it is closed", file=sys.stderr)
        return 1
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left when it ends
        if not isinstance(error, BrokenPipeError):
            print(f"openaclnn: stdout could not be written: {error.strerror}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
