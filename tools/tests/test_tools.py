# Runs the checks of tools/ on small trees that break one rule each, and on clean ones.
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent


def run(tool, argument):
    result = subprocess.run([sys.executable, str(TOOLS / tool), str(argument)], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


class TreeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class CheckLayers(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("include/acl/acl.h", "#include <stdint.h>\n#include \"acl_base.h\"\n")
        self.write("include/acl/acl_base.h", "#include <stddef.h>\n")
        self.write("src/base/result.h", "#include <vector>\n")
        self.write("src/runtime/handle.h", '#include "acl/acl.h"\n#include "base/result.h"\n')
        self.write("src/cpu/rows.h", '#include "base/result.h"\n#include "runtime/handle.h"\n')
        self.write("src/cuda/device.h", '#include "runtime/handle.h"\n')
        self.write("src/ops/contract.h", '#include "runtime/handle.h"\n')
        self.write("src/ops/embedding/op.h", '#include "ops/contract.h"\n#include "cpu/rows.h"\n')
        self.write("src/ops/embedding/op.cc", '#include "op.h"\n#include "ops/embedding/op.h"\n')
        self.write("src/ops/embedding/tests/test.cc", '#include "driver/driver.h"\n#include "ops/embedding/op.h"\n')
        self.write("src/ops/ema_adam/op.h", '#include "ops/contract.h"\n')
        self.write("src/api/stream.cc", '#include "runtime/handle.h"\n#include "ops/contract.h"\n')

    def expect(self, file, text, why):
        self.write(file, text)
        code, output = run("check_layers", self.root)
        self.assertEqual(code, 1, output)
        self.assertIn(file + ":", output)
        self.assertIn(why, output)
        self.assertEqual(len(output.splitlines()), 1, output)

    def test_clean_tree_passes(self):
        code, output = run("check_layers", self.root)
        self.assertEqual((code, output), (0, ""))

    def test_base_may_not_look_up(self):
        self.expect("src/base/a.h", '\n#include "runtime/handle.h"\n', "a.h:2: base includes")

    def test_runtime_may_not_include_a_device(self):
        self.expect("src/runtime/a.h", '#include "cpu/rows.h"\n', "higher layer cpu")

    def test_devices_are_strangers(self):
        self.expect("src/cuda/a.h", '#include "cpu/rows.h"\n', "neighbour cpu")

    def test_device_may_not_include_ops(self):
        self.expect("src/cpu/a.h", '  #  include "ops/contract.h"\n', "higher layer ops")

    def test_device_may_not_name_an_operator(self):
        self.expect("src/cpu/a.h", "void f() { embedding::run(); }\n", "names the operator embedding")

    def test_device_may_not_name_a_public_operator(self):
        self.expect("src/cpu/a.h", "void f() { aclnnEmaAdam(); }\n", "names the operator ema_adam")

    def test_comments_may_name_operators_and_includes(self):
        self.write("src/cpu/a.h", '// embedding sums rows\n/* #include "ops/contract.h"\n embedding */\n')
        self.assertEqual(run("check_layers", self.root), (0, ""))

    def test_rooms_may_not_include_each_other(self):
        self.expect("src/ops/ema_adam/a.h", '#include "ops/embedding/op.h"\n', "of room embedding")

    def test_room_of_lists_may_include_its_operator_but_not_the_other_way_round(self):
        self.write("src/ops/ema_adam_list/op.h", '#include "ops/ema_adam/op.h"\n')
        self.assertEqual(run("check_layers", self.root), (0, ""))
        self.expect("src/ops/ema_adam/a.h", '#include "ops/ema_adam_list/op.h"\n', "of room ema_adam_list")

    def test_relative_paths_are_seen_through(self):
        self.expect("src/ops/ema_adam/a.h", '#include "../embedding/op.h"\n', "of room embedding")

    def test_ops_may_not_include_api(self):
        self.write("src/api/api.h", "")
        self.expect("src/ops/a.h", '#include "api/api.h"\n', "higher layer api")

    def test_public_header_may_not_include_private(self):
        self.expect("include/acl/b.h", '#include "base/result.h"\n', "neither public")

    def test_public_header_may_not_need_cpp(self):
        self.expect("include/acl/b.h", "#include <vector>\n", "neither public")

    def test_unknown_quoted_header(self):
        self.expect("src/base/a.h", '#include "hwy/highway.h"\n', "is not a file of")

    def test_unknown_layer(self):
        self.expect("src/misc/a.h", "", "isn't a layer")

    def test_kernel_may_not_include_the_runtime(self):
        for kernel in ("cpu.cc", "cuda.cu"):
            self.expect(f"src/ops/embedding/{kernel}", '#include "runtime/handle.h"\n', f"{kernel}:1: a kernel includes nothing")
            (self.root / "src/ops/embedding" / kernel).unlink()

    def test_kernel_may_not_reach_the_runtime_by_another_header(self):
        self.write("src/ops/embedding/plan.h", '#include "base/result.h"\n')
        self.expect("src/ops/embedding/cpu.cc", '#include "ops/embedding/plan.h"\n#include "ops/embedding/op.h"\n',
                    "cpu.cc:2: a kernel includes nothing of src/runtime, but this reaches it: "
                    "src/ops/embedding/op.h -> src/ops/contract.h -> src/runtime/handle.h")

    def test_the_library_knows_neither_judges_nor_tests(self):
        self.write("src/verify/judge.h", "")
        self.write("src/ops/embedding/verify/oracle.h", "")
        self.write("src/ops/embedding/tests/schema.h", '#include "support/expect.h"\n#include "ops/embedding/verify/oracle.h"\n')
        for file, included, why in (("src/ops/embedding/op.h", "ops/embedding/verify/oracle.h", "the library does not know what judges it"),
                                    ("src/base/text.h", "verify/judge.h", "the library does not know what judges it"),
                                    ("src/ops/embedding/plan.h", "ops/embedding/tests/schema.h", "is a test; only tests may include it"),
                                    ("cli/check.cc", "ops/embedding/tests/schema.h", "is a test; only tests may include it")):
            self.expect(file, f'#include "{included}"\n', why)
            self.write(file, "")

    def test_judges_see_the_public_door_only(self):
        self.write("src/verify/judge.h", '#include "base/result.h"\n#include "acl/acl_base.h"\n')
        self.write("cli/check.cc", '#include "verify/judge.h"\n')
        self.write("src/runtime/fork.h", "")
        self.write("src/ops/embedding/plan.h", "")
        self.assertEqual(run("check_layers", self.root), (0, ""))
        for file, included in (("src/verify/runner.h", "runtime/fork.h"), ("src/ops/embedding/verify/oracle.h", "ops/embedding/plan.h")):
            self.expect(file, f'#include "{included}"\n', "verify sees base, verify and the public headers only")
            self.write(file, "")

    def test_kernel_may_include_its_plan_and_device(self):
        self.write("src/cpu/simd.h", '#include "base/result.h"\n')
        self.write("src/ops/embedding/plan.h", '#include "acl/acl_base.h"\n#include "ops/embedding/plan.h"\n')
        self.write("src/ops/embedding/cpu.cc", '#include "cpu/simd.h"\n#include "ops/embedding/plan.h"\n')
        self.assertEqual(run("check_layers", self.root), (0, ""))

    def test_modules_of_the_runtime_make_no_cycle(self):
        self.write("src/runtime/fork.h", "")
        self.write("src/runtime/fork.cc", '#include "runtime/fork.h"\n')
        self.write("src/runtime/stream.h", '#include "runtime/fork.h"\n')
        self.write("src/runtime/event.cc", '#include "runtime/stream.h"\n')
        self.write("src/runtime/event.h", '#include "runtime/fork.h"\n')
        self.assertEqual(run("check_layers", self.root), (0, ""))
        self.expect("src/runtime/stream.cc", '#include "runtime/stream.h"\n#include "runtime/event.h"\n',
                    "modules of src/runtime include each other in a cycle: event -> stream -> event")

    def test_a_room_has_few_files(self):
        for name in ("README.md", "README.zh-CN.md", "plan.h", "math.h", "cpu.cc", "cuda.cu", "update_cpu.h", "update_cuda.cuh", "tests/a.cc",
                     "tests/b.cc", "verify/oracle.h", "verify/cases.h"):
            self.write(f"src/ops/embedding/{name}", "")
        self.assertEqual(run("check_layers", self.root), (0, ""))
        self.write("src/ops/embedding/types.h", "")
        self.assertEqual(run("check_layers", self.root), (1,
            "src/ops/embedding:1: a room has at most 9 files at its top, this one has 10: README.md, cpu.cc, cuda.cu, math.h, op.cc, op.h, "
            "plan.h, types.h, update_cpu.h, update_cuda.cuh\n"))

    def test_plans_read_no_state_of_the_process(self):
        for state in ("environment()", "platform_kind()", "platform ()", "plan_context()"):
            self.expect("src/ops/embedding/op.cc", f"void f() {{ use({state}); }}\n", "get it from their PlanContext")

    def test_only_the_contract_makes_a_context(self):
        self.write("src/ops/contract.cc", '#include "ops/contract.h"\nauto c = PlanContext{platform_kind(), environment().check};\n')
        self.write("src/ops/embedding/tests/test.cc", "int f() { return environment().check; }\n")
        self.assertEqual(run("check_layers", self.root), (0, ""))
        self.expect("src/ops/require.cc", "bool f() { return environment().check; }\n", "require.cc:1: environment()")


    def test_the_product_names_no_machinery_of_tests(self):
        for word in ("planted", "simt", "PTX"):
            self.expect("src/cpu/a.h", f"// Not under {word}.\n", f"a.h:1: '{word}' belongs to the tests")
        self.write("src/cpu/a.h", "")
        self.write("src/ops/embedding/tests/test.cc", "// planted, simt, ptx\n")
        self.assertEqual(run("check_layers", self.root), (0, ""))

    def test_conditions_ask_about_the_machine_only(self):
        self.write("src/cpu/b.h", "#if defined(__x86_64__) && !defined(__CUDACC__)  // not while testing\n#elif HWY_TARGET != HWY_SCALAR\n#endif\n")
        self.write("include/acl/acl_rt.h", "#ifndef OPENACLNN_INCLUDE_ACL_ACL_RT_H_\n#ifdef __cplusplus\n#endif\n#endif\n")
        self.write("src/ops/embedding/tests/test.cc", "#ifdef TESTING\n#endif\n")
        self.assertEqual(run("check_layers", self.root), (0, ""))
        for condition in ("ifdef OPENACLNN_TESTING", "if __x86_64__ && defined(UNDER_TEST)", "ifndef NDEBUG", "elif EMULATED"):
            self.expect("src/cpu/a.h", f"\n# {condition}\n", f"a.h:2: a condition on {condition.split()[-1].removeprefix('defined(').rstrip(')')} makes")


class CheckStyle(TreeTest):
    def expect(self, file, text, why):
        self.write(file, text)
        code, output = run("check_style", self.root)
        self.assertEqual(code, 1, output)
        self.assertIn(why, output)
        self.assertEqual(len(output.splitlines()), 1, output)

    def test_clean_tree_passes(self):
        self.write("a.h", "// One sentence about it.\nint a;\n")
        self.write("b.py", '"""One sentence about it."""\n')
        self.write("run", "#!/bin/sh\n# One sentence about it.\n")
        self.write("CMakeLists.txt", "# One sentence about it.\n")
        self.write("notes.md", "# Notes\n")
        self.write("build/x.cc", "int a;\t\n")
        self.assertEqual(run("check_style", self.root), (0, ""))

    def test_first_line(self):
        self.expect("a.cc", "#include <vector>\n// One sentence about it.\n", "a.cc:1: the first line")

    def test_first_line_after_shebang(self):
        self.expect("run", "#!/bin/sh\nset -e\n", "run:2: the first line")

    def test_length(self):
        self.expect("a.cc", "// One sentence about it.\n" + "int a;\n" * 400, "more than 400 lines")

    def test_tab(self):
        self.expect("a.md", "one\ttwo\n", "a.md:1: tab")

    def test_trailing_blank(self):
        self.expect("a.md", "one \n", "blanks at the end")

    def test_final_newline(self):
        self.expect("a.md", "one", "no newline")

    def test_final_blank_line(self):
        self.expect("a.md", "one\n\n", "blank line at the end")

    def test_patches_have_blanks_for_blank_lines(self):
        self.write("a.patch", "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n \n+one\n two\n \n")
        self.assertEqual(run("check_style", self.root), (0, ""))

    def test_words(self):
        for word in ("TO" + "DO", "FIX" + "ME", "/wo" + "rk/main", "the last sess" + "ion", "issue" + " #7"):
            with self.subTest(word=word):
                self.expect("a.md", f"see {word} here\n", "a.md:1:")


class NewOp(unittest.TestCase):
    """It runs in a copy of the project, because the scaffold must pass the project's own headers and checks."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in ("src", "include", "tests"):
            shutil.copytree(TOOLS.parent / name, self.root / name)
        shutil.copy(TOOLS.parent / ".clang-format", self.root)

    def new_op(self, *arguments):
        command = [sys.executable, str(TOOLS / "new_op"), *arguments, str(self.root)]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def files(self):
        return {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def test_refused_names_change_nothing(self):
        before = self.files()
        for name, why in (("TestedCopy", "did you mean tested_copy?"), ("tested copy", "did you mean tested_copy?"),
                          ("9lives", "lower case with underscores"), ("", "lower case with underscores"),
                          ("_copy", "lower case"), ("scaled__copy", "lower case"), ("../copy", "did you mean copy?"),
                          ("embedding", "src/ops/embedding exists already"), ("aclnn_copy", "starts with aclnn"),
                          ("cpu", "is reserved"), ("x", "shorter than three")):
            with self.subTest(name=name):
                code, output = self.new_op(name)
                self.assertEqual(code, 1, output)
                self.assertIn(why, output)
                self.assertEqual(len(output.splitlines()), 1, output)
                self.assertEqual(self.files(), before)

    def test_wrong_use(self):
        for arguments in ((), ("--help",), ("tested_copy", str(self.root / "src")), ("a", "b", "c")):
            with self.subTest(arguments=arguments):
                result = subprocess.run([sys.executable, str(TOOLS / "new_op"), *arguments], capture_output=True)
                self.assertEqual(result.returncode, 2)

    def test_an_operator_is_not_made_twice(self):
        self.assertEqual(self.new_op("tested_copy")[0], 0)
        before = self.files()
        code, output = self.new_op("tested_copy")
        self.assertEqual(code, 1)
        self.assertIn("src/ops/tested_copy exists already", output)
        self.assertEqual(self.files(), before)

    def test_every_list_has_it(self):
        code, output = self.new_op("mean_rows")
        self.assertEqual(code, 0, output)
        self.assertIn("./dev test --only=mean_rows\n", output)
        operators = [line for line in (self.root / "src/ops/ops.def").read_text().splitlines() if line[:2] != "//"]
        self.assertIn("OPENACLNN_OPERATOR(mean_rows, MeanRows)", operators)
        self.assertEqual(operators, sorted(operators))
        symbols = (self.root / "tests/abi/exported_symbols.txt").read_text().splitlines()
        self.assertLess({"aclnnMeanRows", "aclnnMeanRowsGetWorkspaceSize"}, set(symbols))
        self.assertEqual(symbols, sorted(symbols))
        for path, text in self.files().items():
            self.assertNotRegex(text, rb"@[Nn][Aa][Mm][Ee]@", path)

    def test_its_page_has_the_form_of_the_other_pages(self):
        self.new_op("tested_copy")
        written = (self.root / "src/ops/tested_copy/README.md").read_text()
        for name in ("embedding", "apply_fused_ema_adam"):
            page = (self.root / "src/ops" / name / "README.md").read_text()
            optional = {"### Faults", "### Workspace"}
            self.assertEqual([line for line in re.findall(r"^##+ .*", page, re.M) if line not in optional], re.findall(r"^##+ .*", written, re.M))
            self.assertLessEqual(set(re.findall(r"^\|.*\|\n\|---", written, re.M)), set(re.findall(r"^\|.*\|\n\|---", page, re.M)))
            for begin in ("# ", "Header: ", "From Python:", "In C, ", "Formats: "):
                self.assertRegex(page, f"(?m)^{re.escape(begin)}")
                self.assertRegex(written, f"(?m)^{re.escape(begin)}")
        self.assertTrue(written.startswith("# TestedCopy\n"))

    @unittest.skipUnless(shutil.which("g++"), "needs g++")
    def test_the_example_of_its_page_compiles(self):
        self.new_op("tested_copy")
        program = re.search(r"```c\n(.*?)```", (self.root / "src/ops/tested_copy/README.md").read_text(), re.S)[1]
        (self.root / "example.c").write_text(program)
        flags = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{self.root}/include"]
        result = subprocess.run(["gcc", *flags, str(self.root / "example.c")], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_scaffold_follows_the_rules(self):
        self.new_op("tested_copy")
        for tool in ("check_layers", "check_style"):
            self.assertEqual(run(tool, self.root), (0, ""))
        if shutil.which("clang-format-14") or shutil.which("clang-format"):
            tool = shutil.which("clang-format-14") or "clang-format"
            sources = [str(path) for path in (self.root / "src/ops/tested_copy").rglob("*.*") if path.suffix not in (".md", ".txt")]
            result = subprocess.run([tool, "--dry-run", "-Werror", *sources], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipUnless(shutil.which("g++"), "needs g++")
    def test_the_scaffold_compiles(self):
        self.new_op("tested_copy")
        room = self.root / "src/ops/tested_copy"
        flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-DOPENACLNN_ISA_NAMESPACE=isa_baseline",
                 *(f"-I{self.root / folder}" for folder in ("src", "include", "tests"))]
        for source in ("op.cc", "cpu.cc", "tests/test.cc", "cuda.cu"):
            for_gpu = [f"-I{self.root / 'tests/cuda/simt'}", "-Wno-unknown-pragmas", "-x", "c++"] if source == "cuda.cu" else []
            result = subprocess.run(["g++", *flags, *for_gpu, str(room / source)], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
        result = subprocess.run(["gcc", "-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{self.root / 'include'}",
                                 "-x", "c", str(self.root / "include/aclnnop/aclnn_tested_copy.h")], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_scaffold_admits_that_it_is_unfinished(self):
        self.new_op("tested_copy")
        self.assertIn("is not written", (self.root / "src/ops/tested_copy/cpu.cc").read_text())
        self.assertIn("the kernel of aclnnTestedCopy is not written", (self.root / "src/ops/tested_copy/tests/test.cc").read_text())


if __name__ == "__main__":
    unittest.main()
