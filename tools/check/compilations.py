"""The compilations of a preset from its compile_commands.json, reduced to the options that decide whether a compiler accepts a source."""
import json
import pathlib
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass

# Optimisation, debug information and instrumentation do not decide whether a compiler accepts a source. Without them most compilations of one preset
# equal those of another, and ccache has the rest.
IRRELEVANT = re.compile(r"-(O\w*|g\d?|[UD]_FORTIFY_SOURCE(=\d)?|DNDEBUG|f(no-)?(sanitize|profile|coverage|stack|cf-protection)\b.*|"
                        r"fno-omit-frame-pointer|ffile-prefix-map=.*|Winvalid-pch)$")
# Options and macros of -fsanitize=thread that sources can see.
THREAD_SANITIZER = "-D__SANITIZE_THREAD__=1"


@dataclass(frozen=True)
class Compilation:
    compiler: str
    options: tuple
    source: str
    folder: str  # the working directory of the compilation

    @staticmethod
    def of(entry):
        """An entry of compile_commands.json."""
        compiler, *words = shlex.split(entry["command"])
        options = []
        words = iter(words)
        for word in words:
            if word in ("-o", "-include"):  # outputs, and precompiled headers of g++, which do not matter here
                next(words)
            elif re.match(r"-fsanitize=.*\bthread\b", word):
                options.append(THREAD_SANITIZER)
            elif word not in ("-c", entry["file"]) and not IRRELEVANT.match(word):
                options.append(word)
        return Compilation(pathlib.Path(compiler).name, tuple(options), entry["file"], entry["directory"])

    def key(self):
        """A key that is equal for compilations of which one suffices. It ignores -Werror: compile presets with -Werror first."""
        return self.compiler, tuple(option for option in self.options if option != "-Werror"), self.source

    def run(self):
        """Compiles the source. Returns the compiler's output, or an empty text if it accepts the source."""
        with tempfile.TemporaryDirectory() as made:
            command = ["ccache", self.compiler, *self.options, "-O0", "-c", self.source, "-o", f"{made}/object.o"]
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace")
        return "" if done.returncode == 0 else done.stdout or f"{self.compiler} exited with {done.returncode}"


class Includes:
    """Finds the project's files that a source reaches by quoted includes. Paths are relative to the root."""

    PATHS = ("src", "tests", "include", "include/aclnn", "include/aclnnop", "bench", "cli", "examples/train", "")

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.known = {}  # path: (text, the files that it includes)

    def text(self, path):
        return self._read(path)[0]

    def reached_from(self, source):
        """Sources outside the root, and those that a build made, keep their names."""
        path = pathlib.Path(source)
        reached, left = set(), [str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)]
        while left:
            path = left.pop()
            if path not in reached:
                reached.add(path)
                left += self._read(path)[1]
        return reached

    def _read(self, path):
        if path not in self.known:
            file = self.root / path
            text = file.read_text(errors="replace") if file.is_file() else ""
            quoted = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, re.M)
            self.known[path] = text, [found for name in quoted for found in self._find(file.parent, name)]
        return self.known[path]

    def _find(self, beside, name):
        for folder in (beside, *(self.root / path for path in self.PATHS)):
            file = (folder / name).resolve()
            if file.is_file() and file.is_relative_to(self.root):
                return [str(file.relative_to(self.root))]
        return []


def compilations(build_folder):
    """Returns the compilations of a configured preset whose sources exist. Others compile files that the build generates."""
    entries = json.loads((pathlib.Path(build_folder) / "compile_commands.json").read_text())
    return [Compilation.of(entry) for entry in entries if pathlib.Path(entry["file"]).exists()]
