# Gives comparisons and goals made-up measurements and expects certain verdicts.
import dataclasses
import pathlib
import tempfile
import unittest
from unittest import mock

from made_up import FakeWorkers, record

import against
import from_python
import goal_check
import goals
import library
import limits
import regimes
import summary


class Against(unittest.TestCase):
    def compare(self, old, new):
        return against.compare([summary.condensed(r) for r in old], [summary.condensed(r) for r in new])

    def test_a_loss_beyond_tolerance_and_spread_is_a_regression(self):
        lines, regressions = self.compare([record()], [record(ours=(2.4, 2.4, 2.4))])
        self.assertEqual(regressions, 1)
        self.assertIn("A/f32/memory, avx2, 1 threads: 0.75", lines[1])

    def test_small_losses_and_gains_are_none(self):
        self.assertEqual(self.compare([record()], [record(ours=(2.08, 2.08, 2.08))])[1], 0)
        self.assertEqual(self.compare([record()], [record(ours=(1.0, 1.0, 1.0))])[1], 0)

    def test_a_loss_within_the_spread_is_noise(self):
        self.assertEqual(self.compare([record()], [record(ours=(1.6, 2.4, 4.0))])[1], 0)

    def test_only_the_same_regime_is_compared(self):
        slow, fast = record(), record(ours=(9, 9, 9))
        slow["probes"], fast["probes"] = [[[50, 42], [50, 42]]] * 3, [[[105, 55], [105, 55]]] * 3
        slow, fast = (summary.condensed(r, regimes.Regimes.of([r], 2)) for r in (slow, fast))
        lines, regressions = against.compare([slow], [fast])
        self.assertEqual((lines[0], regressions), ("0 ratios compared, 0 regressions", 0))
        self.assertIn("1 ratios were measured in another regime", lines[1])
        self.assertEqual(against.compare([slow], [slow])[0][0], "1 ratios compared, 0 regressions")

    def test_only_the_same_configuration_is_compared(self):
        lines, regressions = self.compare([record()], [record(ours=(9, 9, 9), threads=2)])
        self.assertEqual((lines[0], regressions), ("0 ratios compared, 0 regressions", 0))

    def test_a_workload_that_fails_now_is_a_regression(self):
        failed = {"workload": {"name": "A/f32/memory"}, "isa": "avx2", "threads": 1, "failed": "it crashed"}
        self.assertEqual(self.compare([record()], [failed])[1], 1)


class Goals(unittest.TestCase):
    def setUp(self):
        self.workloads = [library.Workload("A/f32/memory", "A", "f32", "memory", "uniform"),
                          library.Workload("A/f32/memory/skewed", "A", "f32", "memory", "skewed"),
                          library.Workload("A/bf16/memory", "A", "bf16", "memory", "other")]
        self.workers = FakeWorkers({"A/f32/memory": 1.0, "A/f32/memory/skewed": 1.2})

    def verdict(self, *arguments, isas=("avx512", "avx2"), cores=2, **fields):
        data = goal_check.Measurements(self.workers, self.workloads, list(isas), cores, 3, lambda text: None)
        return goal_check.judge(goals.Goal("A", *arguments, **fields), data)

    def test_ratio(self):
        verdict = self.verdict("ratio", 0.75, dtypes=("f32",))
        self.assertAlmostEqual(verdict.measured, 0.9)
        self.assertAlmostEqual(verdict.share, 1.2)

    def test_times_are_at_most(self):
        verdict = self.verdict("seconds", 0.5, dtypes=("f32",), variants=("uniform",), threads=1)
        self.assertAlmostEqual(verdict.share, 0.5)
        self.assertEqual(goal_check.line_of(verdict)[1:6], ["1 s", "<= 500 ms", "50%", "missed", "unknown 3"])

    def test_a_row_is_as_good_as_its_worst_workload(self):
        verdict = self.verdict("seconds", 1.2, dtypes=("f32",), threads=1)
        self.assertEqual((verdict.workload, verdict.measured, verdict.share), ("A/f32/memory/skewed", 1.2, 1.0))

    def test_skew_is_measured_in_the_same_rounds(self):
        verdict = self.verdict("skew", 1.5, variants=("skewed",), against="uniform")
        self.assertAlmostEqual(verdict.measured, 1.2)
        self.assertEqual(self.workers.asked, [(("A/f32/memory/skewed", "A/f32/memory"), "avx512", 2, False)])

    def test_scaling(self):
        self.assertAlmostEqual(self.verdict("scaling", 1.8, variants=("uniform",)).measured, 2.0)

    def test_speed_up_asks_for_peers(self):
        self.assertAlmostEqual(self.verdict("speed-up", 2, variants=("uniform",)).measured, 3.0)
        self.assertTrue(self.workers.asked[0][3])
        self.assertEqual(self.verdict("speed-up", 2, variants=("uniform",)).peer, "peer one")

    def test_a_missing_peer_or_instruction_set_or_core_skips(self):
        self.assertIn("no peer segment", self.verdict("speed-up", 2, variants=("uniform",), peer="segment").skipped)
        self.assertIn("no avx512", self.verdict("ratio", 2, isa="avx512", isas=["avx2"]).skipped)
        self.assertIn("1 core", self.verdict("ratio", 2, cores=1).skipped)

    def from_python(self, found):
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        self.workers.options = mock.Mock(python="python")
        with mock.patch.object(from_python, "factors", mock.Mock(side_effect=[found])):
            return goal_check.verdicts_on(data, [goals.Goal("A", "python", 2, peer="backward", script=("a.py",))])[0]

    def test_programs_of_the_python_package_are_judged(self):
        self.assertTrue(self.from_python({"backward": 2.5, "training step": 1.0}).met)
        self.assertFalse(self.from_python({"backward": 1.5}).met)
        self.assertIn("no factor against backward", self.from_python({}).failed)
        self.assertEqual(self.from_python(ValueError("it crashed")).failed, "it crashed")
        self.assertEqual(self.from_python(from_python.NotThere("no openaclnn")).skipped, "no openaclnn")

    def test_the_lines_of_both_programs_are_understood(self):
        text = ("PyTorch 2.15.0, 2 threads\nbackward       PyTorch    90.1 ms   openaclnn    20.1 ms   4.48x as fast [4.00 5.00], goal 2.00x\n"
                "FusedEmaAdamW                 1.0 ms\nAdamW(fused) + EMA            2.0 ms   ours is 1.25x as fast [1.00 1.50], goal 1.15x\n")
        with mock.patch.object(from_python, "require_this_package"), \
                mock.patch.object(from_python, "run", lambda *a: mock.Mock(returncode=0, stdout=text)):
            self.assertEqual(from_python.factors("python", "a.py", ()), {"backward": 4.48, "AdamW(fused) + EMA": 1.25})

    def test_a_package_of_other_sources_is_not_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            origin = pathlib.Path(folder) / "openaclnn" / "__init__.py"
            origin.parent.mkdir()
            origin.write_text("another version")
            with mock.patch.object(from_python, "run", lambda *a: mock.Mock(returncode=0, stdout=f"{origin}\n")):
                self.assertRaisesRegex(from_python.NotThere, "has another __init__.py", from_python.require_this_package, "python")
        with mock.patch.object(from_python, "run", lambda *a: mock.Mock(returncode=1)):
            self.assertRaisesRegex(from_python.NotThere, "no openaclnn", from_python.require_this_package, "python")

    def test_a_crash_and_a_row_without_workload_fail(self):
        self.assertIn("crashed", self.verdict("ratio", 0.5, dtypes=("bf16",)).failed)
        self.assertIn("no workload", self.verdict("ratio", 0.5, dtypes=("f16",)).failed)

    def check(self, *rows):
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        return goal_check.check(data, [goals.Goal("A", *row, variants=("uniform",)) for row in rows])[1:]

    def test_a_near_miss_does_not_fail_the_run(self):
        lines, good = self.check(("ratio", 0.93), ("ratio", 0.5))
        self.assertEqual((lines[-1], good), ("1 of 2 goals met", True))
        self.assertFalse(self.check(("ratio", 0.96))[1])

    def test_skipped_rows_do_not_count(self):
        rows = goals.Goal("A", "speed-up", 2, variants=("uniform",), peer="segment")
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        self.assertEqual(goal_check.check(data, [rows])[1][-1], "0 of 0 goals met, 1 skipped")

    def in_regimes(self, *names, **fields):
        """Returns the verdict on a row of the slow regime, if the rounds are in these regimes."""
        probe = {"slow": [50e9, 42e9], "fast": [105e9, 55e9]}
        self.workers.probes = [[probe[name], probe[name]] for name in names]
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, len(names), lambda text: None)
        row = goals.Goal("A", "ratio", 0.75, variants=("uniform",), regime=regimes.SLOW, **fields)
        return goal_check.verdicts_on(data, [row])[0]

    def test_a_row_is_judged_in_its_regime_only(self):
        verdict = self.in_regimes(*["slow"] * 4 + ["fast"] * 11)
        self.assertEqual((verdict.rounds, verdict.met), ("slow 4, fast 11", True))

    def test_a_row_whose_regime_is_missing_is_skipped_and_not_met(self):
        verdict = self.in_regimes(*["fast"] * 15)
        self.assertEqual((verdict.met, verdict.counts), (False, False))
        self.assertEqual(verdict.skipped, "the slow regime had fewer than 3 rounds (fast 15)")

    def test_the_regimes_are_those_of_the_whole_run(self):
        # The two records of a run together show that there are two regimes; the first alone would have one.
        self.workers.probes = [[[50e9, 42e9], [50e9, 42e9]]] * 9
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 9, lambda text: None)
        data.single("A/f32/memory", "avx512", 2, False)
        self.workers.probes = [[[105e9, 55e9], [105e9, 55e9]]] * 9
        data.single("A/f32/memory/skewed", "avx512", 2, False)
        data.find_regimes()
        self.assertEqual([r["regimes"][0] for r in data.records()], ["slow", "fast"])

    def limited(self, cached_seconds, bound=0.95):
        """Returns the verdict on a row that measures 0.9, with an operator of this speed in the cache."""
        self.workloads = [dataclasses.replace(w, bytes=4_000_000_000) for w in self.workloads]
        self.workloads += [library.Workload("A/f32/L2", "A", "f32", "L2", "uniform", bytes=4_000_000_000)]
        self.workers.seconds["A/f32/L2"] = cached_seconds
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        return goal_check.verdicts_on(data, [goals.Goal("A", "ratio", bound, dtypes=("f32",), variants=("uniform",))])[0]

    def test_arithmetic_that_is_no_faster_in_cache_explains_a_miss_and_does_not_meet_it(self):
        verdict = self.limited(0.95)  # 4.2 GB/s a thread; the reference has 4 / 0.45 = 8.9 with two
        self.assertAlmostEqual(verdict.limit.value, 2 / 0.95 * 0.45)
        self.assertEqual((verdict.met, verdict.explained), (False, True))
        self.assertRegex(goal_check.line_of(verdict)[-1], r"^A/f32/memory; limit: 0\.95 \(8\.4 GB/s with the data in L2, reference 8\.9 GB/s\)$")

    def test_faster_arithmetic_explains_nothing(self):
        for seconds in (0.5, 0.899):
            verdict = self.limited(seconds)
            self.assertFalse(verdict.explained)
            self.assertIn("its limit is", goal_check.line_of(verdict)[-1])

    def test_arithmetic_alone_goes_before_the_speed_in_cache(self):
        for times, explained in ((0.95, True), (0.89, False), (0.7, False)):  # the reference has 0.9, so the limits are 0.95, 1.01 and 1.29
            self.workers.arithmetic = times
            verdict = self.limited(0.95)
            self.assertAlmostEqual(verdict.limit.value, 0.9 / times)
            self.assertEqual((verdict.met, verdict.explained), (False, explained))
            self.assertRegex(goal_check.line_of(verdict)[-1], r"limit(:| is) \d\.\d\d \(.* GB/s with arithmetic alone, reference 8\.9 GB/s\)$")

    def test_the_limit_of_lists_may_exceed_the_loop_that_they_are_compared_with(self):
        lists, kernel = (goals.Goal(operator, "ratio", 3.0) for operator in (limits.LISTS, "A"))
        self.assertTrue(limits.explains(limits.Limit(2.2, "made up"), lists, 2.1))
        self.assertFalse(limits.explains(limits.Limit(7.0, "made up"), lists, 2.1))
        self.assertFalse(limits.explains(limits.Limit(2.2, "made up"), kernel, 2.1))

    def test_a_peer_near_the_reference_explains_a_small_factor(self):
        verdict = self.limited_by_peer(3.5)  # the peer takes 3 times as long, the reference 0.9 times
        self.assertAlmostEqual(verdict.limit.value, 3 / 0.9)
        self.assertEqual((verdict.met, verdict.explained), (False, True))
        self.assertIn("peer one is at 0.30 of the reference", goal_check.line_of(verdict)[-1])

    def limited_by_peer(self, bound):
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        return goal_check.verdicts_on(data, [goals.Goal("A", "speed-up", bound, variants=("uniform",))])[0]

    def test_the_reference_limits_the_gain_of_a_second_thread(self):
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        verdict = goal_check.verdicts_on(data, [goals.Goal("A", "scaling", 2.1, variants=("uniform",))])[0]
        self.assertAlmostEqual(verdict.limit.value, 2.0)
        self.assertTrue(verdict.explained)

    def test_explained_misses_are_counted_apart(self):
        data = goal_check.Measurements(self.workers, self.workloads, ["avx512"], 2, 3, lambda text: None)
        rows = [goals.Goal("A", "scaling", bound, variants=("uniform",)) for bound in (2.1, 1.5)]
        self.assertEqual(goal_check.check(data, rows)[1][-1], "1 of 2 goals met, 1 missed at a measured limit")

    def test_all_rows_are_printable(self):
        for goal in goals.GOALS:
            self.assertIn(goal.measure, ("ratio", "speed-up", "seconds", "scaling", "skew", "python"))
            self.assertEqual(bool(goal.script), goal.measure == "python")
            self.assertEqual(bool(goal.against), goal.measure == "skew")
            self.assertTrue(goal.text.startswith(goal.operator))
        self.assertEqual(len({(g.text, g.isa, g.threads) for g in goals.GOALS}), len(goals.GOALS))


if __name__ == "__main__":
    unittest.main()
