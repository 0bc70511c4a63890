"""An operator can be deleted: tools/remove_op leaves a tree that builds, and few lines outside of the operator's own files go with it.

For each operator, tools/remove_op deletes it from a copy of what git would publish. The copy is configured with its tests, and builds the library and
the program openaclnn, which must not list the operator any more. Operators that another one is built on are deleted together with it. Nothing is
optimised, because that does not decide whether sources build.
To repeat: copy the tree, then in the copy tools/remove_op NAME . && cmake -B build && cmake --build build -t openaclnn openaclnn_cli.
Limits: programs that call a deleted operator are left out of its build, and CMake says so. The tool names pages and Python modules that mention the
operator, and does not change them.
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from layers.reproducible import published
from layers.siblings import read_rooms
from workshop import Failure, Result

GOAL = "every operator's tree builds without it; at most 10 lines elsewhere are deleted"
FAST = False  # each deletion compiles all kernels, because every kernel sees all declarations
MOST_LINES = 10
OPTIONS = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DOPENACLNN_WERROR=ON", "-DOPENACLNN_CUDA=OFF", "-GNinja")


def load_tool(root):
    """Loads tools/remove_op as a module."""
    tools = str(root / "tools")
    if tools not in sys.path:
        sys.path.append(tools)
    loader = importlib.machinery.SourceFileLoader("remove_op", f"{tools}/remove_op")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("remove_op", loader))
    loader.exec_module(module)
    return module


def order_of_removal(tool, room, root):
    """Returns the rooms that are deleted for one: first those that are built on it."""
    try:
        tool.plan(room, root)
        return [room]
    except tool.Refusal as refusal:
        user = re.search(r"delete the operator (\w+) first$", str(refusal))
        if user is None:
            raise
        return [*order_of_removal(tool, user[1], root), room]


def copy_of(root, copy):
    for name in published(root):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, copy / name)


def build_without(root, room, jobs):
    """Deletes the operator from a copy and builds the rest. Returns the number of lines in other files, and of programs that are left out."""
    tool = load_tool(root)
    copy = pathlib.Path(tempfile.mkdtemp(prefix=f"openaclnn-without-{room}-"))
    copy_of(root, copy)
    gone, lines = order_of_removal(tool, room, copy), 0
    for each in gone:
        removal = tool.plan(each, copy)
        lines = max(lines, len(removal.lines))
        tool.delete(removal, each, copy)
    build = copy / "build"
    environment = {**os.environ, "CCACHE_BASEDIR": str(copy), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros",
                   "CCACHE_DEPEND": "1"}
    said = ""
    for command in (["cmake", "-S", copy, "-B", build, *OPTIONS],
                    ["cmake", "--build", build, "--target", "openaclnn", "openaclnn_cli", "-j", str(jobs)],
                    [build / "bin/openaclnn", "ops", "--json"]):
        done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout[-6000:])
            raise Failure(f"without {room} it does not build; the copy is {copy}")
        said += done.stdout if "-S" in command else ""
    left = {operator["name"].partition("nn")[2] for operator in json.loads(done.stdout)}
    rooms = read_rooms(copy)
    if left != set(rooms.values()) or room in rooms:
        raise Failure(f"without {room} the program lists {', '.join(sorted(left))}; the copy is {copy}")
    shutil.rmtree(copy)
    return lines, len(re.findall(r"^-- \S+ is left out", said, re.M))


def run(workshop):
    rooms = read_rooms(workshop.root)
    most = 0
    for room in rooms:
        lines, left_out = build_without(workshop.root, room, (os.cpu_count() or 1) + 1)
        print(f"   {room}: {lines} lines elsewhere, {left_out} programs of tests and examples left out", flush=True)
        most = max(most, lines)
    return Result(f"{len(rooms)} of {len(rooms)} operators deleted, at most {most} lines elsewhere", met=most <= MOST_LINES)
