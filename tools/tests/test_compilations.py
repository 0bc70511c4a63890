# Tests how ./dev check compilers reads compile_commands.json and reports the compilers' output.
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "check"))

from compilations import THREAD_SANITIZER, Compilation, compilations  # noqa: E402
from layers import compilers  # noqa: E402

WRONG = "#include <vector>\nint first(const std::vector<int>& numbers) { return numbers.begin(); }\n"
RIGHT = "#include <vector>\nint first(const std::vector<int>& numbers) { return numbers.front(); }\n"
UNUSED = "int f() { int never_read = 1; return 0; }\n"


class Compilations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def entry(self, options, text=RIGHT, compiler="g++", name="a.cc"):
        source = self.root / name
        source.write_text(text)
        return {"directory": str(self.root), "file": str(source), "command": f"/usr/bin/{compiler} {options} -o a.o -c {source}"}

    def options(self, options):
        return Compilation.of(self.entry(options)).options

    def test_what_only_changes_the_code_that_is_made_is_left_out(self):
        self.assertEqual(self.options("-O3 -g1 -DNDEBUG -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection=full "
                                      "-fsanitize=address,undefined -fno-sanitize-recover=all -fprofile-instr-generate -fcoverage-mapping "
                                      "-fno-omit-frame-pointer"), ())

    def test_what_decides_stays(self):
        options = "-std=c++20 -Wall -Werror -DX=1 -I/usr/include -mavx2 -fvisibility=hidden -ffp-contract=off -x c++"
        self.assertEqual(self.options(options), tuple(options.split()))

    def test_sources_still_see_the_thread_sanitizer(self):
        self.assertEqual(self.options("-fsanitize=thread -O1"), (THREAD_SANITIZER,))

    def test_equal_compilations_of_two_presets_have_one_key(self):
        keys = {Compilation.of(self.entry(options)).key() for options in ("-O3 -Wall -Werror", "-O1 -fcoverage-mapping -Wall")}
        self.assertEqual(len(keys), 1)
        self.assertNotIn(Compilation.of(self.entry("-O3")).key(), keys)
        self.assertNotIn(Compilation.of(self.entry("-O3 -Wall", compiler="clang++")).key(), keys)

    def test_sources_that_are_made_later_are_left_out(self):
        entries = [self.entry("-O2"), {"directory": str(self.root), "file": str(self.root / "none.c"), "command": "cc -c none.c"}]
        (self.root / "compile_commands.json").write_text(json.dumps(entries))
        self.assertEqual([unit.source for unit in compilations(self.root)], [entries[0]["file"]])

    @unittest.skipUnless(shutil.which("ccache"), "needs ccache")
    def test_a_refused_source_is_named_with_the_reason(self):
        for compiler in ("g++", "clang++"):
            if shutil.which(compiler):
                with self.subTest(compiler=compiler):
                    units = [Compilation.of(self.entry("-std=c++20 -Wall -Werror", text, compiler, name))
                             for text, name in ((RIGHT, "right.cc"), (WRONG, "wrong.cc"), (UNUSED, "unused.cc"))]
                    said = compilers.refusals(units)
                    self.assertEqual(list(said), units[1:])
                    self.assertIn("wrong.cc:2", said[units[1]])
                    self.assertIn("never_read", said[units[2]])

    def write(self, path, text=""):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def test_compilations_that_differ_in_nothing_that_the_source_sees_have_one_key(self):
        self.write("src/patched.h")
        self.write("src/between.h", '#include "patched.h"\n')
        self.write("src/sees_bugs.cc", '#include "between.h"\n')
        self.write("src/sees_threads.cc", "#if defined(__SANITIZE_THREAD__)\n#endif\n")
        self.write("src/sees_nothing.cc", '#include <vector>\n#include "absent.h"\n')
        self.write("tests/planted/patches/src/patched.h.patch")
        tree, copy = str(self.root), f"{self.root}/build/planted-source"
        keys = compilers.Keys(self.root)

        def key(source, options, preset, folder):
            entry = self.entry(f"{options} -I{folder}/src -I{tree}/build/{preset}/cli")
            return keys.of(Compilation.of(entry | {"file": f"{folder}/src/{source}"}), self.root / "build" / preset)

        for options, seen_by in ((compilers.SEES_BUGS, "sees_bugs.cc"), ("-fsanitize=thread", "sees_threads.cc")):
            for source in ("sees_bugs.cc", "sees_threads.cc", "sees_nothing.cc"):
                with self.subTest(options=options, source=source):
                    same = key(source, options, "planted", copy) == key(source, "", "release", tree)
                    self.assertEqual(same, source != seen_by)

    @unittest.skipUnless(shutil.which("ninja"), "needs ninja")
    def test_only_a_finished_build_stands_for_its_compilations(self):
        folder = self.root / "build/tsan"
        self.assertFalse(compilers.is_built(folder))
        self.write("build/tsan/build.ninja", "rule copy\n  command = cp $in $out\nbuild b: copy a\n")
        self.write("build/tsan/a", "text")
        self.assertFalse(compilers.is_built(folder))
        subprocess.run(["ninja", "-C", folder], check=True, stdout=subprocess.DEVNULL)
        self.assertTrue(compilers.is_built(folder))

    def test_every_preset_is_compiled_by_some_part_of_ci(self):
        known = {*compilers.COMPILED_HERE, *compilers.COMPILED_ELSEWHERE, "arm64"}
        self.assertEqual(compilers.presets(ROOT / "CMakePresets.json", ROOT / compilers.PLANTED_PRESETS), known)


if __name__ == "__main__":
    unittest.main()
