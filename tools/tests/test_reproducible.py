# Gives the layer `reproducible` a small project whose library knows where it was built, and one that does not.
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "check"
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(small C)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
add_library(openaclnn SHARED a.c)
"""
PRESETS = """{"version": 3,
 "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}],
 "buildPresets": [{"name": "release", "configurePreset": "release"}]}
"""


@unittest.skipUnless(all(map(shutil.which, ("git", "cmake", "ninja", "gcc"))), "needs git, cmake, ninja and gcc")
class Reproducible(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in (("CMakeLists.txt", PROJECT), ("CMakePresets.json", PRESETS), ("dev", "#!/bin/sh\n"), (".gitignore", "/build/\n")):
            (self.root / name).write_text(text)
        (self.root / "dev").chmod(0o755)
        shutil.copytree(CHECK, self.root / "tools" / "check", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def check(self, source):
        (self.root / "a.c").write_text(source)
        command = [sys.executable, "-B", str(self.root / "tools" / "check" / "check.py"), "reproducible"]
        # The differing output is deleted with the test's folder.
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.root / "build")})
        return done.returncode, done.stdout + done.stderr

    def test_the_same_file_twice(self):
        (self.root / "build").mkdir()
        code, output = self.check("int a(void) { return 1; }\n")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"0 of \d+ bytes differ")
        self.assertEqual([path.name for path in (self.root / "build").glob("openaclnn-built-again*")], [])

    def test_a_library_that_knows_its_folder(self):
        (self.root / "build").mkdir()
        code, output = self.check("const char* a(void) { return __FILE__; }\n")
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"[1-9]\d* of \d+ bytes differ")
        self.assertEqual(len(list((self.root / "build").glob("openaclnn-built-again*"))), 1)


if __name__ == "__main__":
    unittest.main()
