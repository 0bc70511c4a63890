# Tests of the patches that plant bugs: they apply to the present sources, and tools/planted_sources updates a copy without losing edits.
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "planted_sources"
PATCHES = ROOT / "tests" / "planted" / "patches"
sys.path.insert(0, str(ROOT / "tools" / "check"))
planted = __import__("layers.planted").planted


def added_lines(text):
    return "\n".join(line[1:] for line in text.splitlines() if line.startswith("+") and not line.startswith("+++ "))


class Tree(unittest.TestCase):
    """Tests of this tree's bugs."""

    def setUp(self):
        self.patches = {path.relative_to(PATCHES).as_posix(): path.read_text() for path in PATCHES.rglob("*") if path.is_file()}
        self.bugs = re.findall(r"\bBug::(\w+)", "\n".join(map(added_lines, self.patches.values())))

    def test_all_patches_apply(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for name in [*self.patches, "tests/planted/planted.h", "tests/planted/planted_bugs.def", "tests/planted/planted.cc",
                         "tests/planted/presets.json"]:
                source = ROOT / name.removesuffix(".patch")
                (copy / source.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                if source.is_file():  # the tool says which are missing
                    shutil.copy(source, copy / source.relative_to(ROOT))
            shutil.copytree(PATCHES, copy / PATCHES.relative_to(ROOT))
            done = subprocess.run([TOOL, "--root", copy], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_bug_has_one_line_in_each_list_and_a_place(self):
        listed = [bug for bug, _, _ in planted.read_bugs(ROOT)]  # fails when planted_bugs.def and bugs.txt differ
        self.assertGreaterEqual(len(listed), planted.LEAST)
        self.assertEqual(set(self.bugs), set(listed))

    def test_patches_only_add_conditions_of_bugs(self):
        for name, text in self.patches.items():
            self.assertTrue(name.endswith(".patch"), name)
            self.assertEqual(re.findall(r"^--- (.*)$", text, re.M), [f"a/{name.removesuffix('.patch')}"])
            if name.startswith("src/") and "CMakeLists" not in name:
                self.assertIn("planted(Bug::", added_lines(text), name)

    def test_the_product_knows_nothing_of_bugs(self):
        found = [path for folder in ("src", "include", "cli", "python/src") for path in (ROOT / folder).rglob("*")
                 if path.is_file() and re.search(rb"planted\(Bug::|planted\.h|PLANTED_BUGS", path.read_bytes())]
        self.assertEqual(found, [])


class Tool(unittest.TestCase):
    """Tests of the tool with a small tree."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.copy = self.root / "build" / "planted-source"
        for name in ("planted.h", "planted_bugs.def", "planted.cc", "presets.json"):
            self.write(f"tests/planted/{name}", f"{name}\n")
        self.write("src/a.cc", "one\n\ntwo\nthree\nfour\nfive\nsix\n")
        self.write("src/b.cc", "no bug\n")
        self.write("build/left.o", "built\n")
        self.make()
        self.plant()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_tool(self, *options):
        done = subprocess.run([TOOL, "--root", self.root, *options], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def make(self):
        self.assertEqual(self.run_tool(), (0, f"{self.copy}\n"))

    def plant(self):
        edited = self.copy / "src/a.cc"
        edited.write_text(edited.read_text().replace("three\n", "BUG\n"))
        self.assertEqual(self.run_tool("--renew", "src/a.cc"), (0, "wrote tests/planted/patches/src/a.cc.patch\n"))

    def test_the_copy_has_the_bugs_and_what_they_need(self):
        shutil.rmtree(self.copy)
        self.make()
        self.assertEqual((self.copy / "src/a.cc").read_text(), "one\n\ntwo\nBUG\nfour\nfive\nsix\n")
        self.assertEqual((self.copy / "src/b.cc").read_text(), "no bug\n")
        self.assertEqual((self.copy / "src/base/planted.h").read_text(), "planted.h\n")
        self.assertEqual((self.copy / "CMakeUserPresets.json").read_text(), "presets.json\n")
        self.assertFalse((self.copy / "build").exists())

    def test_with_git_it_has_what_git_would_add(self):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/build/\n*.log\n")
        self.write("src/noise.log", "ignored\n")
        self.write("src/c.cc", "untracked\n")
        self.make()
        self.assertTrue((self.copy / "src/c.cc").exists())
        self.assertFalse((self.copy / "src/noise.log").exists())

    def test_only_what_changed_is_written(self):
        self.make()
        before = {path: path.stat().st_mtime_ns for path in self.copy.rglob("*") if path.is_file()}
        self.write("src/b.cc", "changed\n")
        self.make()
        after = {path: path.stat().st_mtime_ns for path in self.copy.rglob("*") if path.is_file()}
        self.assertEqual({path.name for path in before if before[path] != after[path]}, {"b.cc"})

    def test_what_left_the_tree_leaves_the_copy(self):
        (self.root / "src/b.cc").unlink()
        self.make()
        self.assertFalse((self.copy / "src/b.cc").exists())

    def test_a_patch_may_move_but_not_guess(self):
        self.write("src/a.cc", "new\n" * 9 + "one\n\ntwo\nthree\nfour\nfive\nsix\n")
        self.make()
        self.assertIn("two\nBUG\nfour\n", (self.copy / "src/a.cc").read_text())
        self.write("src/a.cc", "one\n\ntwo\nthree\nFOUR\nfive\nsix\n")
        self.assertEqual(self.run_tool()[0], 1)

    def test_a_patch_that_does_not_apply_is_named_and_made_anew(self):
        self.write("src/a.cc", "one\n\ntwo\nTHREE\nfour\nfive\nsix\n")
        code, said = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("tests/planted/patches/src/a.cc.patch no longer applies to src/a.cc", said)
        self.assertIn("make the patch anew with: tools/planted_sources --renew src/a.cc", said)
        edited = self.copy / "src/a.cc"
        self.assertIn("<<<<<<<", edited.read_text())
        self.assertEqual(self.run_tool("--renew", "src/a.cc")[0], 1)  # with the marks of the conflict
        edited.write_text("one\n\ntwo\nBUG\nfour\nfive\nsix\n")
        self.assertEqual(self.run_tool("--renew", "src/a.cc")[0], 0)
        self.make()
        self.assertEqual(edited.read_text(), "one\n\ntwo\nBUG\nfour\nfive\nsix\n")

    def test_a_patch_without_its_file_is_named(self):
        (self.root / "src/a.cc").rename(self.root / "src/moved.cc")
        code, said = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("tests/planted/patches/src/a.cc.patch has no file src/a.cc", said)

    def test_edits_are_not_overwritten(self):
        self.make()
        edited = self.copy / "src/b.cc"
        edited.write_text("another bug\n")
        code, said = self.run_tool()
        self.assertEqual((code, edited.read_text()), (1, "another bug\n"))
        self.assertIn("build/planted-source/src/b.cc has changes that no patch holds", said)
        self.assertEqual(self.run_tool("--renew", "src/b.cc")[0], 0)
        self.make()

    def test_a_patch_without_bugs_goes(self):
        self.make()
        (self.copy / "src/a.cc").write_text((self.root / "src/a.cc").read_text())
        self.assertEqual(self.run_tool("--renew", "src/a.cc")[0], 0)
        self.assertFalse((self.root / "tests/planted/patches/src/a.cc.patch").exists())


if __name__ == "__main__":
    unittest.main()
