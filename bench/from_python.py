# Measures goals about the Python package with the programs in python/bench.
"""The interpreter of the peers runs them, with the package that it imports. A package of other sources than this tree's is not measured."""
import pathlib
import re
import subprocess

import machine

FACTOR = re.compile(r"(\d+(?:\.\d+)?)x as fast")
SECONDS = 300
WHERE = "import importlib.util; print(importlib.util.find_spec('openaclnn').origin)"


class NotThere(Exception):
    """The interpreter has no package that can be measured."""


def run(python, *arguments):
    return subprocess.run([python, "-W", "ignore", *arguments], capture_output=True, text=True, check=False, timeout=SECONDS)


def require_this_package(python):
    """Raises NotThere unless the interpreter imports a package with the Python sources of this tree."""
    found = run(python, "-c", WHERE)
    if found.returncode:
        raise NotThere(f"{python} has no openaclnn")
    installed, ours = pathlib.Path(found.stdout.strip()).parent, machine.ROOT / "python" / "openaclnn"
    for source in sorted(ours.rglob("*.py")):
        there = installed / source.relative_to(ours)
        if not there.exists() or there.read_bytes() != source.read_bytes():
            raise NotThere(f"the openaclnn of {python} has another {source.relative_to(ours)}; install this tree's with pip")


def factors(python, script, arguments):
    """Returns {name of a line: times as fast} of a program. Raises NotThere without package, ValueError if the program fails."""
    require_this_package(python)
    done = run(python, str(machine.ROOT / script), *arguments)
    if done.returncode:
        raise ValueError(f"{script}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    found = {}
    for line in done.stdout.splitlines():
        match = FACTOR.search(line)
        if match:
            found[re.split(r"\s{2,}|\s+PyTorch\s", line)[0]] = float(match[1])
    return found
