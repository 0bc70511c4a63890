# Gives the maker of the documentation's site small sites with dead links, and headers with comments, and looks at what it makes of them.
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("docs_tool", str(TOOLS / "docs"))
docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_tool", loader))
loader.exec_module(docs)


class DeadLinks(unittest.TestCase):
    def links(self, **pages):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for page, text in pages.items():
                (folder / f"{page}.html").write_text(text, encoding="utf-8")
            return docs.dead_links(folder)

    def test_links_that_lead_somewhere(self):
        dead, external = self.links(a='<a href="b.html#part"></a><a href="#here"></a><p id="here">', b='<h1 id="part"><a href="a.html"></a>')
        self.assertEqual((dead, external), ([], {}))

    def test_a_missing_page_picture_and_place(self):
        dead, _ = self.links(a='<a href="c.html"></a><img src="d.svg"><a href="b.html#other"></a><a href="#gone"></a>', b="<p>")
        self.assertEqual(len(dead), 4, dead)
        self.assertIn("a.html: c.html leads nowhere", dead)
        self.assertIn("a.html: b.html#other names a place that its page does not have", dead)

    def test_other_hosts_are_listed_once_and_mail_is_left_alone(self):
        dead, external = self.links(a='<a href="https://x.example/y#z"></a><a href="mailto:a@b"></a>', b='<a href="https://x.example/y"></a>')
        self.assertEqual(dead, [])
        self.assertEqual(list(external), ["https://x.example/y"])


@unittest.skipUnless(shutil.which("awk"), "needs awk")
class HeaderComments(unittest.TestCase):
    def filtered(self, text):
        script = TOOLS.parent / "docs" / "site" / "header_comment.awk"
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
