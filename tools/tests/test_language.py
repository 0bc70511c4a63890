# Gives each rule of tools/check_language a text that it must find and one that it must not find.
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))
loader = importlib.machinery.SourceFileLoader("check_language", str(TOOLS / "check_language"))
language = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_language", loader))
sys.modules["check_language"] = language  # where dataclasses look for it
loader.exec_module(language)
prose = language.prose

# (rule, what it must find, what it must not find)
TEXTS = [
    ("no-noun", "The count is no multiple of 16.", "The count isn't a multiple of 16."),
    ("no-noun", "Four arguments are no tensors.", "There is no preset of this name; it is no longer needed."),
    ("no-noun", "That was no\nerror.", "Five arrays are no faster than three."),
    ("free-relative", "What fails is thrown.", "What does a code mean?"),
    ("free-relative", "It works. Who begins reads this page.", "New users read this page."),
    ("free-relative", "Whatever it finds is printed.", "Whatever its shape, a step is one number."),
    ("free-relative", "The handle is released with whoever destroys it.", "The function shows what a call needs."),
    ("free-relative", "- What is kept is bounded.", "- What to do: repeat the call."),
    ("free-relative", "# Who begins", "# New users"),
    ("free-relative", "| Page | Read it if you |\n|---|---|\n| a.md | who wants the words |", "| Page | Read it if you |\n|---|---|\n| a.md | want the terms |"),
    ("not-there", "nanobind is not there.", "nanobind isn't installed, so the module isn't built."),
    ("not-there", "out : an array. Not given: a new one.", "out : an array. If omitted, a new one is returned."),
    ("term", "Each call leaves a sentence.", "Each call leaves an error message, in one sentence."),
    ("term", "The file has the process's number.", "The file has the PID."),
    ("term", "A block lies between forbidden pages.", "A block lies between guard pages."),
    ("term", "It counts mistakes made on purpose.", "It counts injected errors."),
    ("term", "The build failed for want of nvcc.", "The build failed, because it found no nvcc."),
    ("trailing", "It keeps an average, too.", "It also keeps an average; this is too large."),
    ("trailing", "Others compute meanwhile.", "Meanwhile others compute, besides this one."),
    ("of-fragment", "Of each as much as fits.", "It keeps a part of each."),
    ("personified", "It is used if a GPU answers.", "It is used if a GPU is available."),
    ("personified", "Commas are its business.", "The writer inserts commas."),
    ("personified", "It lets phase 2 wait.", "It makes phase 2 block."),
    ("outside", "The order is that of spec 2.4.", "The order is that of the specification of C."),
    ("outside", "As the design says, all is well.", "The design of loops is on this page."),
    ("outside", "V7 needs this check.", "ApplyAdamW, V2 needs this check, and ld.v4.u32."),
    ("big-number", "471565 errors were injected.", "471,565 errors were injected, and 1024 more."),
    ("big-number", "84 000 calls in a second.", "It returned 507035 at address 0x12345678 in 0.1234567 s on 2026-11-22."),
    ("long-sentence", "It has " + "very " * 22 + "many words.", "It has " + "very " * 21 + "many words. This is another one."),
    ("long-sentence", "| a |\n|---|\n| it has " + "very " * 22 + "many words |", "It shows `" + "a " * 30 + "`."),
    ("wide-code", "```sh\necho " + "a" * 76 + "\n```", "```sh\necho " + "a" * 75 + "\n```"),
    ("wide-code", "```text\n$ echo " + "a" * 76 + "\n```", "```text\n$ ls\n" + "a" * 99 + "\n```\n\n```text\n" + "a" * 99 + "\n```"),
    ("wide-table", "| a | b | c | d | e |\n|---|---|---|---|---|", "| a | `b|c` | d | e |\n|---|---|---|---|"),
]


def rules_of(found):
    return [one.rule for one in found]


class Rules(unittest.TestCase):
    def test_pages(self):
        for rule, wrong, right in TEXTS:
            with self.subTest(rule=rule, text=wrong):
                self.assertEqual(rules_of(language.check_page("a.md", wrong + "\n")), [rule])
            with self.subTest(rule=rule, text=right):
                self.assertEqual(rules_of(language.check_page("a.md", right + "\n")), [])

    def test_every_rule_has_a_text(self):
        rules = {rule.name for rule in language.RULES} | set(language.EXPLAINED)
        self.assertEqual(rules - {rule for rule, _, _ in TEXTS}, {"subject", "spelling"})

    def test_a_finding_says_where_what_and_what_instead(self):
        found = language.check_page("a.md", "# A page\n\nThe count\nis no [multiple](x.md) of 16.\n")
        self.assertEqual([str(one) for one in found], ['a.md:4: no-noun: "not a", not "no": «The count is no [multiple](x.md) of 16.»; '
                                                       "write: isn't a multiple of 16, for: is no multiple of 16"])

    def test_quoted_output_links_and_figures_written_by_a_command_stay(self):
        text = ("It prints `is no file`. See [the page](docs/spec_2.4).\n<!-- is no file -->\n<!-- figures: written by ./dev check -->\n471565\n"
                "<!-- end of figures -->\n\n    What is x.\n")
        self.assertEqual(rules_of(language.check_page("a.md", text)), ["free-relative"])


class Sources(unittest.TestCase):
    def lines(self, path, text):
        return [(one.line, one.rule) for one in language.check_source(path, text)]

    def test_c(self):
        text = ('// A file.\n#include "is no file"\nint a;  // it is no file\n/* One line.\n * It is\n * no number. */\n'
                'const char* b = "it is no "\n                "file";\nchar c = \'"\'; // fine\nauto d = R"(it is no file)";\n')
        self.assertEqual(self.lines("a.cc", text), [(3, "no-noun"), (5, "no-noun"), (7, "no-noun"), (10, "no-noun")])

    def test_comments_in_several_lines_are_one_text(self):
        self.assertEqual(self.lines("a.h", "// The page says\n// What is written here.\n\n// What is kept stays.\n"), [(4, "free-relative")])
        self.assertEqual(self.lines("a.h", "/**\n * @return 0; 1 if it is too\n *         long.\n */\n"), [])

    def test_python(self):
        text = ('# A file is no folder.\n"""What it does is good."""\nx = "is no file at all"\n\n\ndef f():\n    """Fine.\n\n    What is x.\n    """\n'
                '    raise ValueError(f"{x} is no {x}")\n\n\nadd(help="it is no file")\nprint("a"\n      "b is no file")\ny = "what_is no_file"\n')
        wanted = [(1, "no-noun"), (2, "free-relative"), (3, "no-noun"), (9, "free-relative"), (11, "no-noun"), (14, "no-noun"), (15, "no-noun")]
        self.assertEqual(sorted(self.lines("a.py", text)), wanted)
        self.assertEqual(self.lines("tool", "#!/usr/bin/env python3\n# It is no tool.\n"), [(2, "no-noun")])
        self.assertEqual(self.lines("a.pyi", 'def f() -> None:\n    """It is no tool."""\n'), [(2, "no-noun")])

    def test_shell_and_cmake(self):
        text = ("#!/bin/sh\n# It is\n# no file.\necho it is no file  # it is no comment\nfail 2 \"it is no file\"\nsay 'it is\nno file'\n"
                "case $# in 0) echo \"no file\" ;; esac\n")
        for name in ("a.sh", "a.cmake", "CMakeLists.txt", "dev"):
            self.assertEqual(self.lines(name, text), [(2, "no-noun"), (5, "no-noun"), (6, "no-noun")])
        self.assertEqual(self.lines("a.txt", "# It is no file.\n"), [])
        self.assertEqual(self.lines("CMakeLists.txt", 'message(STATUS "\\"x\\" is no file")\noption(A "It is no file" ON)\n'), [(1, "no-noun"), (2, "no-noun")])

    def test_help_of_shell_scripts(self):
        text = "#!/bin/sh\ncat <<'HELP'\nusage: a\n\n  one    What it does\n         is fine\n  two    this is\n         no file\nHELP\n# It is no file.\n"
        self.assertEqual(self.lines("dev", text), [(7, "no-noun"), (10, "no-noun")])
        self.assertEqual([piece.lines[0][0] for piece in prose.of_source("dev", text)], [3, 5, 7, 10])

    def test_templates(self):
        self.assertEqual(self.lines("a.h.in", "// It is no file.\n"), [(1, "no-noun")])
        self.assertEqual(self.lines("a.cmake.in", "# It is no file.\n"), [(1, "no-noun")])

    def test_notebooks(self):
        cells = [{"cell_type": "markdown", "source": ["# A\n", "\n", "What is x.\n", "It is “no” tool."]},
                 {"cell_type": "code", "source": ["%pip install it\n", "# It is\n", "# no tool.\n", "print('it is no tool')"]}]
        text = json.dumps({"cells": cells}, indent=1, ensure_ascii=False)
        found = [(text.split("\n")[one.line - 1].strip(), one.rule) for one in language.check_page("a.ipynb", text)]
        self.assertEqual(found, [('"What is x.\\n",', "free-relative"), ('"# It is\\n",', "no-noun"), ('"print(\'it is no tool\')"', "no-noun")])


class Trees(unittest.TestCase):
    codespell = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("a.md", "# A page\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, with_all=False):
        """(findings, what was printed)"""
        with mock.patch("builtins.print") as printed, mock.patch.object(shutil, "which", return_value=self.codespell):
            found = language.check(self.root, with_all)
        return [str(one) for listed in found.values() for one in listed], [call.args[0] for call in printed.call_args_list]

    def test_a_tree_without_git_passes_and_says_so(self):
        found, printed = self.check()
        self.assertEqual(found, [])
        self.assertIn("note: commit subjects aren't checked: this tree has no git history", printed)

    def test_scopes_that_are_not_checked_yet(self):
        self.write("src/a.cc", "// It is no file.\n")
        with mock.patch.dict(language.NOT_YET, {"sources": "a reason"}):
            self.assertEqual((len(self.check()[0]), len(self.check(with_all=True)[0])), (0, 1))
        with mock.patch.object(language, "NOT_YET", {}):
            self.assertEqual(len(self.check()[0]), 1)

    def test_scopes_name_reasons_and_folders(self):
        self.assertLessEqual(set(language.NOT_YET), set(language.SCOPES))
        root = TOOLS.parent
        self.assertEqual([folder for folders in language.SCOPES.values() for folder in folders if not (root / folder).exists()], [])

    def test_pages_of_all_folders(self):
        for name in ("docs/site/c/a.md", "tests/cuda/README.md", "examples/train/data/README.md", "tools/room_template/README.md.in"):
            self.write(name, "It is no file.\n")
        found = self.check()[0]
        self.assertEqual(len(found), 4, found)

    def test_exceptions(self):
        self.write("a.md", "It is no file.\n\nIt is no folder.\n")
        self.write("tools/language_exceptions.txt", "# why\na.*: no-noun: is no file: a reason\nb.md: no-noun: *: another reason\n")
        found, printed = self.check()
        self.assertEqual(len(found), 1, found)
        self.assertIn("a.md:3:", found[0])
        self.assertIn("note: nothing needs this line of tools/language_exceptions.txt any more: b.md: no-noun: *", printed)
        self.write("tools/language_exceptions.txt", "a.md: *: *: a reason\n")
        self.assertEqual(self.check()[0], [])
        for wrong in ("a.md: no-noun: no reason\n", "a.md: no-rule: *: a reason\n"):
            self.write("tools/language_exceptions.txt", wrong)
            with self.assertRaises(SystemExit):
                self.check()

    def test_records_of_a_day_stay(self):
        self.write("docs/decisions.md", "It is no file.\n")
        self.assertEqual(self.check()[0], [])

    def test_subjects_of_the_newest_commits(self):
        def git(*arguments):
            names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
            subprocess.run(["git", "-C", str(self.root), *names, *arguments], check=True, capture_output=True)

        git("init")
        git("commit", "--allow-empty", "-m", "a" * 72)
        self.assertEqual(self.check()[0], [])
        git("commit", "--allow-empty", "-m", "b" * 73)
        self.assertIn("subject", self.check()[0][0])
        with mock.patch.object(language, "COMMITS", 0):
            self.assertEqual(self.check()[0], [])

    def test_a_missing_codespell_is_named(self):
        self.assertIn("note: spelling isn't checked: codespell isn't installed (./dev setup lint)", self.check()[1])

    @unittest.skipUnless(shutil.which("codespell"), "needs codespell (./dev setup lint)")
    def test_spelling(self):
        self.codespell = shutil.which("codespell")
        self.write("a.md", "# CANN\n")
        self.assertEqual(self.check()[0], [])
        self.write("src/a.cc", "// They recieve it.\n")
        found = self.check()[0]
        self.assertEqual(len(found), 1, found)
        self.assertIn("src/a.cc:1: spelling", found[0])

    def test_options(self):
        done = subprocess.run([sys.executable, "-B", str(TOOLS / "check_language"), "--unknown", str(self.root)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--unknown isn't an option", done.stderr)


if __name__ == "__main__":
    unittest.main()
