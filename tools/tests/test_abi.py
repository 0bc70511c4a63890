# Changes a small public header in ways that break programs and in ways that do not, and expects tools/check_abi to distinguish them.
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "check_abi"
HEADER = """
#include <stdint.h>
typedef enum { RED = 0, GREEN = 1 } colour;
typedef struct { int32_t x; int32_t y; } point;
typedef struct opaque opaque;
int paint(point* at, colour with, int64_t times);
const char* name_of(const opaque* thing, uint64_t (*lookup)(void*));
"""


@unittest.skipUnless(shutil.which("abidw") and shutil.which("gcc"), "needs abigail-tools (./dev setup check)")
class CheckAbi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("include/aclnn", "include/aclnnop", "tests/abi"):
            (self.root / name).mkdir(parents=True)
        self.write(HEADER)
        self.assertEqual(self.check("--renew")[0], 0)

    def write(self, text):
        (self.root / "include" / "a.h").write_text("#pragma once\n" + text)

    def check(self, *options):
        result = subprocess.run([sys.executable, str(TOOL), *options, str(self.root)], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def test_the_same_interface_passes(self):
        self.write("/* moved */\n\n" + HEADER.replace("times", "how_often"))
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertIn("figure functions 2\nfigure status 0\n", output)

    def test_what_breaks_programs_is_refused(self):
        for old, new, named in (
                ("int64_t times", "int32_t times", "paint"),
                ("colour with, int64_t times", "int64_t times, colour with", "paint"),
                ("int paint", "int64_t paint", "paint"),
                ("int32_t y;", "int64_t y;", "point"),
                ("int32_t x; int32_t y;", "int32_t y; int32_t x;", "point"),
                ("GREEN = 1", "GREEN = 2", "GREEN"),
                ("uint64_t (*lookup)", "uint32_t (*lookup)", "name_of"),
                ("int paint(point* at, colour with, int64_t times);", "", "paint")):
            with self.subTest(change=new or "removed"):
                self.write(HEADER.replace(old, new))
                code, output = self.check()
                self.assertEqual(code, 1, output)
                self.assertIn(named, output)

    def test_an_addition_asks_for_a_new_golden_file(self):
        self.write(HEADER + "int more(void);\n")
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("more", output)
        self.assertIn("tools/check_abi --renew", output)
        self.assertNotIn("breaks compiled programs", output)
        self.assertEqual(self.check("--renew")[0], 0)
        self.assertEqual(self.check()[0], 0)


if __name__ == "__main__":
    unittest.main()
