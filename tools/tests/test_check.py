# Runs tools/check on made-up layers in a small tree: errors of a layer must become verdicts, and the table must stay correct.
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "check"
DOCUMENT = """# Page

before

<!-- figures: written by ./dev check --save -->
| Layer and what it proves | Figure | Goal | Verdict, date, commit, machine |
|---|---|---|---|
| **good**: an older text | 1 of 1 | all | met, 2020-01-01, abc, x86_64 |
| **other**: what was not run | 7 | 7 | met, 2020-01-02, abc, x86_64 |
| **gone**: a layer that is no more | 7 | 7 | met, 2020-01-03, abc, x86_64 |
<!-- end of figures -->

after
"""
LAYERS = {
    "good": 'return Result("3 of 3", met=True)',
    "missed": 'return Result("2 of 3", met=False)',
    "failing": 'workshop.run(["sh", "-c", "echo what it said; exit 3"], seconds=20)',
    "killed": 'workshop.run(["sh", "-c", "kill -SEGV $$"], seconds=20)',
    "absent": 'workshop.run(["./no-such-program"], seconds=20)',
    "late": 'workshop.run(["sleep", "60"], seconds=1)',
    "broken": 'raise KeyError("a figure that was not printed")',
    "figures": '''out = workshop.run(["printf", "figure a 12\\\\nfigure b -1.5e+3\\\\nfigure c x\\\\n figure d 1\\\\nfigure e 1 2\\\\n"], seconds=20)
    return Result(repr(sorted(out.figures().items())), met=True)''',
    "tests": 'return Result(workshop.run(["./program", "--gtest_filter=*One*:Suite.Two"], seconds=20).text, met=True)',
    "others": 'return Result(workshop.run(["./program", "--gtest_filter=-*One*"], seconds=20).text, met=True)',
    "depth": 'return Result(str(workshop.pick(fast=1, standard=2, deep=3)), met=True)',
    "share": 'return Result(str(workshop.pick(fast=1, standard=2, deep=900)), met=True)',
    "slow": 'return Result("ran", met=True)',
    "other": 'return Result("8", met=True)',
}


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        tool = self.root / "tools" / "check"
        (tool / "layers").mkdir(parents=True)
        for name in ("check.py", "report.py", "workshop.py"):
            shutil.copy(CHECK / name, tool)
        (tool / "layers" / "__init__.py").write_text(f"NAMES = {list(LAYERS)!r}\n")
        for name, body in LAYERS.items():
            (tool / "layers" / f"{name}.py").write_text(
                f'"""Proves {name}.\n\nMore about it.\n"""\nfrom workshop import Result\n\nGOAL = "all"\nFAST = {name != "slow"}\n\n\n'
                f"def run(workshop):\n    {body}\n")
        (self.root / "docs").mkdir()
        (self.root / "docs" / "reliability.md").write_text(DOCUMENT)

    def check(self, *arguments):
        command = [sys.executable, "-B", str(self.root / "tools" / "check" / "check.py"), *arguments]
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50)
        return done.returncode, done.stdout

    def row(self, name, *arguments):
        """Runs one layer; returns the exit status, its row, and its output."""
        file = self.root / "rows.json"
        code, output = self.check(name, "--json", str(file), *arguments)
        rows = json.loads(file.read_text())
        self.assertEqual([row["layer"] for row in rows], [name])
        self.assertEqual(code, 0 if rows[0]["met"] else 1, output)
        return rows[0], output

    def test_a_layer_that_holds(self):
        row, output = self.row("good")
        self.assertTrue(row["met"])
        self.assertEqual((row["figure"], row["goal"], row["proves"]), ("3 of 3", "all", "Proves good."))
        self.assertIn("1 of 1 layers hold", output)

    def test_whatever_goes_wrong_is_a_verdict(self):
        for name, figure in (("missed", "2 of 3"), ("failing", "sh exited with 3"), ("killed", "sh was killed by signal 11"),
                             ("late", "sleep ran past its 1 s"), ("broken", "the layer itself is broken: see above"),
                             ("absent", "./no-such-program cannot be run: No such file or directory")):
            with self.subTest(layer=name):
                row, output = self.row(name)
                self.assertFalse(row["met"])
                self.assertEqual(row["figure"], figure)
                self.assertIn("MISSED", output)
                self.assertIn("0 of 1 layers hold", output)

    def test_failures_show_what_was_said(self):
        self.assertIn("what it said", self.row("failing")[1])
        self.assertIn("KeyError", self.row("broken")[1])

    def test_one_bad_layer_does_not_hide_the_others(self):
        code, output = self.check("broken", "good")
        self.assertEqual(code, 1)
        self.assertIn("1 of 2 layers hold", output)

    def test_figures_are_whole_lines_with_one_number(self):
        self.assertEqual(self.row("figures")[0]["figure"], "[('a', 12.0), ('b', -1500.0)]")

    def test_each_pattern_of_a_filter_needs_a_test(self):
        ran = {"one": "[ RUN      ] Suite.One/3", "two": "[ RUN      ] Suite.Two", "none": "[==========] Running 0 tests from 0 test suites."}
        for layer, printed, missing in (("tests", "one two", ""), ("tests", "one", "Suite.Two"), ("tests", "two", "*One*"),
                                        ("tests", "none", "*One* or Suite.Two"), ("others", "two", ""), ("others", "none", "*")):
            with self.subTest(layer=layer, printed=printed):
                program = self.root / "program"
                program.write_text("#!/bin/sh\n" + "".join(f"echo '{ran[word]}'\n" for word in printed.split()))
                program.chmod(0o755)
                row, _ = self.row(layer)
                self.assertEqual(row["met"], not missing, row)
                if missing:
                    self.assertEqual(row["figure"], f"program has no test that matches {missing}")

    def test_depth(self):
        for options, figure in (((), "2"), (("--fast",), "1"), (("--deep",), "3")):
            self.assertEqual(self.row("depth", *options)[0]["figure"], figure)
        code, output = self.check("--fast", "--deep")
        self.assertEqual(code, 2, output)

    def test_hours_shorten_a_deep_run(self):
        for options, figure in (((), "900"), (("--hours", "4.5"), "450"), (("--hours", "90"), "900"), (("--hours", "1e-9"), "2")):
            self.assertEqual(self.row("share", "--deep", *options)[0]["figure"], figure)
        for options in (("--hours", "1"), ("--deep", "--hours", "0"), ("--deep", "--hours", "nan")):
            code, output = self.check("share", *options)
            self.assertEqual(code, 2, output)
            self.assertIn("--hours", output)

    def test_a_deep_run_adds_its_rows_to_the_log(self):
        log = self.root / "docs" / "deep_runs.md"
        log.write_text("| Run | Layer | Figure | Verdict |\n|---|---|---|---|\n| an older run | good | 1 of 1 | met |\n")
        self.check("good", "missed", "--deep", "--save")
        rows = log.read_text().splitlines()[2:]
        self.assertEqual(rows[0], "| an older run | good | 1 of 1 | met |")
        self.assertRegex(rows[1], r"^\| \d{4}-\d\d-\d\d, no commit, \w+, 0 min \| good \| 3 of 3 \| met \|$")
        self.assertRegex(rows[2], r"\| missed \| 2 of 3 \| MISSED \|$")
        table = (self.root / "docs" / "reliability.md").read_text()
        self.assertIn("| **good**: Proves good. | 3 of 3 | all | met, ", table, "a deep run tries no less than a standard one")

    def test_fast_leaves_out_what_takes_long(self):
        code, output = self.check("good", "slow", "--fast")
        self.assertEqual(code, 0)
        self.assertNotIn("slow", output)

    def test_unknown_layers_are_refused(self):
        code, output = self.check("god")
        self.assertEqual(code, 2)
        self.assertIn("unknown layer 'god'", output)

    def test_list_runs_nothing(self):
        code, output = self.check("--list")
        self.assertEqual(code, 0)
        for name in LAYERS:
            self.assertRegex(output, rf"(?m)^{name} +Proves {name}\.$")
        self.assertNotIn("KeyError", output)

    def test_save_replaces_the_rows_that_were_run(self):
        self.assertEqual(self.check("missed", "good", "--save")[0], 1)
        text = (self.root / "docs" / "reliability.md").read_text()
        before, rest = DOCUMENT.split("| **good**")[0], "<!-- end of figures -->\n\nafter\n"
        self.assertTrue(text.startswith(before) and text.endswith(rest), text)
        rows = text.removeprefix(before).removesuffix(rest).splitlines()
        self.assertRegex(rows[0], r"^\| \*\*good\*\*: Proves good\. \| 3 of 3 \| all \| met, \d{4}-\d\d-\d\d, no commit, \w+ \|$")
        self.assertNotIn("2020", rows[0])
        self.assertRegex(rows[1], r"^\| \*\*missed\*\*: Proves missed\. \| 2 of 3 \| all \| MISSED, ")
        self.assertEqual(rows[2], "| **other**: what was not run | 7 | 7 | met, 2020-01-02, abc, x86_64 |")
        self.assertEqual(len(rows), 3, "a layer that is no more has no row")

    def test_the_page_stays_without_save(self):
        self.check("good")
        self.assertEqual((self.root / "docs" / "reliability.md").read_text(), DOCUMENT)


class RealLayers(unittest.TestCase):
    def test_every_layer_says_what_it_proves_and_when_it_holds(self):
        done = subprocess.run([sys.executable, "-B", str(CHECK / "check.py"), "--list"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = {path.stem for path in (CHECK / "layers").glob("*.py")} - {"__init__"}
        self.assertEqual({line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")}, files)
        self.assertEqual(len(done.stdout.splitlines()), 2 * len(files))


if __name__ == "__main__":
    unittest.main()
