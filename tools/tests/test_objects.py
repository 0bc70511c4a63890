# Tests tools/check_objects on small objects that leak a symbol, or have a flaw of the compiler.
import shutil
import subprocess
import unittest

from test_tools import TreeTest, run


@unittest.skipUnless(shutil.which("g++") and shutil.which("nm"), "needs g++ and nm")
class CheckObjects(TreeTest):
    def compile(self, target, text):
        source = self.write("a.cc", text)
        folder = self.root / "src" / "CMakeFiles" / f"{target}.dir"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-O0", "-c", str(source), "-o", str(folder / "a.cc.o")], check=True)

    def test_no_objects_is_an_error(self):
        self.assertEqual(run("check_objects", self.root)[0], 2)

    KERNEL = "namespace openaclnn { struct TaskIo; namespace isa_avx2 { int run_sum(const void*, const TaskIo&) { return 0; } } }\n"

    def expect(self, isa, text, *sentences, kind="kernels"):
        self.compile(f"openaclnn_{kind}_{isa}", text)
        code, output = run("check_objects", self.root)
        self.assertEqual(code, 1 if sentences else 0, output)
        for sentence in sentences:
            self.assertIn(sentence, output)

    def test_one_kernel_and_own_helpers_pass(self):
        self.expect("avx2", self.KERNEL + "namespace openaclnn::isa_avx2 { inline int f() { return 1; } static int g() { return f(); } int (*h)() = g; }",
                    "exports openaclnn::isa_avx2::h")
        self.expect("avx2", self.KERNEL.replace("return 0", "return f()").replace("int run", "inline int f() { return 1; } int run"))

    def test_template_of_std_leaks(self):
        self.expect("avx2", "#include <algorithm>\n" + self.KERNEL.replace("return 0", "return std::max(1, 0)"), "weak symbol outside isa_avx2: int const& std::max<int>")

    def test_namespace_of_another_set_leaks(self):
        self.expect("avx512", self.KERNEL.replace("return 0", "return f()").replace("int run", "inline int f() { return 1; } int run"),
                    "weak symbol outside isa_avx512", "run_sum(void const*, openaclnn::TaskIo const&), which isn't a kernel run_<room>() of isa_avx512")

    def test_functions_of_vectors_are_inlined(self):
        strip = "template <int k> struct PairStrip { float pair[k]; PairStrip() { for (float& x : pair) x = 0; } }; "
        kernel = self.KERNEL.replace("return 0", "return static_cast<int>(PairStrip<4>().pair[0])").replace("int run", strip + "int run")
        self.expect("avx2", kernel, "isn't inlined: openaclnn::isa_avx2::PairStrip<4>::PairStrip()")

    def test_nothing_is_cleared_with_rep(self):
        self.expect("avx2", self.KERNEL.replace("return 0", "volatile char all[400] = {}; return all[0]"), "clears or copies 1 times with rep")

    def test_goldens_have_kernels_of_their_own(self):
        self.expect("avx2", "namespace openaclnn_verify::isa_avx2 { bool compute_sum_tile(int) { return true; } }\n", kind="goldens")
        self.expect("avx2", self.KERNEL, "which isn't a kernel compute_<name>_tile() of isa_avx2", kind="goldens")

    def test_two_kernels_or_none(self):
        self.expect("avx2", self.KERNEL + self.KERNEL.replace("run_sum", "run_mean"), "exports 2 symbols; one kernel is expected")
        self.expect("avx2", "namespace { int f() { return 1; } int (*g)() = f; }", "exports 0 symbols")


if __name__ == "__main__":
    unittest.main()
