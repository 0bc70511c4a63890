# Makes small releases of made-up files, and expects the tool to notice what differs, is missing or isn't committed.
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TOOLS.parent
sys.path.insert(0, str(TOOLS))
import release_files  # noqa: E402


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, contents):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(contents)
        return path

    def test_an_archive_depends_on_nothing_but_names_and_contents(self):
        first, second = self.write("a", b"first"), self.write("b", b"second")
        release_files.write_archive(self.folder / "one.tar.gz", "top", {"a": first, "b": second}, 1_000)
        os.utime(first, (1, 1))
        first.chmod(0o755)
        release_files.write_archive(self.folder / "two.tar.gz", "top", {"b": second, "a": first}, 1_000)
        self.assertEqual((self.folder / "one.tar.gz").read_bytes(), (self.folder / "two.tar.gz").read_bytes())
        with tarfile.open(self.folder / "one.tar.gz") as archive:
            self.assertEqual(archive.getnames(), ["top/a", "top/b"])
            self.assertEqual({(entry.uid, entry.gid, entry.mtime, entry.mode) for entry in archive}, {(0, 0, 1_000, 0o644)})
            self.assertEqual(archive.extractfile("top/b").read(), b"second")

    def test_the_section_of_a_version(self):
        text = "# Changelog\n\n## [0.2.0] - 2030-01-02\n\n### Added\n- more\n\n## [0.1.0] - unreleased\n- first\n"
        self.assertEqual(release_files.changelog_section(text, "0.2.0"), "### Added\n- more\n")
        self.assertEqual(release_files.changelog_section(text, "0.1.0"), "- first\n")
        for version in ("0.3.0", "0.2", "0x2.0"):
            with self.assertRaisesRegex(ValueError, "has no section"):
                release_files.changelog_section(text, version)
        with self.assertRaisesRegex(ValueError, "has no section"):
            release_files.changelog_section("## [0.4.0]\n\n## [0.3.0]\n- text\n", "0.4.0")

    def test_provenance_and_checksums_name_every_file(self):
        dist = self.folder / "dist"
        contents = {"b.deb": b"b", "a.whl": b"a"}
        for name, data in contents.items():
            self.write(f"dist/{name}", data)
        for _ in range(2):
            release_files.write_statement(dist, "1.2.3", "c" * 40, 1_000, "command", ["pkg:deb/debian/cmake@3?arch=amd64"])
            release_files.write_checksums(dist)
        document = json.loads((dist / release_files.STATEMENT).read_text())
        self.assertEqual(document["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(document["predicateType"], "https://slsa.dev/provenance/v1")
        self.assertEqual({entry["name"]: entry["digest"]["sha256"] for entry in document["subject"]},
                         {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()})
        sources = document["predicate"]["buildDefinition"]["resolvedDependencies"]
        self.assertEqual(sources[0]["digest"], {"gitCommit": "c" * 40})
        self.assertEqual(sources[1], {"uri": "pkg:deb/debian/cmake@3?arch=amd64"})
        self.assertTrue(document["predicate"]["runDetails"]["builder"]["id"])
        checked = subprocess.run(["sha256sum", "--strict", "-c", release_files.CHECKSUMS], cwd=dist, capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout), (0, "a.whl: OK\nb.deb: OK\nprovenance.intoto.json: OK\n"))

    def test_a_differing_byte_and_a_missing_file_are_named(self):
        for folder, name, data in (("one", "same", b"0"), ("two", "same", b"0"), ("one", "differs", b"0"), ("two", "differs", b"1"), ("one", "gone", b"")):
            self.write(f"{folder}/{name}", data)
        found = release_files.differences(self.folder / "one", self.folder / "two")
        self.assertEqual(len(found), 2, found)
        self.assertRegex(found[0], "^gone is in .*/one only$")
        self.assertRegex(found[1], "^differs differs: compare ")
        self.assertEqual(release_files.differences(self.folder / "one", self.folder / "one"), [])


class Command(unittest.TestCase):
    def run_tool(self, tool, *options):
        done = subprocess.run([sys.executable, "-B", str(tool), *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_it_refuses_to_publish(self):
        code, output = self.run_tool(TOOLS / "release")
        self.assertEqual(code, 2)
        self.assertIn("publishing isn't automated", output)

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_it_refuses_sources_that_are_not_committed(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "tools").mkdir()
            for tool in ("release", "release_files.py"):
                shutil.copy(TOOLS / tool, root / "tools")
            shutil.copy(ROOT / "CMakeLists.txt", root)
            subprocess.run(["git", "init", "-q", name], check=True)
            code, output = self.run_tool(root / "tools" / "release", "--dry-run")
        self.assertEqual(code, 1, output)
        self.assertIn("2 files differ from the commit, such as CMakeLists.txt", output)

    def test_the_changelog_has_the_version_of_the_project(self):
        version = next(line.split()[2] for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project("))
        self.assertTrue(release_files.changelog_section((ROOT / "CHANGELOG.md").read_text(), version))


if __name__ == "__main__":
    unittest.main()
