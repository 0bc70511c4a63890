# Tests tools/docs: dead links, words of the search, status codes, comments of headers, and faults that only a browser sees.
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
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


@unittest.skipUnless(SPHINX.exists(), "needs Sphinx (./dev docs)")
class Extensions(unittest.TestCase):
    def value(self, expression):
        """An expression over the modules of docs/site, which need Sphinx, as JSON makes it."""
        code = f"import json, sys; sys.path.insert(0, {str(SITE)!r}); import c_reference, search_words; print(json.dumps({expression}))"
        made = subprocess.run([SPHINX.parent / "python", "-B", "-c", code], capture_output=True, text=True, check=True)
        return json.loads(made.stdout)

    def test_the_first_comment_of_a_header_is_read_without_its_marks(self):
        text = "/* What it is.\n * SPDX-License-Identifier: Apache-2.0\n *\n *   107002  why\n */\n#define A /* b */\n"
        self.assertEqual(self.value(f"c_reference.header_comment({text!r})"), ["What it is.", "", "  107002  why"])
        self.assertEqual(self.value("c_reference.header_comment('int x;')"), [])

    def test_indented_lines_of_a_comment_are_kept_as_they_are_laid_out(self):
        lines = ["One,", "two:", "  a = b", "", "    + c", "three"]
        made = self.value(f"[[node.tagname, node.astext()] for node in c_reference.render_comment({lines!r})]")
        self.assertEqual(made, [["paragraph", "One, two:"], ["literal_block", "a = b\n\n  + c"], ["paragraph", "three"]])

    def test_every_operator_has_a_page_and_links_to_headers_lead_there(self):
        declared = {name for header in (ROOT / "include" / "aclnnop").glob("*.h")
                    for name in re.findall(r"(\w+)GetWorkspaceSize\(", header.read_text())}
        self.assertLessEqual(declared, set(self.value("list(c_reference.operators())")))
        pages = self.value("{h.name: str(c_reference.page_of_header(h)) for h in c_reference.INCLUDE.rglob('*.h')}")
        self.assertTrue(pages["aclnn_embedding.h"].endswith("docs/site/c/operators/aclnnEmbedding.md"))
        self.assertTrue(pages["acl_rt.h"].endswith("docs/site/c/runtime.md"))
        self.assertEqual(pages["aclnn_util.h"], "None")

    def test_numbers_and_pairs_of_chinese_characters_are_words(self):
        self.assertEqual(self.value("search_words.split('code 161002: 工作区 of aclInit')"),
                         ["code", "n161002", "工", "作", "区", "工作", "作区", "of", "aclInit"])
        self.assertEqual(self.value("search_words.split('acl程序')"), ["acl", "程", "序", "程序"])

    def test_a_site_has_anchors_of_codes_words_of_the_search_and_pages_of_sources(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "conf.py").write_text(SETTINGS + "extensions += ['search_words', 'source_pages', 'status_codes']\n"
                                            "html_search_language = 'openaclnn'\nroot_doc = 'docs/errors'\n")
            (folder / "docs").mkdir()
            (folder / "docs" / "errors.md").write_text("# Errors\n\n| Code | Name |\n|---|---|\n| 507035 | `A_FAULT` |\n\n移植 [m](../math.h)\n")
            (folder / "math.h").write_text("int x;\n")
            subprocess.run([SPHINX, "-q", "-W", "-b", "html", folder, folder / "html"], check=True)
            page = (folder / "html" / "docs" / "errors.html").read_text()
            self.assertRegex(page, r'<tr [^>]*id="code-507035"')
            self.assertIn('href="../code/math.h.html"', page)
            self.assertIn("int", (folder / "html" / "code" / "math.h.html").read_text())
            self.assertFalse((folder / "html" / "_downloads").exists())
            index = (folder / "html" / "searchindex.js").read_text()
            for word in ("n507035", '"507035"', json.dumps("移植"), "code-507035"):
                self.assertIn(word, index)


class InTheBrowser(unittest.TestCase):
    def test_without_chromium_the_check_says_so(self):
        made = subprocess.run([sys.executable, "-B", ROOT / "tools" / "docs", "--browser"], capture_output=True, text=True,
                              env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual((made.returncode, made.stdout), (2, ""))
        self.assertIn("Chromium isn't installed; ./dev setup browser", made.stderr)

    @unittest.skipUnless(SPHINX.exists() and shutil.which("chromium"), "needs Chromium and build/docs/venv (./dev docs --browser)")
    def test_faults_of_a_page_are_found(self):
        with tempfile.TemporaryDirectory() as name:
            page = "<!DOCTYPE html><html lang='de'><article><pre style='overflow:hidden'>" + "x" * 900 + "</pre>" \
                   "<img style='width:1300px;height:9px'></article><script>console.error('broken')</script>"
            (pathlib.Path(name) / "bad.html").write_text(page)
            code = "import pathlib, sys, site_browser as s\nb = s.Browser(pathlib.Path(sys.argv[1]))\n" \
                   "try: print(*s.check_pages(b, pathlib.Path(sys.argv[1])), sep='\\n')\nfinally: b.close()"
            made = subprocess.run([SPHINX.parent / "python", "-B", "-c", code, name], capture_output=True, text=True, cwd=ROOT / "tools")
            for fault in ("bad.html at 1280 pixels: the page is", "bad.html at 400 pixels: img", "needs", "has no meta[name=description]",
                          "lang isn't en", "bad.html: broken"):
                self.assertIn(fault, made.stdout, made.stderr)


if __name__ == "__main__":
    unittest.main()
