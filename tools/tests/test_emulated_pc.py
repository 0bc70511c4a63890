# Runs tools/check/emulated_pc.py over a made-up Bochs: what the PC prints must come back whole, and a PC that doesn't finish must be a failure.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "check"))

import emulated_pc  # noqa: E402
from layers import bits_avx512  # noqa: E402
from workshop import Failure  # noqa: E402

KERNEL_TALK = "[    0.003034] a message of the kernel\n"


@unittest.skipIf(shutil.which("script") is None, "script of util-linux isn't installed")
class EmulatedPc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "bin").mkdir()
        for name in ("xorriso", "busybox"):
            self.fake(name, "exit 0")
        self.fake("cpio", "cat > files")
        kernel = self.root / "kernel/boot/vmlinuz-1"
        kernel.parent.mkdir(parents=True)
        kernel.write_text("a kernel")
        self.program = self.root / "program"
        shutil.copy(shutil.which("true"), self.program)
        for patch in (unittest.mock.patch.dict(os.environ, {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}),
                      unittest.mock.patch.object(emulated_pc, "ISOLINUX", (str(kernel),))):
            patch.start()
            self.addCleanup(patch.stop)

    def fake(self, name, text):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def boot(self, serial):
        """Boots a PC whose Bochs writes this to the serial port."""
        (self.root / "printed").write_bytes(serial.replace("\n", "\r\n").encode())
        self.fake("bochs", f"cp '{self.root}/printed' serial.txt")
        return emulated_pc.boot(self.root / "pc", [self.program], "program", seconds=20)

    def test_returns_what_was_printed_without_the_kernels_messages(self):
        self.assertEqual(self.boot(KERNEL_TALK + "== begin\n1 one\n2 two\n== exit code 0\n"), ("1 one\n2 two\n", 0))

    def test_returns_the_exit_code(self):
        self.assertEqual(self.boot("== begin\nfailed\n== exit code 139\n"), ("failed\n", 139))

    def test_a_pc_that_stops_in_the_middle_is_a_failure(self):
        with self.assertRaisesRegex(Failure, r"(?s)did not finish in 20 s; .*/pc has its serial\.txt.*1 one"):
            self.boot("== begin\n1 one\n")

    def test_a_pc_that_prints_nothing_is_a_failure(self):
        self.fake("bochs", "exit 1")
        with self.assertRaisesRegex(Failure, "did not finish"):
            emulated_pc.boot(self.root / "pc", [self.program], "program", seconds=20)

    def test_the_disk_has_programs_and_their_libraries(self):
        self.boot("== begin\n== exit code 0\n")
        files = subprocess.run(["find", ".", "-type", "f"], cwd=self.root / "pc/root", capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("./bin/program", files)
        self.assertTrue([name for name in files if name.startswith("./lib/libc.so")], files)
        self.assertTrue([name for name in files if name.startswith("./lib64/ld-")], files)
        self.assertIn("export LD_LIBRARY_PATH=/lib\nprogram\n", (self.root / "pc/root/init").read_text())

    def test_a_tool_that_fails_is_named(self):
        self.fake("xorriso", "echo no space left >&2; exit 5")
        with self.assertRaisesRegex(Failure, "xorriso exited with 5: no space left"):
            self.boot("")


class BitsOfAvx512(unittest.TestCase):
    GOLDEN = {f"case {k}": f"{k:016x}" for k in range(200)}

    def judged(self, changed, with_avx2):
        """Judges the golden hashes with these changes. Returns the verdict and the cases that ran again."""
        again = []

        def run_with_avx2(names):
            again.extend(names)
            return with_avx2

        found = {name: value for name, value in {**self.GOLDEN, **changed}.items() if value}
        return bits_avx512.judged(self.GOLDEN, found, run_with_avx2), again

    def test_golden_hashes_need_no_second_run(self):
        result, again = self.judged({}, {})
        self.assertTrue(result.met)
        self.assertEqual(again, [])

    def test_another_hash_must_be_that_of_avx2(self):
        result, again = self.judged({"case 3": "f"}, {"case 3": "f"})
        self.assertTrue(result.met)
        self.assertEqual((result.figure, again), ("200 of 200 hashes equal, 1 of them only those of AVX2 in the same PC", ["case 3"]))

    def test_a_hash_of_its_own_or_none_is_wrong(self):
        for changed, with_avx2 in (({"case 3": "f"}, {"case 3": self.GOLDEN["case 3"]}), ({"case 3": "f"}, {}), ({"case 3": None}, {})):
            with unittest.mock.patch("builtins.print"):
                result, _ = self.judged(changed, with_avx2)
            self.assertFalse(result.met, changed)
            self.assertIn("199 of 200", result.figure)


if __name__ == "__main__":
    unittest.main()
