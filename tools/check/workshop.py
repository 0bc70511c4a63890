"""The tools of a layer: builds presets, runs programs under a time limit, and reads the figures that they print."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# A program of a layer reports with lines "figure NAME VALUE". All its other output is for people.
FIGURE = re.compile(r"^figure (\w+) (-?[0-9.]+(?:e[+-]?\d+)?)$", re.M)


class Failure(Exception):
    """A layer cannot give its figure. The error message says why, and replaces the figure."""


@dataclass
class Result:
    figure: str
    met: bool


@dataclass
class Output:
    text: str  # stdout and stderr, in the order of printing
    status: int

    def figures(self):
        return {name: float(value) for name, value in FIGURE.findall(self.text)}


RAN = re.compile(r"^\[ RUN      \] (\S+)", re.M)  # a test that a GoogleTest program runs


def idle_patterns(command, text):
    """Returns the patterns of the command's --gtest_filter for which the program's output names no test. GoogleTest itself passes without tests, so
    a renamed test would go unnoticed."""
    filters = [word.removeprefix("--gtest_filter=") for word in command if word.startswith("--gtest_filter=")]
    ran = RAN.findall(text)
    patterns = [pattern for given in filters for pattern in (given.partition("-")[0] or "*").split(":")]
    return [pattern for pattern in patterns if not fnmatch.filter(ran, pattern)]


FULL_DEEP_HOURS = 9  # duration of --deep on two cores when nothing shortens it


def moved(folder, source):
    """Returns whether a build folder was configured for another tree, which CMake refuses."""
    cache = folder / "CMakeCache.txt"
    return cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={source}\n" not in cache.read_text()


class Workshop:
    def __init__(self, root, depth, hours=FULL_DEEP_HOURS):
        self.root = pathlib.Path(root)
        self.depth = depth  # "fast", "standard" or "deep"
        self.hours = hours  # a deep run may be given less than its full time

    def pick(self, fast, standard, deep):
        """Returns the value for the depth of this run. Numbers (seconds, cases) of a deep run shrink with its hours, down to the standard ones."""
        value = {"fast": fast, "standard": standard, "deep": deep}[self.depth]
        if self.depth == "deep" and isinstance(deep, int):
            value = max(standard, int(deep * min(1, self.hours / FULL_DEEP_HOURS)))
        return value

    def setup(self, *groups):
        self._dev("setup", *groups)

    def build(self, preset, *targets, source=None):
        """Configures and builds; returns the build folder. With targets, only those are built. `source` is the tree that has the preset, if it is
        not that of the workshop."""
        source = source or self.root
        folder = self.root / "build" / preset
        self.setup(*[group for group in ("arm64", "fuzz") if group == preset])
        log = self.root / "build" / f"check-{preset}.log"
        log.parent.mkdir(exist_ok=True)
        commands = []
        ninja, presets = folder / "build.ninja", max(path.stat().st_mtime for path in source.glob("CMake*Presets.json"))
        if moved(folder, source):
            commands.append(["cmake", "--preset", preset, "--fresh"])
        elif not ninja.exists() or ninja.stat().st_mtime < presets:
            commands.append(["cmake", "--preset", preset])
        commands.append(["cmake", "--build", "--preset", preset] + (["--target", *targets] if targets else []))
        print(f"   building {preset}{': ' + ' '.join(targets) if targets else ''}", flush=True)
        with log.open("w") as out:
            for command in commands:
                if subprocess.run(command, cwd=source, stdout=out, stderr=subprocess.STDOUT).returncode:
                    print("\n".join(log.read_text(errors="replace").splitlines()[-40:]))
                    raise Failure(f"{preset} did not build: see {log.relative_to(self.root)}")
        return folder

    def planted_source(self):
        """Returns the up-to-date copy of the tree that has the bugs of tests/planted."""
        return pathlib.Path(self.run([sys.executable, self.root / "tools/planted_sources"], seconds=120).text.strip())

    def program(self, preset, name):
        return str(self.root / "build" / preset / "bin" / name)

    def run(self, command, seconds, env=None, accept=(0,), quiet=True):
        """Runs a command for at most this many seconds. A status that is not accepted prints the end of the output and fails the layer."""
        command = [str(word) for word in command]
        try:
            done = subprocess.run(command, cwd=self.root, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            print((late.stdout or b"").decode(errors="replace")[-4000:])
            raise Failure(f"{pathlib.Path(command[0]).name} ran past its {seconds} s") from None
        except OSError as error:
            raise Failure(f"{command[0]} cannot be run: {error.strerror}") from None
        output = Output(done.stdout.decode(errors="replace"), done.returncode)
        bad = accept is not None and output.status not in accept
        if bad or not quiet:
            print(output.text[-8000:])
        if bad:
            how = f"was killed by signal {-output.status}" if output.status < 0 else f"exited with {output.status}"
            raise Failure(f"{pathlib.Path(command[0]).name} {how}")
        if idle := idle_patterns(command, output.text):
            raise Failure(f"{pathlib.Path(command[0]).name} has no test that matches {' or '.join(idle)}")
        return output

    def run_shares(self, commands, seconds, env=None):
        """Runs the shares of one job in parallel. Returns the sums of their figures, and whether all exited with 0. Prints the end of the output
        of a share that did not."""
        with ThreadPoolExecutor(len(commands)) as pool:
            outputs = list(pool.map(lambda command: self.run(command, seconds, env, accept=(0, 1)), commands))
        total = Counter()
        for output in outputs:
            total.update({name: int(value) for name, value in output.figures().items()})
            if output.status:
                print(output.text[-6000:])
        return total, all(output.status == 0 for output in outputs)

    def _dev(self, *words):
        if subprocess.run([str(self.root / "dev"), *words], stdin=subprocess.DEVNULL).returncode:
            raise Failure(f"./dev {' '.join(words)} failed")
