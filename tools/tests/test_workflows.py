# Reads the workflow files as a forge would, and requires that their commands are verbs of ./dev with options that exist.
import contextlib
import importlib.machinery
import importlib.util
import io
import itertools
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile
from unittest import mock

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
# Where the options of a verb are defined, if not in ./dev itself.
OPTIONS = {"check": "tools/check/check.py", "docs": "tools/docs", "fuzz": "tools/fuzz", "release": "tools/release", "test": "tools/test_verb.sh"}



def errors_in(command):
    """Returns error messages about one command of a workflow."""
    words = command.split()
    if words[:1] != ["./dev"]:
        return [f"'{command}' isn't a verb of ./dev"]
    script = (ROOT / "dev").read_text()
    verbs = re.search(r'^verbs="(.*)"$', script, re.M)[1].split(", ")
    if words[1] not in verbs:
        return [f"'{command}': ./dev has no verb '{words[1]}'"]
    text = (ROOT / OPTIONS.get(words[1], "dev")).read_text()
    found = [f"'{command}': {words[1]} has no option {word}" for word in words[2:] if word.startswith("--") and not re.search(rf"{word}\b", text)]
    names = [word for word in words[2:] if not word.startswith("--")]
    if words[1] in ("test", "build"):
        presets = re.findall(r'^ {6}"name": "(\w[\w-]*)"', (ROOT / "CMakePresets.json").read_text(), re.M) + ["python"]
        found += [f"'{command}': there is no preset '{name}'" for name in names if name not in presets]
    if words[1] == "setup":
        groups = {line.split()[0] for line in (ROOT / "tools" / "packages").read_text().splitlines() if not line.startswith("#")}
        found += [f"'{command}': tools/packages has no group '{name}'" for name in names if name not in groups]
    return found


def matrix_rows(job):
    """Returns the values of `matrix` that a job runs with."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    included = matrix.pop("include", [])
    if not matrix:
        return included or [{}]
    return [dict(zip(matrix, values)) for values in itertools.product(*matrix.values())] + included


def commands_of(job):
    """Returns the commands of a job with the values of its matrix inserted; other expressions become one word."""
    for row in matrix_rows(job):
        for step in job["steps"]:
            if "run" in step:
                yield EXPRESSION.sub(lambda match: str(row[match[1].removeprefix("matrix.")]) if match[1].startswith("matrix.") else "VALUE", step["run"])


class Commands(unittest.TestCase):
    def test_wrong_commands_are_found(self):
        for command, why in (("make all", "isn't a verb"), ("./dev tset", "no verb 'tset'"), ("./dev check --quick", "no option --quick"),
                             ("./dev test nothing", "no preset 'nothing'"), ("./dev setup nothing", "no group 'nothing'"), ("cd x && ./dev test", "isn't a verb")):
            found = errors_in(command)
            self.assertEqual(len(found), 1, command)
            self.assertIn(why, found[0])
        for command in ("./dev test asan", "./dev check --fast", "./dev release --dry-run --twice", "./dev setup lint"):
            self.assertEqual(errors_in(command), [])


@unittest.skipUnless(yaml, "needs PyYAML")
class Workflows(unittest.TestCase):
    def setUp(self):
        self.files = {path.name: yaml.safe_load(path.read_text()) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}

    def jobs(self):
        for file, workflow in self.files.items():
            for name, job in workflow["jobs"].items():
                yield f"{file}: {name}", job

    def test_all_workflows_are_there(self):
        self.assertEqual(list(self.files), ["ci.yml", "codeql.yml", "docs.yml", "fuzz.yml", "release.yml", "scorecard.yml"])

    def test_commands_are_verbs_that_exist(self):
        count = 0
        for where, job in self.jobs():
            for command in commands_of(job):
                count += 1
                self.assertEqual([error for line in command.splitlines() for error in errors_in(line)], [], where)
        self.assertGreater(count, 10)

    def test_actions_name_a_version_and_jobs_a_limit(self):
        for where, job in self.jobs():
            self.assertLessEqual(job["timeout-minutes"], 180, where)
            for step in job["steps"]:
                self.assertEqual(len({"run", "uses"} & step.keys()), 1, f"{where}: {step}")
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^[\w-]+(/[\w-]+)+@v\d+$", where)

    def test_tokens_can_only_read_unless_a_job_says_more(self):
        for file, workflow in self.files.items():
            self.assertEqual(workflow["permissions"], {"contents": "read"}, file)

    def test_needed_jobs_exist(self):
        for workflow in self.files.values():
            for job in workflow["jobs"].values():
                self.assertIn(job.get("needs", next(iter(workflow["jobs"]))), workflow["jobs"])


class ClusterFuzzLite(unittest.TestCase):
    def test_the_build_is_a_verb(self):
        script = ROOT / ".clusterfuzzlite" / "build.sh"
        commands = [line for line in script.read_text().splitlines() if line.startswith("./")]
        self.assertEqual([errors_in(command) for command in commands], [[]])
        self.assertEqual(subprocess.run(["bash", "-n", str(script)], check=False).returncode, 0)

    def test_programs_are_exported_with_their_inputs(self):
        loader = importlib.machinery.SourceFileLoader("fuzz", str(ROOT / "tools" / "fuzz"))
        fuzz = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz", loader))
        loader.exec_module(fuzz)
        with tempfile.TemporaryDirectory() as name, mock.patch.object(fuzz, "BUILD", pathlib.Path(name)), mock.patch.object(fuzz, "build", lambda: None):
            folder = pathlib.Path(name)
            (folder / "bin").mkdir()
            for target in fuzz.LENGTHS:
                (folder / "bin" / f"fuzz_{target}").write_text(target)
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(fuzz.main(["--export", str(folder / "out")]), 0)
            self.assertEqual(len(list((folder / "out").iterdir())), 3 * len(fuzz.LENGTHS))
            for target, length in fuzz.LENGTHS.items():
                program = folder / "out" / f"fuzz_{target}"
                self.assertEqual(program.read_text(), target)
                self.assertIn(f"max_len = {length}\n", program.with_suffix(".options").read_text())
                with zipfile.ZipFile(f"{program}_seed_corpus.zip") as seeds:
                    inputs = {seeds.read(entry).hex() for entry in seeds.namelist()}
                self.assertEqual(inputs, set(fuzz.corpus_file(target).read_text().split()))

    @unittest.skipUnless(yaml, "needs PyYAML")
    def test_the_language(self):
        self.assertEqual(yaml.safe_load((ROOT / ".clusterfuzzlite" / "project.yaml").read_text())["language"], "c++")


if __name__ == "__main__":
    unittest.main()
