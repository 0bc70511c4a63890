# Tests tools/docs with pages that have dead links, and with headers that have comments.
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
SPHINX = ROOT / "build" / "docs" / "venv" / "bin" / "sphinx-build"
# The site's settings for links, without the extensions that read headers and Python sources.
SETTINGS = f"""
import sys
sys.path.insert(0, {str(SITE)!r})
from conf import myst_enable_extensions, myst_heading_anchors, suppress_warnings
extensions = ["myst_parser", "repository_links"]
"""
OTHER = "# Other\n\n## A part\n\n[back](index.md#here)\n"


class Links(unittest.TestCase):
    def warnings(self, text):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "conf.py").write_text(SETTINGS)
            (folder / "index.md").write_text(f"# Here\n\n{text}\n\n```{{toctree}}\nother\n```\n")
            (folder / "other.md").write_text(OTHER)
            (folder / "kept.txt").write_text("kept\n")
            (folder / "folder").mkdir()
            made = subprocess.run([SPHINX, "-q", "-W", "--keep-going", "-b", "html", folder, folder / "html"], capture_output=True, text=True)
            found = re.findall(r"index\.md:(\d+): WARNING: .*?'([^']*)' \[myst|: (\S+) \[image", made.stderr)
            self.assertEqual(made.returncode != 0, bool(found), made.stderr)
            return [line + (target or image) for line, target, image in found]

    @unittest.skipUnless(SPHINX.exists(), "needs Sphinx (./dev docs)")
    def test_links_that_lead_somewhere(self):
        self.assertEqual(self.warnings("[a](other.md#a-part) [b](#here) [c](kept.txt) [d](folder) [e](mailto:a@b) [f](other.md)"), [])

    @unittest.skipUnless(SPHINX.exists(), "needs Sphinx (./dev docs)")
    def test_dead_links_are_errors(self):
        text = "[a](gone.md) [b](other.md#gone) [c](#nowhere) [d](gone.txt) [e](gone.html)\n\n![f](gone.svg) [g][k]\n\n[k]: reference.md"
        found = self.warnings(text)
        self.assertEqual(sorted(found), ["3gone", "3gone.html", "3gone.md", "3gone.txt", "3nowhere", "5reference.md", "gone.svg"])

    def test_pages_have_no_links_that_sphinx_does_not_see(self):
        listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode:
            self.skipTest("needs git")
        for page in listed.stdout.split():
            text = re.sub(r"^```.*?^```|`[^`]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
            self.assertNotRegex(text, r"<(a|img)\s", page)


@unittest.skipUnless(shutil.which("awk"), "needs awk")
class HeaderComments(unittest.TestCase):
    def filtered(self, text):
        script = SITE / "header_comment.awk"
        return subprocess.run(["awk", "-f", script], input=text, capture_output=True, text=True, check=True).stdout

    def test_the_first_comment_is_kept_as_it_is_laid_out(self):
        made = self.filtered("/* What it is.\n * SPDX-License-Identifier: Apache-2.0\n *\n *   107002  why\n */\n#define A /* b */\n")
        self.assertEqual(made, "/** @file\n@verbatim\nWhat it is.\n\n  107002  why\n@endverbatim\n*/\n#define A /* b */\n")

    def test_a_comment_that_ends_in_its_last_line(self):
        self.assertEqual(self.filtered("/* One.\n * Two. */\nint x;\n"), "/** @file\n@verbatim\nOne.\nTwo.\n@endverbatim\n*/\nint x;\n")

    def test_other_files_stay_as_they_are(self):
        self.assertEqual(self.filtered("int x;\n/* a */\n"), "int x;\n/* a */\n")


if __name__ == "__main__":
    unittest.main()
