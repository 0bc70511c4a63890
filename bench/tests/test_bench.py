# Gives the benchmark's driver made-up times and expects certain statistics, tables and verdicts.
"""usage: test_bench.py MOCK_LIBRARY [unittest arguments]

Needs neither PyTorch nor matplotlib; the mock library is bench/tests/mock.c.
"""
import contextlib
import csv
import ctypes.util
import dataclasses
import importlib.util
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

from made_up import record  # first: it finds the modules of bench/

import bench
import goals
import history
import latency
import machine
import publish
import quiet
import regimes
import report
import rounds
import summary

MOCK = ""  # path of the mock library


class Statistics(unittest.TestCase):
    def test_quartiles_are_interpolated(self):
        self.assertEqual(summary.summarize([4, 1, 3, 2, 5]), summary.Summary(3, 2, 4))
        self.assertEqual(summary.summarize([1, 2]), summary.Summary(1.5, 1.25, 1.75))

    def test_one_value_is_its_own_summary(self):
        self.assertEqual(summary.summarize([7.0]), summary.Summary(7.0, 7.0, 7.0))

    def test_ratios_are_paired_by_round(self):
        # The machine became ten times slower in the second round: the ratio must not change.
        self.assertEqual(summary.paired_ratio([2, 20, 2], [1, 10, 1]), summary.Summary(2, 2, 2))

    def test_rounds_that_one_did_not_join_do_not_count(self):
        self.assertEqual(summary.paired_ratio([6, None, 6], [2, 1, 2]).median, 3)
        self.assertIsNone(summary.paired_ratio([None], [1]))

    def test_condensed_keeps_the_figures_of_reports(self):
        short = summary.condensed(record(peers=[("slow", (8, None, 12))]))
        self.assertEqual(summary.ratio_to_reference(short).median, 0.9)
        peer = summary.fastest_peer(short)
        self.assertEqual((peer["ratio"]["median"], peer["rounds"]), (5, 2))

    def test_fastest_peer_is_the_fastest_of_that_name(self):
        short = summary.condensed(record(peers=[("sum", (8, 8, 8)), ("index_add_", (3, 3, 3))]))
        self.assertEqual(summary.fastest_peer(short)["name"], "index_add_")
        self.assertEqual(summary.fastest_peer(short, "sum")["name"], "sum")
        self.assertIsNone(summary.fastest_peer(short, "segment"))


class Rounds(unittest.TestCase):
    def contestant(self, name, seconds, log):
        def run(calls):
            log.append(name)
            return seconds * calls

        return rounds.Contestant(name, "ours", run)

    def test_each_takes_its_turn_in_every_round_and_the_order_rotates(self):
        log = []
        contestants = [self.contestant(name, 0.01, log) for name in "abc"]
        rounds.take_turns(contestants, 3)
        del log[:len(log) - 5 * 3]  # drops the calls of the preparation
        self.assertEqual("".join(log), "bca" + "cab" + "abc" + "bca" + "cab")
        self.assertEqual([len(c.seconds) for c in contestants], [3, 3, 3])

    def test_short_calls_are_measured_many_at_a_time(self):
        contestant = self.contestant("a", 1e-6, [])
        rounds.take_turns([contestant], 2)
        self.assertGreaterEqual(contestant.calls * 1e-6, rounds.LEAST_SECONDS / 2)
        self.assertAlmostEqual(contestant.seconds[0], 1e-6)

    def test_a_slow_first_call_does_not_pass_for_a_long_one(self):
        seconds = iter([1.0])
        contestant = rounds.Contestant("a", "ours", lambda calls: next(seconds, 1e-6 * calls))
        contestant.prepare()
        self.assertGreaterEqual(contestant.calls * 1e-6, rounds.LEAST_SECONDS / 2)
        self.assertEqual(contestant.every, 1)

    def test_an_interruption_while_calls_are_counted_does_not_either(self):
        seconds = iter([1e-6, 1.0])
        contestant = rounds.Contestant("a", "ours", lambda calls: next(seconds, 1e-6 * calls))
        contestant.prepare()
        self.assertGreaterEqual(contestant.calls * 1e-6, rounds.LEAST_SECONDS / 2)

    def test_slow_contestants_join_every_third_round(self):
        contestant = self.contestant("a", 1.0, [])
        rounds.take_turns([contestant], 7)
        self.assertEqual(contestant.seconds, [1.0, None, None, 1.0, None, None, 1.0])


    def test_each_round_lies_between_two_probes(self):
        numbers = iter(range(100))
        with mock.patch.object(rounds, "seconds_waited", lambda: 0):  # else a busy machine repeats probes
            probes = rounds.take_turns([self.contestant("a", 0.01, [])], 3, probe=lambda: next(numbers))
        self.assertEqual(probes, [[0, 1], [1, 2], [2, 3]])

    def test_a_disturbed_probe_is_repeated(self):
        waited, values = iter([0, 9, 9, 9]), iter("ab")
        with mock.patch.object(rounds, "seconds_waited", lambda: next(waited)):
            self.assertEqual(rounds.undisturbed(lambda: next(values)), "b")
        waited = iter(range(100))
        with mock.patch.object(rounds, "seconds_waited", lambda: next(waited)):
            self.assertIsNone(rounds.undisturbed(lambda: "a"))


class Latency(unittest.TestCase):
    def program(self, folder, frees, status=0):
        path = pathlib.Path(folder) / "openaclnn_latency"
        path.write_text("#!/bin/sh\necho 'us of a tiny call beside'\n"
                        f"for f in frees_us:5 frees_quietest_beyond_idle_us:{frees} small_pages_quietest_beyond_idle_us:-3 freed_mib:64\n"
                        f"do echo figure ${{f%:*}} ${{f#*:}}\ndone\nexit {status}\n")
        path.chmod(0o755)
        return path

    def test_frees_are_judged_beyond_idle(self):
        with tempfile.TemporaryDirectory() as folder:
            for frees, met in ((199.5, True), (-20, True), (40000, False)):
                lines, good = latency.report(self.program(folder, frees))
                self.assertEqual(good, met)
                self.assertIn("us of a tiny call beside", lines)
                self.assertRegex(lines[-1], f"^free while computing: .* frees 64 MiB.*: {'met' if met else 'missed'}$")

    def test_a_missing_program_is_named_with_its_target(self):
        with tempfile.TemporaryDirectory() as folder:
            latency.require(self.program(folder, 1))
            with self.assertRaisesRegex(ValueError, "/none is not built: .* target openaclnn_latency"):
                latency.require(pathlib.Path(folder) / "none")

    def test_a_program_that_fails_gives_no_verdict(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "gave no latencies"):
                latency.report(self.program(folder, 1, status=2))


class Table(unittest.TestCase):
    def test_times_have_three_digits_and_a_unit(self):
        self.assertEqual([report.time_text(s) for s in (1.5, 0.0123, 2.5e-6, 4e-7)],
                         ["1.5 s", "12.3 ms", "2.5 µs", "400 ns"])

    def test_lines_name_all_contestants(self):
        entry = record(peers=[("sum", (8, 8, 8)), ("index_add_", (3, 3, 3))], reference=(1.8, 1.8, 1.8))
        entry["skipped"].append({"name": "segment_reduce", "reason": "not implemented"})
        text = "\n".join(report.table([summary.condensed(entry)]))
        self.assertRegex(text, r"A/f32/memory +1 +avx2 +2 s +2\.0 +2\.2 +0\.90 +\[0\.90 0\.90\]")
        self.assertRegex(text, r" sum +8 s +0\.5 +ours is 4\.00x as fast .*off by 4\.0%")
        self.assertRegex(text, r"\*index_add_ +3 s")
        self.assertRegex(text, r"segment_reduce +skipped +not implemented")

    def test_failures_are_shown(self):
        failed = {"workload": {"name": "A"}, "isa": "avx2", "threads": 2, "failed": "the worker ended with status -11"}
        self.assertRegex("\n".join(report.table([summary.condensed(failed)])), r"A +2 +avx2 +failed +.*status -11")


class Plot(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_a_picture_is_drawn(self):
        import plot
        records = [record(dtype="f32", size="memory", peers=[("slow", (8, 8, 8))]), record("A/f32/L1", size="L1")]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plot.png"
            plot.draw(path, machine.describe(), [summary.condensed(r) for r in records])
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")


class CommandLine(unittest.TestCase):
    """Tests the whole driver, with workers that load the mock library."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.isa = machine.instruction_sets()[0]

    def run_bench(self, *arguments, **environment):
        out, error = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = bench.main(["--library", MOCK, "--no-peers", "--isa", self.isa, "--threads", "1", "--rounds", "4", *arguments])
        return status, out.getvalue() + error.getvalue()

    def test_table(self):
        status, text = self.run_bench()
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"ApplyFusedEmaAdam; reference: 5 reads, 4 writes in place")
        self.assertRegex(text, rf"ApplyFusedEmaAdam/f32/memory +1 +{self.isa} +10\.\d ms .* 0\.9\d")
        self.assertRegex(text, r"Overhead/f32/phase1 .* 40\d ns")

    def test_a_missing_latency_program_is_refused_before_anything_is_measured(self):
        with mock.patch.object(bench, "LIBRARY", MOCK), mock.patch.object(latency, "program_beside", lambda library: self.folder / "none"):
            for arguments in ([], ["--goals"]):
                status, text = self.run_bench(*arguments)
                self.assertEqual(status, 2, text)
                self.assertRegex(text, "none is not built")
                self.assertNotIn("ApplyFusedEmaAdam", text)

    def test_the_report_names_the_regime_of_its_rounds(self):
        self.assertRegex(self.run_bench()[1], r"\n *regime fast: \d+ cores read \d+ GB/s(.|\n)*ApplyFusedEmaAdam/f32/memory .*\] fast 4\n")
        with mock.patch.object(machine, "cores", lambda: 2):
            self.assertRegex(self.run_bench(BENCH_MOCK_TOGETHER="50e9")[1], r"ApplyFusedEmaAdam/f32/memory .*\] slow 4\n")

    def test_a_quiet_machine_can_be_required(self):
        with mock.patch.object(quiet, "check", lambda cores: (False, "machine: not quiet")):
            self.assertEqual(self.run_bench()[0], 0)
            status, text = self.run_bench("--require-quiet")
        self.assertEqual((status, text.splitlines()[0]), (2, "machine: not quiet"))
        with mock.patch.object(quiet, "check", lambda cores: (True, "machine: quiet")):
            self.assertEqual(self.run_bench("--require-quiet")[0], 0)

    def test_filter_and_list(self):
        self.assertEqual(self.run_bench("--filter", "skewed|phase1", "--list"),
                         (0, "GroupedBiasAddGrad/f32/memory/skewed\nOverhead/f32/phase1\n"))
        status, text = self.run_bench("--filter", "nothing")
        self.assertEqual((status, text), (2, "no workload's name contains a match of nothing\n"))

    def test_unknown_instruction_sets_are_refused(self):
        with self.assertRaises(SystemExit) as end:
            self.run_bench("--isa", "mmx")
        self.assertEqual(end.exception.code, 2)

    def test_other_libraries_are_refused(self):
        for path, words in (("/nowhere/lib.so", "cannot open"), (ctypes.util.find_library("m"), "bench_workloads")):
            with self.assertRaisesRegex(SystemExit, f"--library: .* isn't a libopenaclnn_bench.so: .*{words}"):
                self.run_bench("--library", path)

    def test_against(self):
        old = str(self.folder / "old.json")
        self.assertEqual(self.run_bench("--json", old)[0], 0)
        status, text = self.run_bench("--against", old)
        self.assertEqual(status, 0, text)
        self.assertIn("3 ratios compared, 0 regressions", text)
        status, text = self.run_bench("--against", old, BENCH_MOCK_SLOWER="1.2")
        self.assertEqual(status, 1)
        self.assertIn("3 ratios compared, 3 regressions", text)

    def test_a_file_of_another_kind_is_refused_before_anything_is_measured(self):
        other = self.folder / "other.json"
        other.write_text("[]")
        status, text = self.run_bench("--against", str(other))
        self.assertEqual(status, 2)
        self.assertRegex(text, r"^bench: .*other\.json isn't a result of")

    def test_csv_has_a_line_for_each_contestant(self):
        path = self.folder / "out.csv"
        self.run_bench("--csv", str(path))
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 7)
        self.assertEqual({row["kind"] for row in rows}, {"ours", "reference"})
        self.assertEqual(rows[0]["ratio_median"], "")
        self.assertAlmostEqual(float(rows[1]["ratio_median"]), 0.9, delta=0.02)

    def test_save_writes_three_files(self):
        with mock.patch.object(bench, "RESULTS", self.folder / "results"):
            self.run_bench("--save", "mock")
        names = sorted(path.name for path in (self.folder / "results").iterdir())
        self.assertEqual([re.sub(r"^\d{4}-\d\d-\d\d", "DATE", name) for name in names],
                         ["DATE-mock.csv", "DATE-mock.json", "DATE-mock.md"])
        saved = json.loads((self.folder / "results" / names[1]).read_text())
        self.assertEqual(saved["machine"]["cores"], machine.cores())

    def test_places_that_cannot_be_written_are_refused_before_anything_is_measured(self):
        for option, value in (("--save", "a/b"), ("--publish", ""), ("--json", str(self.folder / "none/out.json"))):
            error = io.StringIO()
            with self.subTest(option), contextlib.redirect_stderr(error), self.assertRaises(SystemExit):
                bench.parse([option, value])
            self.assertIn(option, error.getvalue().splitlines()[-1])

    def test_a_run_without_valid_probes_is_kept_and_not_published(self):
        rows = [goals.Goal("ApplyFusedEmaAdam", "ratio", 0.5, threads=1)]
        with mock.patch.object(bench, "RESULTS", self.folder), mock.patch.object(goals, "GOALS", rows), \
                mock.patch.object(regimes.Regimes, "of_rounds", lambda self, record: ["unknown"] * 4), \
                mock.patch.object(publish, "renew", mock.Mock(side_effect=AssertionError)), \
                mock.patch.object(history, "append", mock.Mock(side_effect=AssertionError)):
            status, text = self.run_bench("--publish")
        self.assertEqual(status, 1, text)
        self.assertIn("The pages are as before", text)
        self.assertTrue(list(self.folder.glob("*-speed.json")))

    def test_publishing_keeps_the_run_and_renews_the_pages(self):
        renewed, kept = [], []
        rows = [goals.Goal("ApplyFusedEmaAdam", "ratio", 0.5, threads=1)]
        with mock.patch.object(bench, "RESULTS", self.folder), mock.patch.object(goals, "GOALS", rows), \
                mock.patch.object(publish, "renew", lambda path: renewed.append(json.loads(pathlib.Path(path).read_text())) or []), \
                mock.patch.object(history, "append", lambda run: kept.append(run.content) or machine.ROOT / history.HISTORY):
            status, text = self.run_bench("--publish")
        self.assertEqual(status, 0, text)
        self.assertEqual(kept, renewed)
        self.assertIn("wrote bench/history/runs.jsonl", text)
        self.assertEqual([(goal["status"], goal["rounds"]) for goal in renewed[0]["goals"]], [("met", "fast 4")])
        self.assertEqual(renewed[0]["records"][0]["regimes"], ["fast"] * 4)
        self.assertRegex(renewed[0]["machine"]["quiet"], "^machine: ")

    def test_sizes_that_grow_are_measured_only_if_asked_for(self):
        self.assertNotIn("/growth/", self.run_bench("--list")[1])
        self.assertIn("ApplyFusedEmaAdam/f32/growth/16\n", self.run_bench("--growth", "--list")[1])
        with mock.patch.object(bench, "RESULTS", self.folder), mock.patch.object(publish, "draw_growth", lambda path: None), \
                mock.patch.object(machine, "cores", lambda: 2):
            status, text = self.run_bench("--growth")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"ApplyFusedEmaAdam, f32: 16 to 16 elements, [\d.]+ ms to [\d.]+ ms: no jump")
        self.assertEqual({path.suffix for path in self.folder.glob("*growth*")}, {".json", ".csv", ".md"})

    def test_a_crash_costs_one_workload_only(self):
        status, text = self.run_bench(BENCH_MOCK_CRASH="skewed")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"skewed .*failed .*the worker ended with status -6")
        self.assertRegex(text, r"Overhead/f32/phase1 .* 40\d ns")

    def test_a_crash_between_rounds_of_two_configurations_is_reported(self):
        once = self.folder / "once"
        once.touch()
        rows = [goals.Goal("ApplyFusedEmaAdam", "scaling", 1.8)]
        with mock.patch.object(goals, "GOALS", rows), mock.patch.object(machine, "cores", lambda: 2):
            status, text = self.run_bench("--goals", BENCH_MOCK_CRASH="EmaAdam", BENCH_MOCK_CRASH_ONCE=str(once))
            self.assertEqual(status, 1)
            self.assertRegex(text, r"failed +ApplyFusedEmaAdam/f32/memory: the worker ended")
            status, text = self.run_bench("--goals")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"1 to 2 threads +2\.\d+ +>= 1\.80 +1\d\d% +met +fast 6")

    def test_goals(self):
        rows = [goals.Goal("ApplyFusedEmaAdam", "ratio", 0.5), goals.Goal("Overhead", "seconds", 2e-7, size="phase1"),
                goals.Goal("GroupedBiasAddGrad", "skew", 1.5, variants=("skewed",), against="uniform")]
        rows = [dataclasses.replace(row, threads=1) for row in rows]
        with mock.patch.object(goals, "GOALS", rows):
            status, text = self.run_bench("--goals")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"Adam, 1 thread best, ratio to the reference +0\.(89|9\d) +>= 0\.50 +1[78]\d% +met")
        self.assertRegex(text, r"Overhead, phase1, time of a call +40\d ns +<= 200 ns +\d\d% +missed")
        self.assertRegex(text, r"time against uniform +1\.2\d +<= 1\.50 +1\d\d% +met")
        self.assertIn("2 of 3 goals met", text)


if __name__ == "__main__":
    MOCK = sys.argv.pop(1)
    unittest.main()
