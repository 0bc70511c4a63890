# Builds small libraries that lack one protection each, and expects tools/check_hardening to name exactly that one.
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "check_hardening"
SOURCE = """
#include <stdio.h>
#include <string.h>
__attribute__((noipa)) void fill(char* text, unsigned long bytes);
void fill(char* text, unsigned long bytes) { memset(text, 1, bytes); }
__attribute__((visibility("default"))) int golden(int value) {
  char small[16], large[9000];
  fill(large, sizeof large);
  snprintf(small, sizeof small, "%d%d", value, large[value]);
  return small[0];
}
"""
FLAGS = {
    "protector": "-fstack-protector-strong", "clash": "-fstack-clash-protection", "branches": "-fcf-protection=full",
    "fortify": "-D_FORTIFY_SOURCE=2", "relro": "-Wl,-z,relro", "now": "-Wl,-z,now", "stack": "-Wl,-z,noexecstack",
}


@unittest.skipUnless(shutil.which("gcc") and platform.machine() == "x86_64", "needs gcc on x86-64")
class CheckHardening(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "golden.txt").write_text("golden\n")

    def build(self, *extra, source=SOURCE, without=()):
        (self.root / "a.c").write_text(source)
        flags = [flag for name, flag in FLAGS.items() if name not in without]
        # They follow the optimisation level, because some compilers set these by themselves.
        command = ["gcc", "-O2", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none", "-fvisibility=hidden", "-shared",
                   *([] if "pic" in without else ["-fPIC"]), *flags, str(self.root / "a.c"), "-o", str(self.root / "liba.so"), *extra]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def faults(self):
        """Returns the rules that are broken, and all output."""
        result = subprocess.run([sys.executable, str(TOOL), str(self.root / "liba.so"), str(self.root / "golden.txt")],
                                capture_output=True, text=True)
        found = re.findall(r"^FAULT (\w+)", result.stdout, re.M)
        self.assertEqual(result.returncode, 1 if found else 0, result.stdout + result.stderr)
        self.assertIn(f"figure faults {len(found)}\n", result.stdout)
        return found, result.stdout

    def test_a_hardened_library_passes(self):
        self.build()
        found, output = self.faults()
        self.assertEqual(found, [], output)
        self.assertIn("figure rules 14\n", output)

    def test_each_flag_that_is_missing_is_named(self):
        for missing, replaced, rules in (
                ("protector", (), ["stack_protector"]),
                ("clash", (), ["stack_clash"]),
                ("branches", (), ["branches"]),
                ("fortify", (), ["fortify"]),
                ("relro", ("-Wl,-z,norelro",), ["relro"]),
                ("now", ("-Wl,-z,lazy",), ["bind_now"]),
                ("stack", ("-Wl,-z,execstack",), ["stack"])):
            with self.subTest(missing=missing):
                self.build(*replaced, without=(missing,))
                found, output = self.faults()
                self.assertEqual(found, rules, output)

    def test_memory_that_is_writable_and_executable(self):
        self.build(source=SOURCE + '__asm__(".section .both,\\"awx\\"\\n.quad 1\\n.text\\n");\n')
        found, output = self.faults()
        self.assertEqual(found, ["segments"], output)

    def test_storage_of_threads(self):
        for bytes_taken, rules in ((512, []), (513, ["thread_storage"])):
            with self.subTest(bytes=bytes_taken):
                storage = f"_Thread_local char taken[{bytes_taken}] __attribute__((visibility(\"hidden\"), tls_model(\"initial-exec\")));\n"
                self.build(source=SOURCE + storage)
                found, output = self.faults()
                self.assertEqual(found, rules, output)

    def test_search_paths(self):
        for path in ("-Wl,-rpath,/tmp", "-Wl,-rpath,/tmp,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"):
            with self.subTest(path=path):
                self.build(path)
                found, output = self.faults()
                self.assertEqual(found, ["search_path"], output)

    def test_code_that_the_loader_rewrites(self):
        absolute = SOURCE + '__asm__(".text\\n.globl moved\\n.hidden moved\\nmoved: .quad golden\\n");\n'
        self.build("-Wl,-z,notext", source=absolute)
        found, output = self.faults()
        self.assertEqual(found, ["text_relocations"], output)

    def test_a_library_more(self):
        self.build("-Wl,--no-as-needed", "-lresolv")
        found, output = self.faults()
        self.assertEqual(found, ["needed"], output)
        self.assertIn("libresolv", output)

    def test_calls_that_start_programs(self):
        run = '#include <stdlib.h>\nint run(void);\n__attribute__((used)) int run(void) { return system("true"); }\n'
        self.build(source=run + SOURCE)
        found, output = self.faults()
        self.assertEqual(found, ["imports"], output)
        self.assertIn("it imports system", output)

    def test_exports(self):
        more = '__attribute__((visibility("default"))) int more(void) { return 1; }\n'
        self.build(source=SOURCE + more)
        self.assertIn("lost: none; added: more", self.faults()[1])
        self.build(source=SOURCE.replace("golden", "other"))
        found, output = self.faults()
        self.assertEqual(found, ["exports"], output)
        self.assertIn("lost: golden; added: other", output)

    def test_no_library_is_an_error(self):
        for arguments in ((), (str(self.root / "none.so"),), (str(self.root / "golden.txt"),)):
            with self.subTest(arguments=arguments):
                self.assertEqual(subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
