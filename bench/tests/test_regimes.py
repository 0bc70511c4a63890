# Expects that noise never splits a run into regimes of memory, and that two speeds always do.
import math
import random
import unittest
from unittest import mock

from made_up import record

import machine
import quiet
import regimes
import report
import summary


def probes_at(center, count, spread=0.05, seed=1, alone=40.0):
    """Returns probes around a speed of two cores, as a noisy machine gives them."""
    noise = random.Random(seed)
    return [[center * math.exp(noise.gauss(0, spread)), alone * math.exp(noise.gauss(0, spread))] for _ in range(count)]


class RegimesOfRounds(unittest.TestCase):
    def test_noise_splits_nothing(self):
        for seed in range(200):
            noise = random.Random(seed)
            for spread in (0.01, 0.05, 0.2):
                self.assertIsNone(regimes.split_of([math.exp(noise.gauss(4, spread)) for _ in range(noise.choice([8, 40, 400]))]), (seed, spread))
            self.assertIsNone(regimes.split_of([noise.uniform(30, 60) for _ in range(100)]), seed)
            # Other programs make a tail of slow probes.
            self.assertIsNone(regimes.split_of([60 * math.exp(-noise.expovariate(6)) for _ in range(100)]), seed)

    def test_two_speeds_are_separated_whatever_their_shares(self):
        for seed in range(50):
            for slow in (10, 100, 190):
                speeds = [p[0] for p in probes_at(50, slow, seed=seed) + probes_at(105, 200 - slow, seed=seed + 1)]
                self.assertTrue(60 < regimes.split_of(speeds) < 90, (seed, slow))

    def test_few_outliers_are_no_regime(self):
        self.assertIsNone(regimes.split_of([p[0] for p in probes_at(60, 200)] + [20, 20.1, 20.2]))

    def test_the_link_names_the_regime_not_the_speed(self):
        self.assertEqual(regimes.Regimes(probes_at(50, 30, alone=42), 2).of_round([None, None]), "slow")
        self.assertEqual(regimes.Regimes(probes_at(65, 30, alone=33), 2).of_round([None, None]), "fast")
        self.assertEqual(regimes.Regimes(probes_at(20, 30, alone=11), 2).of_round([None, None]), "fast")  # a machine with slow memory

    def test_rounds_of_a_machine_that_changes(self):
        slow, fast = probes_at(50, 40, alone=42), probes_at(105, 40, alone=55)
        found = regimes.Regimes(slow + fast, 2)
        self.assertEqual([found.of_round(pair) for pair in ([slow[0], slow[1]], [fast[0], fast[1]], [slow[0], fast[0]], [None, slow[0]], [None, None])],
                         ["slow", "fast", "mixed", "unknown", "unknown"])
        self.assertRegex("\n".join(found.lines()), r"^regime slow: 2 cores read \d+ GB/s.*\(0\.\d\d of 2 alone\), 40 probes\nregime fast: ")

    def test_without_valid_probes_nothing_is_known(self):
        found = regimes.Regimes([None, None], 2)
        self.assertEqual(found.of_round([None, None]), "unknown")
        self.assertRegex(found.lines()[0], "unknown, because other programs")

    def test_records_have_a_ratio_for_each_regime(self):
        entry = record(ours=[2.0] * 6, reference=[1.8] * 3 + [1.0] * 3)
        entry["probes"] = [[[50, 42], [51, 42]]] * 3 + [[[105, 55], [104, 55]]] * 3
        short = summary.condensed(entry, regimes.Regimes.of([entry] * 3, 2))
        self.assertEqual(short["regimes"], ["slow"] * 3 + ["fast"] * 3)
        self.assertEqual([round(summary.ratio_to_reference(short, name).median, 2) for name in ("slow", "fast", "any")], [0.9, 0.5, 0.7])
        self.assertIn("slow 0.90 (3), fast 0.50 (3)", "\n".join(report.table([short])))


class Quiet(unittest.TestCase):
    def test_loops_of_other_programs_are_noticed(self):
        with mock.patch.object(quiet, "wanted_by_others", lambda: 0.0), mock.patch.object(quiet, "share_waited", lambda cores: 0.3):
            self.assertFalse(quiet.check(2)[0])
            self.assertIn("waited 30% of its time", quiet.check(2)[1])
        with mock.patch.object(quiet, "wanted_by_others", lambda: 1.5), mock.patch.object(quiet, "share_waited", lambda cores: 0.0):
            self.assertFalse(quiet.check(2)[0])
        with mock.patch.object(quiet, "wanted_by_others", lambda: 0.1), mock.patch.object(quiet, "share_waited", lambda cores: 0.0):
            self.assertTrue(quiet.check(2)[0])

    def test_figures_are_shares(self):
        self.assertGreaterEqual(quiet.wanted_by_others(0.02, 2), 0)
        self.assertGreaterEqual(quiet.share_waited(2, 0.02), 0)
        # Three loops for each core must wait for one another.
        self.assertGreater(quiet.share_waited(3 * machine.cores(), 0.2), 0.1)


if __name__ == "__main__":
    unittest.main()
