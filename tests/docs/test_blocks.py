#!/usr/bin/env python3
# Compiles and runs the code and the commands of every page against a build, as a reader would, and lists skipped blocks with reasons.
"""usage: test_blocks.py BUILD_FOLDER [--demo]

C and C++ blocks are compiled as C99 or C++11 with warnings as errors. Blocks with a main are run, and must print the text block that follows. Other
blocks declare everything they use, or only use functions of the headers. The commands of a page run from top to bottom in one separate folder, so
they may use files of earlier ones. There ./dev only checks whether its arguments are valid, because this test is a part of it. If a page shows commands with their output, each shown line must be the start of a printed
line. Blocks that train with the demo, which takes long to build, are a separate test (--demo).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import pages

ONLY_DEMO = "--demo" in sys.argv
if ONLY_DEMO:
    sys.argv.remove("--demo")
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build/release").resolve()
INCLUDES = [f"-I{pages.ROOT / 'include' / part}" for part in ("", "aclnn", "aclnnop")]
HEADERS = ["acl/acl.h", "openaclnn/openaclnn.h", *sorted(path.relative_to(pages.ROOT / "include").as_posix() for path in
                                                       (pages.ROOT / "include" / "aclnnop").glob("aclnn_*.h"))]
# It checks its arguments and does nothing, except for the demo, which runs 10 steps instead of the given number.
DEV = f"""#!/usr/bin/env bash
for word in "$@"; do
  case $word in --*) word=${{word%%=*}} ;; *) continue ;; esac
  grep -rqF -e "$word" {pages.ROOT}/dev {pages.ROOT}/tools {pages.ROOT}/bench {pages.ROOT}/examples/train ||
    {{ echo "./dev $*: nothing knows $word" >&2; exit 1; }}
done
grep -q "^  $1[ )|]" {pages.ROOT}/dev || {{ echo "./dev has no verb $1" >&2; exit 1; }}
if [ "$1" = demo ]; then exec openaclnn-train --steps 10 $(sed -E 's/--steps [0-9]+//' <<<"${{*:2}}"); fi
"""
# A program for CANN that needs functions that openaclnn lacks.
OTHER_PROGRAM = """#include "acl/acl.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_matmul.h"
int main() {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  aclmdlLoadFromFile("model.om", nullptr);
  aclrtSetDevice(0);
  return aclnnMatmulGetWorkspaceSize(nullptr, nullptr, nullptr, 0, &bytes, &executor);
}
"""


def make_needed(name, folder):
    """Makes a file or folder that a page names and a reader would have."""
    installed = pages.ROOT / "tests" / "install"
    if name == "my_program":  # a project written for CANN
        shutil.copy(installed / "host_program.cc", folder)
        settings = (installed / "cann_cmake" / "CMakeLists.txt").read_text().replace("host_program ", "my_program ")
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "CMakeLists.txt").write_text(settings)
        shutil.copy(installed / "host_program.cc", folder / name / "my_program.cc")
    elif name == "Makefile":  # of a CANN sample
        shutil.copy(installed / "cann_sample" / "Makefile", folder)
    elif name in ("my_program.cc", "ported.cc"):
        shutil.copy(installed / "host_program.cc", folder / name)
    elif name == "make_dump.py":
        shutil.copytree(pages.ROOT / "examples" / "judge", folder / "examples" / "judge")
    elif name == "other.cc":
        (folder / name).write_text(OTHER_PROGRAM)
    else:
        raise ValueError(f"no test knows how to make {name}")


def make_reader_folder(folder):
    """Makes what a reader has in a clone after the build: headers, the build and ./dev."""
    shutil.copytree(pages.ROOT / "include", folder / "include")  # a copy, so that no command of a page can change the tree
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(BUILD)
    (folder / "dev").write_text(DEV)
    (folder / "dev").chmod(0o755)


def as_reader(folder):
    """Returns how a command runs in a reader's folder, with the programs on the path."""
    settings = {key: value for key, value in os.environ.items() if not key.startswith("OPENACLNN_")}
    settings["HOME"] = str(folder)
    settings["PATH"] = f"{BUILD / 'bin'}:/usr/bin:{settings['PATH']}"  # Debian's python3 has NumPy
    return {"cwd": folder, "env": settings, "capture_output": True, "text": True, "timeout": 300}


def as_program(block):
    """Returns the block, with an empty main after it if it has none. Declarations without an #include get the headers before them."""
    if re.search(r"\bmain\(", block.text):
        return block.text
    includes = "" if "#include" in block.text else "".join(f"#include <{name}>\n" for name in HEADERS)
    return f"{includes}{block.text}int main(void) {{ return 0; }}\n"


class Blocks(unittest.TestCase):
    def begin_page(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        make_reader_folder(self.folder)

    def run_it(self, block, command, **how):
        done = subprocess.run(command, **how)
        self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout}{done.stderr}")
        return done.stdout

    def try_c(self, block, following):
        source = self.folder / f"block.{'c' if block.language == 'c' else 'cc'}"
        source.write_text(as_program(block))
        compiler = [os.environ.get("CC", "cc"), "-std=c99"] if block.language == "c" else [os.environ.get("CXX", "c++"), "-std=c++11"]
        library = BUILD / "lib"
        self.run_it(block, [*compiler, "-Wall", "-Wextra", "-Werror", "-Wno-unused", *INCLUDES, str(source), f"-L{library}", "-lopenaclnn",
                            f"-Wl,-rpath,{library}", "-o", str(self.folder / "block")], capture_output=True, text=True)
        printed = self.run_it(block, [str(self.folder / "block")], capture_output=True, text=True, timeout=120)
        if following is not None:
            self.assertEqual(printed, following.text, f"{block} does not print what {following} says")

    def try_sh(self, block):
        self.run_it(block, ["bash", "-euo", "pipefail", "-c", block.text], **as_reader(self.folder))

    def try_console(self, block):
        how = as_reader(self.folder)
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, wanted = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, re.S).groups()
            lines = [line for line in wanted.splitlines() if line.split()]
            done = subprocess.run(["bash", "-c", command], **how)
            fails = bool(lines) and bool(re.search(r"\[\d{6} \w+\]$", lines[-1]))
            self.assertEqual(done.returncode != 0, fails, f"{block}: {command}\n{done.stdout}{done.stderr}")
            begin = {line.split()[0] for line in (done.stdout + done.stderr).splitlines() if line.split()}
            missing = [line for line in lines if line.split()[0] not in begin and "…" not in line]
            self.assertFalse(missing, f"{block}: {command} prints no line that begins as these do\n{done.stdout}{done.stderr}")

    def test_pages(self):
        done, left = 0, []
        for page in pages.pages():
            found = pages.blocks(page)
            self.begin_page()
            for block, following in zip(found, [*found[1:], None]):
                if block.language not in pages.CODE:
                    continue
                if "file" in block.says:
                    (self.folder / block.says["file"]).write_text(block.text)
                for name in block.says.get("needs", "").split():
                    make_needed(name, self.folder)
                if "not run" in block.says:
                    left.append(f"{block}: {block.says['not run']}")
                elif bool(re.search(r"openaclnn-train|dev demo", block.text)) != ONLY_DEMO:
                    left.append(f"{block}: tried {'without' if ONLY_DEMO else 'with'} --demo")
                elif block.language == "python":
                    left.append(f"{block}: python/tests/test_docs.py runs it")
                else:
                    output = following if following and following.language == "text" and "main(" in block.text else None
                    with self.subTest(str(block)):
                        if block.language in ("c", "cpp"):
                            self.try_c(block, output)
                        elif block.language == "sh":
                            self.try_sh(block)
                        elif block.language == "console":
                            self.try_console(block)
                        else:
                            self.fail(f"{block} is tried by nothing and does not say why")
                    done += 1
        print(f"{done} blocks were tried, {len(left)} were not:")
        print("\n".join(left))
        self.assertGreater(done, 0 if ONLY_DEMO else 10)


def workflow_steps(text):
    """Returns [(name, environment, commands)] of the steps with commands in a workflow of GitHub, without a parser of YAML."""
    found = []
    for name, body in re.findall(r"^ {6}- name: (.*)\n((?:(?: {8}.*)?\n)*)", text, re.M):
        run = re.search(r"^ {8}run: \|\n((?:(?: {10}.*)?\n)*)", body, re.M)
        if run:
            found.append((name, dict(re.findall(r"^ {10}(\w+): (\S+)$", body[:run.start()], re.M)), textwrap.dedent(run[1]).strip() + "\n"))
    return found


class Workflow(unittest.TestCase):
    """Tests of the workflow in docs/ci.md: all of its commands except those that install packages and build openaclnn."""

    def setUp(self):
        self.text = next(block.text for block in pages.blocks("docs/ci.md") if block.language == "yaml")
        self.steps = {name: (settings, commands) for name, settings, commands in workflow_steps(self.text)}

    def test_it_is_valid_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("needs PyYAML")
        jobs = yaml.safe_load(self.text)["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        self.assertEqual([step["name"] for step in steps if not {"run", "uses"} & set(step)], [])
        self.assertEqual({step["name"]: step["run"] for step in steps if "run" in step}, {name: run for name, (_, run) in self.steps.items()})
        settings = {step["name"]: step.get("env", {}) for step in steps if "run" in step}
        self.assertEqual(settings, {name: settings for name, (settings, _) in self.steps.items()})

    def test_the_build_uses_existing_options(self):
        options = re.findall(r"-D(OPENACLNN_\w+)=", self.steps.pop("Build openaclnn")[1])
        known = re.findall(r"^\s*option\((\w+)", (pages.ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertEqual((len(options), set(options) - set(known)), (3, set()))

    def test_packages_are_those_of_the_build(self):
        """The others are CANN users' own: certificates, git, and zstd for GitHub's cache."""
        listed = {line.split()[1] for line in (pages.ROOT / "tools" / "packages").read_text().splitlines() if line.startswith("build ")}
        installed = set(re.findall(r"[\w+-]+", self.steps["Install packages"][1].partition("--no-install-recommends")[2]))
        self.assertEqual(installed - listed, {"ca-certificates", "git", "zstd"})

    def test_a_project_passes_its_other_steps(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            installed = pages.ROOT / "tests" / "install"
            (folder / "src").mkdir()
            shutil.copy(installed / "host_program.cc", folder / "src" / "main.cpp")
            settings = (installed / "cann_cmake" / "CMakeLists.txt").read_text().replace("../host_program.cc", "src/main.cpp")
            (folder / "CMakeLists.txt").write_text(settings + "enable_testing()\nadd_test(NAME host_program COMMAND host_program)\n")
            how = as_reader(folder)
            subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(folder / "toolkit")], check=True, **how)
            for name in [name for name in self.steps if name not in ("Install packages", "Build openaclnn")]:
                with self.subTest(name):
                    settings, commands = self.steps[name]
                    done = subprocess.run(["bash", "-eo", "pipefail", "-c", commands], **{**how, "env": {**how["env"], **settings}})
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertFalse((folder / "dumps").exists(), "a passing run keeps no arguments")


class Reading(unittest.TestCase):
    """Tests of the parser of pages."""

    def test_comments_belong_to_the_next_block_only(self):
        text = "<!-- not run: a reason -->\n```sh\nls\n```\n\ntext\n\n```c\nint x;\n```\n<!-- file:\na -->\n<!-- needs: b -->\n```c\n```\n"
        first, second, third = pages.blocks("page", text)
        self.assertEqual((first.says, first.text, first.line), ({"not run": "a reason"}, "ls\n", 2))
        self.assertEqual(second.says, {})
        self.assertEqual(third.says, {"file": "a", "needs": "b"})

    def test_comments_add_no_code(self):
        """Readers don't see the comments of a page, so blocks must work without them."""
        for page in pages.pages():
            self.assertNotRegex(pages.read(page), r"<!--\s*with:", page)
        block = pages.blocks("page", "<!-- with: int a; -->\n```c\n#include <stdio.h>\nint b;\n```\n")[0]
        self.assertEqual((block.says, as_program(block)), ({}, "#include <stdio.h>\nint b;\nint main(void) { return 0; }\n"))

    def test_signatures_get_the_headers(self):
        block = pages.blocks("page", "```c\nint f(void);\n```\n")[0]
        self.assertIn("#include <acl/acl.h>\n", as_program(block))

    def test_sessions_and_endless_blocks(self):
        self.assertEqual(pages.blocks("page", "```text\n$ ls\na\n```\n")[0].language, "console")
        with self.assertRaises(ValueError):
            pages.blocks("page", "```c\n")

    def test_the_stand_in_of_dev_knows_verbs_and_options(self):
        with tempfile.TemporaryDirectory() as name:
            make_reader_folder(pathlib.Path(name))
            how = as_reader(pathlib.Path(name))
            for words, code in (("build", 0), ("test --fast", 0), ("fly", 1), ("test --fly", 1)):
                self.assertEqual(subprocess.run(["./dev", *words.split()], **how).returncode, code, words)


if __name__ == "__main__":
    unittest.main(verbosity=1)
