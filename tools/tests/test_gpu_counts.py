# Tests of ./dev gpu --counts with a made-up bench that prints the lines each test needs.
"""usage: test_gpu_counts.py"""
import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "gpu_counts"


def kernel(**counts):
    line = {"kernel": "void sum<4>", "instructions": 0, "reads": 0, "distinct_reads": 0, "writes": 0, "distinct_writes": 0,
            "shared_turns": 0, "least_shared_turns": 0}
    return {**line, **counts}


def case(name="GroupedBiasAddGrad", dtype="fp32", sectors=1000):
    return {"operator": name, "case": "a case", "dtype": dtype, "bytes": 32 * sectors, "workspace": 0, "microseconds": 1}


class GpuCounts(unittest.TestCase):
    def run_tool(self, lines, *arguments, status=0):
        with tempfile.TemporaryDirectory() as folder:
            bench = pathlib.Path(folder) / "bin/openaclnn_gpu_bench"
            bench.parent.mkdir()
            text = "\n".join(json.dumps(line) for line in lines)
            bench.write_text(f"#!/bin/sh\necho \"$@\" >{folder}/arguments\ncat <<'END'\n{text}\nEND\nexit {status}\n")
            bench.chmod(bench.stat().st_mode | stat.S_IXUSR)
            done = subprocess.run([sys.executable, TOOL, "--build", folder, *arguments], capture_output=True, text=True)
            return done, (pathlib.Path(folder) / "arguments").read_text().split()

    def test_a_case_has_the_sums_of_its_kernels(self):
        lines = [kernel(instructions=1500, distinct_reads=600, reads=900, shared_turns=30, least_shared_turns=10),
                 kernel(instructions=500, distinct_writes=400, writes=600), case(),
                 kernel(instructions=3000, distinct_reads=1000, reads=1000), case(dtype="bf16")]
        done, _ = self.run_tool(lines)
        rows = [line.split() for line in done.stdout.splitlines() if "a case" in line]
        self.assertEqual(rows[0][-5:], ["1.00", "1.50", "2.00", "0.03", "3.00"])
        self.assertEqual(rows[1][-5:], ["1.00", "1.00", "3.00", "0.00", "1.00"])
        self.assertEqual(done.returncode, 0)

    def test_rows_of_memory_alone_are_no_cases(self):
        done, _ = self.run_tool([case("copy"), kernel(instructions=1000), case()])
        self.assertNotIn("copy", done.stdout)

    def test_kernels_are_listed_when_asked_for(self):
        lines = [kernel(instructions=1000), case()]
        self.assertNotIn("sum<4>", self.run_tool(lines)[0].stdout)
        self.assertIn("    void sum<4>", self.run_tool(lines, "--kernels")[0].stdout)

    def test_judging_takes_its_own_divisor(self):
        _, arguments = self.run_tool([kernel(), case()], "--judge", "--only", "Grouped")
        self.assertEqual(arguments, ["16", "1", "Grouped"])

    def test_a_bound_that_is_exceeded_is_told(self):
        good = kernel(instructions=1000, distinct_reads=1000, reads=1000)
        done, _ = self.run_tool([good, case()], "--judge")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 cases, 0 bounds exceeded"))
        done, _ = self.run_tool([{**good, "distinct_reads": 2000}, case()], "--judge")
        self.assertEqual(done.returncode, 1)
        self.assertIn("GroupedBiasAddGrad, a case, fp32: moved 2.00, and 1.02 is the most", done.stdout)

    def test_no_case_is_no_success(self):
        self.assertEqual(self.run_tool([], "--judge")[0].returncode, 1)

    def test_a_bench_that_fails_is_told(self):
        done, _ = self.run_tool([kernel(), case()], status=3)
        self.assertEqual((done.returncode, done.stderr.strip()), (1, "gpu_counts: the bench ended with 3"))


if __name__ == "__main__":
    unittest.main()
