#!/usr/bin/env python3
# Tests that the program openaclnn replaces result files as a whole, on full disks and if it is killed.
"""usage: test_files.py PROGRAM [unittest arguments]"""
import os
import pathlib
import resource
import subprocess
import unittest

from program import PROGRAM, ShellTest, npy_bytes, read_npy

EMBED = ["run", "Embedding", "--weight", "table.npy", "--indices", "ids.npy"]


class ReplacedFilesTest(ShellTest):
    def setUp(self):
        super().setUp()
        self.write_table()
        self.rows = self.folder / "rows.npy"

    def embed(self, out="rows.npy", **options):
        return self.run_cli(*EMBED, "--out", out, **options)

    def assert_rows(self, path):
        self.assertEqual(read_npy(path)[1], (3, 2))

    def test_mode_and_owner_stay(self):
        self.rows.write_bytes(b"old")
        self.rows.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(self.rows, 12345, 54321)
        before = self.rows.stat()
        self.embed()
        after = self.rows.stat()
        self.assertEqual((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid))
        self.assert_rows(self.rows)

    def test_new_files_have_the_usual_mode(self):
        self.embed()
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(self.rows.stat().st_mode & 0o777, 0o666 & ~mask)

    def test_symbolic_links_are_followed(self):
        (self.folder / "data").mkdir()
        target = self.folder / "data" / "target.npy"
        self.rows.symlink_to("link")
        (self.folder / "link").symlink_to(target)
        for _ in range(2):  # without the file, and with the file of the first run
            self.embed()
            self.assertTrue(self.rows.is_symlink())
            self.assert_rows(target)
        (self.folder / "circle.npy").symlink_to("circle.npy")
        self.assertIn("cannot be written", self.embed("circle.npy", code=1).stderr)

    def test_hard_links_stay_one_file(self):
        self.rows.write_bytes(b"old" * 1000)
        os.link(self.rows, self.folder / "other.npy")
        self.embed()
        self.assertTrue(self.rows.samefile(self.folder / "other.npy"))
        self.assert_rows(self.folder / "other.npy")

    def test_a_file_that_nobody_may_write_stays(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everything")
        self.rows.write_bytes(b"old")
        self.rows.chmod(0o444)
        self.embed(code=1)
        self.assertEqual(self.rows.read_bytes(), b"old")

    def assert_nothing_stays(self, before):
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}, before)

    def has_unnamed_files(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_RDWR))
        except OSError:
            return False
        return True

    def writes_a_result(self, process):
        """Whether the process has a file without a name in the folder."""
        try:
            files = pathlib.Path(f"/proc/{process.pid}/fd").iterdir()
            return any(os.readlink(file).startswith(f"{self.folder}/#") for file in files)
        except OSError:  # a file was closed in between
            return False

    def test_a_killed_process_leaves_nothing(self):
        if not self.has_unnamed_files():
            self.skipTest("this file system has no files without names")
        self.write("wide.npy", npy_bytes("<f4", (4, 65536), bytes(4 * 65536 * 4)))
        self.write("many.npy", npy_bytes("<i8", (256,), bytes(256 * 8)))
        self.rows.write_bytes(b"old")
        before = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        words = [PROGRAM, "run", "Embedding", "--weight", "wide.npy", "--indices", "many.npy", "--out", "rows.npy"]
        for _ in range(20):  # a busy machine may not run this process while the file is there
            process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            seen = False
            while process.poll() is None and not (seen := self.writes_a_result(process)):
                pass
            process.kill()
            process.wait()
            if seen and self.rows.read_bytes() == b"old":
                break
            self.rows.write_bytes(b"old")
        else:
            self.fail("it always ended before this test saw its file")
        self.assert_nothing_stays(before)

    def test_a_full_disk_leaves_nothing(self):
        self.rows.write_bytes(b"old")
        before = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        for words in ([*EMBED, "--out", "rows.npy"], [*EMBED, "--out", "new.npy"], [*EMBED, "--out", "new.safetensors"]):
            done = self.shell("", *words, before="ulimit -f 0")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"\Aopenaclnn: \S+ cannot be written: File too large\n\Z")
            self.assert_nothing_stays(before)
        for limit in (0, 4):  # with 4, the pages of some commands fit
            self.assertEqual(self.shell("", "man", "--all", "pages", before=f"ulimit -f {limit}").returncode, 1)
            self.assertEqual(list((self.folder / "pages").iterdir()), [])

    def test_a_full_file_system_leaves_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
            self.skipTest("only root can mount a small file system")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.write("wide.npy", npy_bytes("<f4", (4, 8192), bytes(4 * 8192 * 4)))
        (disk / "rows.npy").write_bytes(b"old")
        os.link(disk / "rows.npy", disk / "other.npy")
        words = ["run", "Embedding", "--weight", "wide.npy", "--indices", "0,1,2,3", "--out"]
        for name in ("rows.npy", "new.npy"):
            self.assertIn("No space left on device", self.run_cli(*words, f"disk/{name}", code=1).stderr)
        # Space for the temporary file, but not for its copy over a file with two names.
        self.write("half.npy", npy_bytes("<f4", (1, 10000), bytes(40000)))
        self.run_cli("run", "Embedding", "--weight", "half.npy", "--indices", "0", "--out", "disk/rows.npy", code=1)
        self.assertEqual({path.name: path.read_bytes() for path in disk.iterdir()}, {"rows.npy": b"old", "other.npy": b"old"})

    def test_pages_are_replaced_alike(self):
        (self.folder / "pages").mkdir()
        page = self.folder / "page"
        page.write_text("old")
        (self.folder / "pages" / "openaclnn.1").symlink_to(page)
        self.run_cli("man", "--all", "pages")
        self.assertIn(".TH openaclnn", page.read_text())

    def test_a_pipe_gets_the_bytes(self):
        os.mkfifo(self.folder / "pipe.npy")
        done = self.shell("", *EMBED, "--out", "pipe.npy", before="cat pipe.npy > copy.npy &")
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue((self.folder / "pipe.npy").is_fifo())


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
