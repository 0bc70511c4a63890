# Compiles functions with large frames, and expects the layer frames of tools/check to read their sizes.
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "check"))

from layers.frames import largest_frame  # noqa: E402
from workshop import Failure  # noqa: E402

SOURCE = """
#include <alloca.h>
void fill(char* text, unsigned long bytes);
namespace small { void first(); void second(); }
void small::first() { char a[9000]; fill(a, sizeof a); }
void small::second() { char a[9000]; fill(a, sizeof a); }
template <unsigned long N> void large() { char a[N]; fill(a, N); }
template void large<SIZE>();
"""
OPEN = "void open(unsigned long bytes) { fill(static_cast<char*>(alloca(bytes)), bytes); }\n"
ALIGNED = "void aligned() { alignas(64) char a[30000]; fill(a, sizeof a); }\n"


@unittest.skipUnless(shutil.which("g++"), "needs g++")
class LargestFrame(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src" / "CMakeFiles").mkdir(parents=True)
        self.commands = []

    def compile(self, source, *flags, name="a", options="-std=c++20 -fstack-clash-protection -c -x c++ -o src/CMakeFiles/{name}.cc.o -"):
        options = options.format(name=name)
        subprocess.run(["g++", *flags, *options.split()], input=source, text=True, check=True, cwd=self.root)
        self.commands.append({"command": f"g++ {options}"})
        (self.root / "compile_commands.json").write_text(json.dumps(self.commands))

    def test_the_largest_of_all_functions_is_found(self):
        for optimisation in ("-O1", "-O3"):
            for size in (8000, 15000, 20000, 200000):
                with self.subTest(optimisation=optimisation, size=size):
                    self.compile(SOURCE.replace("SIZE", str(size)), optimisation, "-fstack-usage")
                    frame, function = largest_frame(self.root)
                    wanted = max(size, 9000)
                    self.assertTrue(wanted <= frame < wanted + 500, frame)
                    self.assertIn("large" if size > 9000 else "small", function)

    def test_all_objects_count(self):
        self.compile(SOURCE.replace("SIZE", "20000"), "-O2", "-fstack-usage")
        self.compile(SOURCE.replace("SIZE", "10000"), "-O2", "-fstack-usage", name="b")
        self.assertIn("large", largest_frame(self.root)[1])
        self.assertGreaterEqual(largest_frame(self.root)[0], 20000)

    def test_objects_count_that_end_their_command(self):
        self.compile(SOURCE.replace("SIZE", "20000"), "-O2", "-fstack-usage", options="-std=c++20 -c -x c++ - -o src/CMakeFiles/{name}.cc.o")
        self.assertIn("large", largest_frame(self.root)[1])

    def test_objects_of_one_target_can_be_selected(self):
        for name, size in (("plugin.dir/a", 10000), ("library.dir/a", 20000)):
            (self.root / "src/CMakeFiles" / name).parent.mkdir()
            self.compile(SOURCE.replace("SIZE", str(size)), "-O2", "-fstack-usage", name=name)
        self.assertTrue(10000 <= largest_frame(self.root, "src/CMakeFiles/plugin.dir/")[0] < 10500)

    def test_a_frame_that_is_aligned_has_a_fixed_size(self):
        self.compile(SOURCE.replace("SIZE", "16") + ALIGNED, "-O2", "-fstack-usage")
        self.assertTrue(30000 <= largest_frame(self.root)[0] < 30500)

    def test_a_frame_without_a_fixed_size_is_refused(self):
        self.compile(SOURCE.replace("SIZE", "16") + OPEN, "-O2", "-fstack-usage")
        with self.assertRaisesRegex(Failure, "the frame of .*open.* has no fixed size"):
            largest_frame(self.root)

    def test_an_object_without_a_report_is_refused(self):
        self.compile(SOURCE.replace("SIZE", "16"), "-O2")
        with self.assertRaisesRegex(Failure, "no stack usage of src/CMakeFiles/a.cc"):
            largest_frame(self.root)

    def test_objects_of_sources_that_are_gone_do_not_count(self):
        self.compile(SOURCE.replace("SIZE", "20000"), "-O2", "-fstack-usage", name="gone")
        self.commands.clear()
        self.compile(SOURCE.replace("SIZE", "16"), "-O2", "-fstack-usage")
        self.assertIn("small", largest_frame(self.root)[1])


if __name__ == "__main__":
    unittest.main()
