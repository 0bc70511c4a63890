#!/usr/bin/env python3
# Tests that the Chinese pages match the English ones, and that tools/translations notices each way in which they can differ.
"""usage: test_translations.py [BUILD_FOLDER]"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGLISH = "# Title\n\nText.\n\n## Part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```c\nint x;\n```\n"
CHINESE = "# 标题\n\n文字。\n\n## 部分\n\n| 甲 | 乙 |\n|---|---|\n| 1 | 2 |\n\n```c\nint x;\n```\n"


def run(*arguments):
    told = subprocess.run([sys.executable, "-B", ROOT / "tools" / "translations", *arguments], capture_output=True, text=True)
    return told.returncode, told.stdout + told.stderr


class Translations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in {"src/ops/ops.def": "// The list.\nOPENACLNN_OPERATOR(copy, Copy)\n", "src/ops/copy/op.h": "", "README.md": ENGLISH,
                           "README.zh-CN.md": CHINESE}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        self.assertEqual(self.check("--renew", "README.md"), (0, ""))

    def check(self, *arguments):
        return run("--root", str(self.root), *arguments)

    def change(self, name, old, new):
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def test_pages_in_step_pass_and_missing_ones_are_named(self):
        code, told = self.check()
        self.assertEqual(code, 0)
        self.assertIn("src/ops/copy/README.md has no translation src/ops/copy/README.zh-CN.md", told)
        self.assertNotIn("README.zh-CN.md:", told)

    def test_other_line_breaks_are_no_change(self):
        self.change("README.md", "Text.", "Text.  ")
        self.assertEqual(self.check()[0], 0)

    def test_a_changed_sentence_asks_for_a_translation(self):
        self.change("README.md", "Text.", "Other text.")
        code, told = self.check()
        self.assertEqual(code, 1)
        self.assertIn("README.zh-CN.md: README.md has changed since", told)
        self.assertEqual(self.check("--renew", "README.md"), (0, ""))
        self.assertEqual(self.check()[0], 0)

    def test_what_must_be_alike(self):
        for old, new, why in (("## 部分", "### 部分", "headings"), ("int x;", "int y;", "block 1 of code"),
                              ("```c\nint x;\n```\n", "", "0 blocks of code"), ("| 1 | 2 |\n", "", "rows in tables"),
                              ("<!-- translated", "<!-- made", "the last line")):
            with self.subTest(why):
                self.setUp()
                self.change("README.zh-CN.md", old, new)
                code, told = self.check()
                self.assertEqual(code, 1)
                self.assertIn(why, told)
                if why != "the last line":  # a hash does not hide it
                    self.assertEqual(self.check("--renew", "README.md")[0], 1)

    def test_code_in_a_sentence_that_was_not_translated(self):
        self.change("README.md", "Text.", "Text. `./dev build` makes it.")
        code, told = self.check("--renew", "README.md")
        self.assertEqual(code, 1)
        self.assertIn("README.zh-CN.md: lacks `./dev build` below heading 1", told)
        self.change("README.zh-CN.md", "文字。", "文字。`./dev build` 构建它。")
        self.assertEqual(self.check("--renew", "README.md"), (0, ""))

    def test_a_page_that_went(self):
        (self.root / "docs" / "zh").mkdir(parents=True)
        shutil.copy(self.root / "README.zh-CN.md", self.root / "docs" / "zh" / "gone.md")
        code, told = self.check()
        self.assertEqual(code, 1)
        self.assertIn("docs/zh/gone.md translates docs/gone.md, which doesn't exist", told)


    def test_links_lead_to_chinese_pages(self):
        (self.root / "docs" / "zh").mkdir(parents=True)
        for name, text in {"docs/quickstart.md": ENGLISH, "docs/faq.md": ENGLISH, "docs/zh/quickstart.md": CHINESE}.items():
            (self.root / name).write_text(text, encoding="utf-8")
        self.assertEqual(self.check("--renew", "docs/quickstart.md"), (0, ""))
        self.change("README.zh-CN.md", "文字。", "[入门](docs/zh/quickstart.md)，[问题](docs/faq.md)，[English](README.md)，[站](https://example.org/docs/quickstart.md)。")
        self.assertEqual(self.check()[0], 0)
        self.change("README.zh-CN.md", "docs/zh/quickstart.md", "docs/quickstart.md#part")
        code, told = self.check()
        self.assertEqual(code, 1)
        self.assertIn("README.zh-CN.md: links to docs/quickstart.md, which exists in Chinese: docs/zh/quickstart.md", told)


class ThisTree(unittest.TestCase):
    def test_is_in_step(self):
        code, told = run()
        print(told, end="")
        self.assertEqual(code, 0, told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
