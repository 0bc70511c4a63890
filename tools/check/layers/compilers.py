"""g++ and clang compile every source of every preset, with warnings as errors, including sources that only slow layers build.

Builds all targets of the preset release with g++. Then takes the compile_commands.json of the presets clang (everything, including the Python
module), coverage, planted and planted-tsan, and compiles what is new in each. The last two are presets of the copy that tools/planted_sources makes.
Optimisation, debug information and instrumentation are left out, because they do not decide whether a source is accepted. Most compilations of one
preset therefore equal those of another, and each runs once. The same holds for sources that reach no file with planted bugs, or none that depends on
ThreadSanitizer. ccache keeps the others from run to run, which it could not do for -fsyntax-only. Nothing is linked.
A preset fails the layer if it is compiled neither here nor by a part of CI that this file names.
By hand: ./dev build clang.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from compilations import THREAD_SANITIZER, Includes, compilations
from workshop import Failure, Result, moved

LEAST = 300  # fewer sources mean that targets are missing
GOAL = f"0 refused, at least {LEAST} sources with each of g++ and clang, every preset accounted for"
FAST = True

# In this order: presets with -Werror come first, because their compilations stand for those without.
COMPILED_HERE = ("clang", "coverage", "planted", "planted-tsan")
COMPILED_ELSEWHERE = {
    "release": "built first, all targets",
    "asan": "built and run by ./dev test --all, which stands for what it compiled",
    "tsan": "built and run by ./dev test --all, which stands for what it compiled",
    "fuzz": "built and run by the layer fuzz",
    "cuda": "compiled by ./dev test --all where nvcc is; its host sources are those of release",
    "package": "the sources and flags of release",
    "package-arm64": "the sources of package, for the processor of arm64",
}
PLANTED_PRESETS = "tests/planted/presets.json"
SEES_BUGS = "-DOPENACLNN_PLANTED_BUGS"
MADE_BY_RELEASE = "cli/embedded_pages.h"  # a header that a command of the build makes
SHOWN = 3  # refusals that are printed


def presets(*files):
    listed = [preset for file in files for preset in json.loads(file.read_text())["configurePresets"]]
    return {preset["name"] for preset in listed if not preset.get("hidden")}


def nanobind_options(root):
    """The options with which CMake finds the Python module's dependencies, or none if nanobind is missing."""
    for python in (*(root / f"build/python/{name}/bin/python" for name in ("newest", "quick")), pathlib.Path(sys.executable)):
        try:
            found = subprocess.run([python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True)
        except OSError:
            continue
        if found.returncode == 0:
            return ["-DOPENACLNN_BUILD_PYTHON=ON", f"-Dnanobind_DIR={found.stdout.strip()}", f"-DPython_EXECUTABLE={python}"]
    print("   left out: the Python module with clang, because nanobind is not here (./dev test installs it)")
    return []


def configure(workshop, preset):
    options = nanobind_options(workshop.root) if preset == "clang" else []
    source = workshop.planted_source() if preset in presets(workshop.root / PLANTED_PRESETS) else workshop.root
    folder = workshop.root / "build" / preset
    workshop.run(["cmake", "-S", source, "--preset", preset, *["--fresh"] * moved(folder, source), *options], seconds=300)
    shutil.copy(workshop.root / "build/release" / MADE_BY_RELEASE, folder / MADE_BY_RELEASE)
    return folder


def version_of(compiler):
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    return f"{compiler} {re.search(r'[0-9]+[.][0-9.]+', text).group()}"


class Keys:
    """Keys of compilations. Two compilations with one key accept the same source, in any preset and in either copy of the tree."""

    def __init__(self, root):
        self.root = root
        self.copy = f"{root}/build/planted-source"
        patches = root / "tests/planted/patches"
        patched = {str(patch.relative_to(patches)).removesuffix(".patch") for patch in patches.rglob("*.patch")}
        self.includes = Includes(root)
        self.sees = {SEES_BUGS: lambda path: path in patched,
                     THREAD_SANITIZER: lambda path: "SANITIZE_THREAD" in self.includes.text(path)}

    def of(self, unit, folder):
        """`folder` is that of the preset's build."""
        compiler, options, source = unit.key()
        source = source.replace(self.copy, str(self.root))
        reached = self.includes.reached_from(source)
        unseen = {option for option, sees in self.sees.items() if not any(map(sees, reached))}
        options = [option for option in options if option not in unseen]
        if SEES_BUGS in options:
            source = "with bugs: " + source
        # The copy comes first, because its folder's name starts like that of a build.
        everywhere = [option.replace(self.copy, str(self.root)).replace(str(folder), "BUILD") for option in options]
        return compiler, tuple(everywhere), source.replace(str(folder), "BUILD")


def is_built(folder):
    """Returns whether all targets of a preset are compiled from these sources, so that the build has nothing left to do."""
    if not (folder / "build.ninja").exists():
        return False
    done = subprocess.run(["ninja", "-C", folder, "-n"], capture_output=True, text=True)
    return done.returncode == 0 and "no work to do" in done.stdout


def refusals(units):
    """Returns {compilation: the compiler's output}."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda unit: unit.run(), units))
    return {unit: text for unit, text in zip(units, said) if text}


def run(workshop):
    names = COMPILED_HERE + (() if workshop.depth == "fast" else ("arm64",))
    if workshop.depth == "fast":
        print("   left out: arm64, whose libraries a fast run does not install (without --fast it is compiled)")
    listed = presets(workshop.root / "CMakePresets.json", workshop.root / PLANTED_PRESETS)
    unknown = listed - {*COMPILED_HERE, *COMPILED_ELSEWHERE, "arm64"}
    if unknown:
        raise Failure(f"nobody compiles the preset {', '.join(sorted(unknown))}")
    workshop.setup("fuzz", *(["arm64"] if "arm64" in names else []))  # clang; the cross compiler
    release = workshop.build("release", "all", "openaclnn_bench", "openaclnn_gpu_bench")
    keys = Keys(workshop.root)
    done = {keys.of(unit, release) for unit in compilations(release)}
    sources = Counter({"g++": len(done)})
    for preset in ("asan", "tsan"):
        if is_built(workshop.root / "build" / preset):
            done |= {keys.of(unit, workshop.root / "build" / preset) for unit in compilations(workshop.root / "build" / preset)}
    refused = {}
    for preset in names:
        folder = configure(workshop, preset)
        units = {keys.of(unit, folder): unit for unit in compilations(folder)}
        new = [unit for key, unit in units.items() if key not in done]
        print(f"   {preset}: {len(new)} of {len(units)} compilations are new", flush=True)
        refused |= refusals(new)
        done |= units.keys()
        sources["clang" if any("clang" in unit.compiler for unit in new) else "g++"] += len(new)
    for unit, text in list(refused.items())[:SHOWN]:
        print(f"   {unit.compiler} refuses {unit.source}:\n{text[:3000]}")
    figure = (f"{len(refused)} refused of {sources['g++']} compilations by {version_of('g++')} and {sources['clang']} by "
              f"{version_of('clang')}; {len(names) + 1} presets")
    return Result(figure, met=not refused and min(sources["g++"], sources["clang"]) >= LEAST)
