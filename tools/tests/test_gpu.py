# Runs tools/gpu in a small tree with made-up programs: each problem becomes an error message, and the remaining tests run.
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
LISTING = 'Running main() from main.cc\\nRooms/Device.\\n  Follows/One  # GetParam() = "One"\\n  Follows/Two  # GetParam() = "Two"\\nOther.\\n  Three\\n'
# A GoogleTest program: {what} goes before the tests that pass.
TESTS = """#!/bin/sh
case $1 in
  --gtest_list_tests) printf '{listing}' ;;
  {what}
  *) echo "passed $1 $OPENACLNN_TEST_GOLDEN $LD_LIBRARY_PATH $OPENACLNN_ALLOCATOR" ;;
esac
"""
HANGS = "--gtest_filter=*Two) sleep 300 & echo $! >{root}/child; wait ;;"
COPY = '{"operator": "copy", "case": "", "dtype": "", "bytes": 3000000, "microseconds": 1.0}'
WRITE = '{"operator": "write", "case": "", "dtype": "", "bytes": 1500000, "microseconds": 1.0}'
ADAM = '{"operator": "ApplyFusedEmaAdam", "case": "64 Mi elements", "dtype": "fp32", "bytes": 2970000, "microseconds": 1.0}'


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        for tool in ("gpu", "gpu_run.py", "gpu_report.py"):
            shutil.copy(TOOLS / tool, self.root / "tools")
        self.stub("path/nvidia-smi", "#!/bin/sh\necho GPU 0: a made-up one\n")
        self.stub("path/compute-sanitizer", "#!/bin/sh\necho Device not supported\nexit 1\n")
        self.stub("path/cmake", "#!/bin/sh\necho hwy was not found\nexit 1\n")
        for library in ("torch", "cupy"):
            self.stub(f"modules/{library}.py", f"raise ImportError('no {library} here')\n")

    def stub(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def carry(self, **what):
        """Puts programs into build/cuda, as from another machine, with the given behaviour of one program's tests."""
        for name in ("libopenaclnn.so.1", "libopenaclnn_cuda.so"):
            self.stub(f"build/cuda/lib/{name}", "")
        for name in ("cuda_gpu_test", "cases_test", "layouts_test"):
            self.stub(f"build/cuda/bin/{name}", TESTS.format(listing=LISTING, what=what.get(name, "").format(root=self.root)))
        self.stub("build/cuda/bin/openaclnn_gpu_bench", f"#!/bin/sh\necho '{COPY}'\necho '{ADAM}'\n")

    def command(self, *arguments):
        return [sys.executable, "-B", str(self.root / "tools/gpu"), "--out", str(self.root / "out"), *arguments]

    def environment(self):
        return {**os.environ, "PATH": f"{self.root / 'path'}:/usr/bin:/bin", "PYTHONPATH": str(self.root / "modules")}

    def gpu(self, *arguments):
        done = subprocess.run(self.command(*arguments), env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=50)
        self.assertNotIn("gpu_run.py", done.stdout, "it ended by an exception")
        return done.returncode, done.stdout

    def log(self, step):
        return (self.root / "out" / f"{step}.log").read_text()

    def expect_no_child(self):
        pid = int((self.root / "child").read_text())
        for _ in range(200):  # a killed process of a busy machine takes its time
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2]
            except OSError:
                return
            if state == "Z":
                return
            time.sleep(0.05)
        self.fail(f"what the program started lives on, in state {state}")

    def test_without_a_gpu(self):
        self.stub("path/nvidia-smi", "#!/bin/sh\necho No devices were found\nexit 6\n")
        self.assertEqual(self.gpu(), (2, "gpu: no GPU: nvidia-smi -L said 'No devices were found'\n"))
        self.assertFalse((self.root / "out").exists())

    def test_a_failed_build_without_programs(self):
        code, output = self.gpu()
        self.assertEqual(code, 1)
        self.assertIn("configure failed (exit code 1), build.log\n```\nhwy was not found\n```\n", output)
        self.assertIn("build/cuda has no lib/libopenaclnn.so.1 and no lib/libopenaclnn_cuda.so from another machine", output)
        self.assertNotIn("cases", output)

    def test_a_failed_build_with_programs_from_elsewhere(self):
        self.carry()
        code, output = self.gpu()
        self.assertEqual(code, 0, output)
        self.assertIn("using existing programs in build/cuda: lib/libopenaclnn.so.1 of 2", output)
        for name in ("cases", "cases_test", "layouts_test"):
            self.assertIn(f"{name}: 3 of 3 tests passed in", output)
        self.assertIn("| ApplyFusedEmaAdam | 64 Mi elements | fp32 | 1.0 | 0.99 | 0.97 | met |", output)
        self.assertIn("PyTorch's part of the goals was not measured: ImportError: no torch here", output)
        self.assertIn("python: not run, it needs PyTorch or CuPy with a GPU: ImportError: no torch here; ImportError: no cupy here", output)
        self.assertIn("compute-sanitizer does not work on this machine: its checks were not run (exit code 1)", output)
        self.assertIn(f"passed --gtest_filter=Rooms/Device.Follows/One {self.root}/src/ops {self.root}/build/cuda/lib", self.log("cases"))
        files = list((self.root / "out").iterdir())
        self.assertLessEqual(len(files), 8, "few files, since some machines give back no more")
        self.assertEqual((self.root / "out/summary.md").read_text(), output)

    def test_a_tree_that_was_moved_is_configured_afresh(self):
        self.carry()
        self.stub("build/cuda/CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
        self.stub("build/cuda/build.ninja", "")
        self.stub("path/cmake", "#!/bin/sh\necho \"$@\"\n")
        code, output = self.gpu("--only", "build")
        self.assertEqual(code, 0, output)
        self.assertIn("--preset cuda -DOPENACLNN_WERROR=OFF --fresh\n", self.log("build"))

    def test_missing_programs(self):
        self.carry()
        for name in ("bin/cuda_gpu_test", "bin/openaclnn_gpu_bench"):
            (self.root / "build/cuda" / name).unlink()
        (self.root / "path/cmake").unlink()
        self.stub("build/cuda/bin/layouts_test", "no program")
        (self.root / "build/cuda/bin/layouts_test").chmod(0o644)
        code, output = self.gpu("--only", "cases,speed,suites,sanitizer")
        self.assertEqual(code, 1)
        self.assertIn(f"cases: FAILED, it does not list its tests (No such file or directory: {self.root}/build/cuda/bin/cuda_gpu_test)", output)
        self.assertIn(f"speed: FAILED (No such file or directory: {self.root}/build/cuda/bin/openaclnn_gpu_bench)", output)
        self.assertIn("speed: the bench did not get as far as its first figure", output)
        self.assertIn("cases_test: 3 of 3 tests passed", output)
        self.assertIn("layouts_test: FAILED, it does not list its tests (Permission denied: ", output)

    def test_a_crash_leaves_the_other_tests(self):
        self.carry(cuda_gpu_test="--gtest_filter=*One) echo the device is lost; kill -ABRT $$ ;;")
        code, output = self.gpu("--only", "cases,suites")
        self.assertEqual(code, 1)
        self.assertIn("cases: 2 of 3 tests passed", output)
        self.assertIn("cases: Rooms/Device.Follows/One FAILED (killed by SIGABRT)\n```\nthe device is lost\n```\n", output)
        self.assertIn("cases_test: 3 of 3 tests passed", output)

    def test_what_hangs_is_killed_with_its_children(self):
        self.carry(cuda_gpu_test=HANGS)
        code, output = self.gpu("--only", "cases,suites", "--minutes", "0.15")
        self.assertEqual(code, 1)
        self.assertIn("cases: not finished in the time for it: Rooms/Device.Follows/Two\n", output)
        self.assertIn("cases: 2 of 3 tests passed", output)
        self.expect_no_child()

    def test_an_end_from_outside_leaves_the_summary_and_no_child(self):
        self.carry(layouts_test=HANGS)
        process = subprocess.Popen(self.command("--only", "suites"), env=self.environment(), stdout=subprocess.DEVNULL)
        for _ in range(600):
            if (self.root / "child").exists() and (self.root / "child").read_text():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 143)
        self.assertIn("cases_test: 3 of 3 tests passed", (self.root / "out/summary.md").read_text())
        self.expect_no_child()

    def test_what_starts_during_an_end_from_outside_is_killed(self):
        sys.path.insert(0, str(TOOLS))
        self.addCleanup(sys.path.remove, str(TOOLS))
        from gpu_run import Run
        run = Run(self.root, 9, os.environ["PATH"])
        run.kill_all()
        begin = time.monotonic()
        self.assertEqual(run.execute("log", ["sleep", "60"], 30).why, "killed by SIGKILL")
        self.assertLess(time.monotonic() - begin, 15)

    def test_time_that_is_used_up(self):
        self.carry()
        code, output = self.gpu("--minutes", "0.01")
        self.assertEqual(code, 1)
        self.assertIn("configure failed (the time is used up (--minutes))", output)
        self.assertIn("cases: FAILED, it does not list its tests (the time is used up (--minutes))", output)

    def test_a_bench_that_ends_half_way_has_its_rows_told(self):
        self.carry()
        self.stub("build/cuda/bin/openaclnn_gpu_bench", f"#!/bin/sh\necho '{COPY}'\necho '{WRITE}'\necho '{ADAM}'\nprintf '{ADAM[:40]}'\nkill -SEGV $$\n")
        code, output = self.gpu("--only", "speed")
        self.assertEqual(code, 1)
        self.assertIn("speed: FAILED (killed by SIGSEGV)", output)
        self.assertEqual(output.count("| 64 Mi elements |"), 1)
        self.assertIn("write alone: 1500 GB/s", output)
        self.assertIn("PyTorch's part of the goals was not measured: the bench did not end well", output)

    def test_sanitizers_watch_one_test_at_a_time_with_exact_blocks(self):
        self.carry()
        self.stub("path/compute-sanitizer", "#!/bin/sh\necho \"watched $@\"\n"
                  "case \"$@\" in *racecheck*Two*) echo hazard; exit 9 ;; esac\nfor last; do :; done\nexec $OLD_PROGRAM \"${last}\"\n".replace(
                      "$OLD_PROGRAM", str(self.root / "build/cuda/bin/cuda_gpu_test")))
        code, output = self.gpu("--only", "sanitizer")
        self.assertEqual(code, 1)
        self.assertIn("memcheck: 3 of 3 tests passed", output)
        self.assertIn("racecheck: 2 of 3 tests passed", output)
        self.assertIn("racecheck: Rooms/Device.Follows/Two FAILED (exit code 9)", output)
        self.assertIn("synccheck: 3 of 3 tests passed", output)
        self.assertIn("--tool memcheck --report-api-errors no --error-exitcode 9", self.log("sanitizer"))
        self.assertIn(f"{self.root}/build/cuda/lib guard\n", self.log("sanitizer"))

    def test_the_package_computes_on_the_gpu_where_it_can_be_imported(self):
        self.carry()
        self.stub("modules/torch.py", "class cuda:\n    is_available = staticmethod(lambda: True)\n")
        self.stub("build/cuda/python/openaclnn/__init__.py", "")
        self.stub("python/tests/fake_gpu.py", "import os\ndef compare(*arguments):\n    print(*arguments, os.environ['OPENACLNN_DEVICE'])\n")
        code, output = self.gpu("--only", "python")
        self.assertEqual(code, 0, output)
        self.assertIn(f"torch with {self.root}/build/cuda/python/openaclnn: passed", output)
        self.assertIn(f"real-torch {self.root}/build/cuda/lib/libopenaclnn_cuda.so ", self.log("python"))
        self.assertTrue(self.log("python").endswith("/results.npz cpu\n"))
        self.stub("python/tests/fake_gpu.py", "def compare(*arguments):\n    assert False, 'weight_grad'\n")
        code, output = self.gpu("--only", "python")
        self.assertEqual(code, 1)
        self.assertIn(": FAILED (exit code 1), python.log\n```\n", output)

    def test_offloaded_state(self):
        self.carry()
        self.stub("modules/torch.py", "class cuda:\n    is_available = staticmethod(lambda: True)\n")
        self.stub("build/cuda/python/openaclnn/__init__.py", "")
        self.stub("python/tests/gpu_offload.py", "import os\nprint('same bits', os.environ['OPENACLNN_DEVICE'])\n")
        self.stub("bench/gpu/offload.py", "print('| 16384 | no step |')\n")
        code, output = self.gpu("--only", "offload")
        self.assertEqual(code, 0, output)
        self.assertIn("bits of offloaded state: passed", output)
        self.assertIn("| 16384 | no step |\n", output)
        self.assertIn("same bits cuda\n", self.log("python"))
        self.stub("python/tests/gpu_offload.py", "raise SystemExit('OTHER BITS')\n")
        code, output = self.gpu("--only", "offload")
        self.assertEqual(code, 1)
        self.assertIn("bits of offloaded state: FAILED (exit code 1), python.log\n```\nOTHER BITS\n", output)

    def test_a_package_for_another_python_is_no_failure(self):
        self.carry()
        self.stub("modules/cupy.py", "class zeros:\n    __init__ = get = lambda *arguments: None\n")
        self.stub("build/cuda/python/openaclnn/__init__.py", "raise ImportError('no module named openaclnn._native')\n")
        self.stub("modules/nanobind.py", "raise SystemExit(1)\n")
        code, output = self.gpu("--only", "python")
        self.assertEqual(code, 0, output)
        self.assertIn(f"python: not run, the package openaclnn cannot be imported by {sys.executable} "
                      "(ImportError: no module named openaclnn._native), nor built: nanobind isn't installed", output)


if __name__ == "__main__":
    unittest.main()
