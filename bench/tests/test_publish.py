# Publishes made-up runs and expects that pages can't show other figures than those of the run that they name.
import contextlib
import dataclasses
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from made_up import FakeWorkers, record

import figures
import goal_check
import goals
import growth
import growth_svg
import history
import library
import machine
import publish
import regimes
import report
import speed_svg
import summary

ABOUT = {"date": "2026-01-02T03:04:05", "library": "0.1.0", "cpu": "Made-up CPU", "cores": 2, "caches": [], "kernel": "Linux", "peers": "PyTorch 9",
         "disturbed": 0.0, "latency": "free while computing: met", "regimes": ["regime slow: 2 cores read 50 GB/s"]}
SLOW = [[50e9, 42e9], [50e9, 42e9]]
PAGE = pathlib.Path("docs/page.md")


def run_of(folder, seconds, name="run", probes=SLOW):
    """Returns a run of two workloads, whose reference takes 0.9 times these seconds and whose peer takes 3 times as long."""
    workloads = [library.Workload(f"A/{dtype}/memory/x", "A", dtype, "memory", "x", {"numel": 1}, 4_000_000_000) for dtype in ("f32", "bf16")]
    workers = FakeWorkers(dict(zip((w.name for w in workloads), seconds)))
    workers.probes = [probes] * 3
    data = goal_check.Measurements(workers, workloads, ["avx512", "avx2"], 2, 3, lambda text: None)
    rows = [goals.Goal("A", "ratio", 0.8, regime=regimes.SLOW), goals.Goal("A", "ratio", 0.95, regime=regimes.SLOW),
            goals.Goal("A", "ratio", 0.8, regime=regimes.FAST), goals.Goal("A", "ratio", 0.8, threads=1), goals.Goal("A", "speed-up", 2)]
    verdicts = goal_check.verdicts_on(data, rows)
    records = [{**r, "workload": {**r["workload"], **dataclasses.asdict(next(w for w in workloads if w.name == r["workload"]["name"]))}}
               for r in data.records()]
    path = folder / f"{name}.json"
    report.write_json(path, ABOUT, records, goals=[goal_check.to_json(v) for v in verdicts])
    return figures.Run(path)


def growing_run(folder, reference_of_last):
    records = []
    for count, reference in ((1000, 1.0), (3000, 1.0), (10000, reference_of_last)):
        made = record(f"GroupedBiasAddGrad/f32/growth/{count}", (1.0,) * 3, (reference,) * 3, threads=2, dtype="f32", size="growth", variant=str(count))
        records.append(summary.condensed(made))
    for threads in (1, 2):
        records.append(summary.condensed(record("A/f32/memory/x", threads=threads, dtype="f32", size="memory", variant="x")))
    path = folder / "growth.json"
    report.write_json(path, ABOUT, records)
    return figures.Run(path)


class Published(unittest.TestCase):
    def setUp(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
            stack.enter_context(mock.patch.object(machine, "ROOT", self.folder))
            stack.enter_context(mock.patch.object(publish, "ROOT", self.folder))
            self.addCleanup(stack.pop_all().close)
        self.run_shown = run_of(self.folder, (1.0, 2.0))

    def page(self, *kinds, run="old.json"):
        return "Text.\n" + "".join(f"<!-- bench {kind} {run} -->\nold\n<!-- /bench -->\nMore.\n" for kind in kinds)

    def shown(self, *kinds):
        return publish.with_blocks(PAGE, self.page(*kinds), {"run": self.run_shown})

    def test_each_run_has_one_line_in_the_history(self):
        later = run_of(self.folder, (1.0, 1.0), name="later")
        for run in (self.run_shown, later, self.run_shown):
            self.assertEqual(history.append(run), self.folder / history.HISTORY)
        entries = {entry["run"]: entry for entry in history.read()}
        self.assertEqual(len(history.read()), 2)
        first, second = entries["run.json"], entries["later.json"]
        self.assertEqual(first["machine"], {"cpu": "Made-up CPU", "cores": 2, "isa": "avx512", "threads": 2})
        self.assertEqual((first["date"], first["version"], first["commit"]), (ABOUT["date"], "0.1.0", ""))
        self.assertEqual(first["shares"], {"A": [0.9, 0.9]})
        self.assertEqual(first["factors"], {"A": [3.0, 3.0]})
        self.assertEqual(first["goals"]["judged"], sum(goal["status"] != "skipped" for goal in self.run_shown.goals))
        self.assertEqual({**first, "run": "later.json"}, second)

    def test_files_are_readable_again_and_have_a_line_for_each_record(self):
        text = self.run_shown.path.read_text(encoding="utf-8")
        self.assertEqual(json.loads(text)["format"], report.FORMAT)
        self.assertEqual(sum(line.startswith('{"workload"') for line in text.splitlines()), len(self.run_shown.records))

    def test_all_kinds_show_worst_beside_best_with_workload_and_regime(self):
        text = self.shown("speed", "ratios", "one_thread", "peers", "goals", "met", "tiny", "source")
        self.assertIn("| `aclnnA` | 0.90 (f32 x, slow) | 0.90 (bf16 x, slow) | 3.00× peer one (f32 x) to 3.00× peer one (bf16 x) |", text)
        self.assertIn("| A x | 0.90 |  | 0.90 |", text)
        self.assertIn("| `aclnnA` | 0.90 (f32 x) to 0.90 (bf16 x) |", text)
        self.assertIn("| A f32 x | peer one | 3.00 | 0.30 |", text)
        self.assertIn("**3 of 4 goals are met.** 0 of the misses are at a measured limit. 1 rows were skipped.", text)
        self.assertIn("the fast regime had fewer than 3 rounds (slow 3)", text)
        self.assertIn("3 of 4 goals are met.", text)
        self.assertIn("```text\nfree while computing: met\n```", text)
        self.assertIn("[This run](../run.md) is from 2026-01-02: 2 threads, avx512, Made-up CPU, 2 cores.", text)
        self.assertIn("More.", text)
        self.assertNotIn("old", text)

    def test_figures_of_a_busy_machine_name_no_regime(self):
        busy = run_of(self.folder, (1.0, 2.0), "busy", [None, None])
        self.assertEqual({share.regime for share in busy.shares()["A"]}, {"unknown"})
        text = publish.with_blocks(PAGE, self.page("speed", "goals"), {"run": busy})
        self.assertIn("0.90 (f32 x, unknown)", text)
        self.assertIn("**Provisional:** other programs held the cores", text)
        self.assertIn("provisional: busy machine", speed_svg.draw(busy))
        self.assertNotIn("Provisional", self.shown("speed"))
        self.assertIn("the slow regime had fewer than 3 rounds (unknown 3)", text)

    def test_a_translated_page_gets_the_same_figures(self):
        text = publish.with_blocks(pathlib.Path("README.zh-CN.md"), self.page("speed"), {"run": self.run_shown})
        self.assertIn("| 算子 |", text)
        self.assertIn("| `aclnnA` | 0.90 (f32 x, slow) |", text)

    def test_changed_figures_and_other_runs_are_noticed(self):
        good = self.shown("speed", "met")
        self.assertEqual(publish.errors_in(PAGE, good, {}), [])
        self.assertIn("isn't what run.json gives", publish.errors_in(PAGE, good.replace("0.90", "0.91", 1), {})[0])
        run_of(self.folder, (1.0, 3.0), "other")
        other = good.replace("<!-- bench met run.json", "<!-- bench met other.json")
        self.assertEqual(publish.errors_in(PAGE, other, {}), ["docs/page.md: block met names other.json, others run.json"])
        self.assertIn("No such file", publish.errors_in(PAGE, self.page("met"), {})[0])
        self.assertIn("no block of kind nothing", publish.errors_in(PAGE, self.page("nothing", run="run.json"), {})[0])

    def test_growth_has_a_run_of_its_own(self):
        grown = growing_run(self.folder, 1.0)
        text = publish.with_blocks(PAGE, self.page("met", "growing"), {"growth": grown})
        self.assertIn("<!-- bench met old.json -->\nold", text)
        self.assertIn("| GroupedBiasAddGrad f32, groups | 1,000 to 10,000 | 1 s to 1 s | none |", text)
        self.assertIn("| A f32, threads | 1 to 2 | 2 s to 2 s |  |", text)

    def test_the_files_of_a_repository_are_written_and_checked(self):
        (self.folder / "docs" / "images").mkdir(parents=True)
        (self.folder / "docs" / "page.md").write_text(self.page("speed", "growing"), encoding="utf-8")
        grown = growing_run(self.folder, 1.0)
        with mock.patch.object(publish, "translations", lambda *arguments: mock.Mock(returncode=0)):
            publish.renew(self.run_shown.path)
            changed = publish.draw_growth(grown.path)
        self.assertEqual({path.name for path in changed}, {"page.md", "growth_groups.svg", "growth_threads.svg"})
        self.assertEqual(publish.check(), [])
        picture = self.folder / "docs" / "images" / "speed.svg"
        picture.write_text(picture.read_text(encoding="utf-8").replace("0.90", "0.99"), encoding="utf-8")
        self.assertEqual(publish.check(), ["docs/images/speed.svg isn't what its run gives"])

    def test_the_chart_shows_worst_and_best_and_names_its_run(self):
        picture = speed_svg.draw(self.run_shown)
        for words in ("from run.json", "0.90 – 0.90", "3.0 – 3.0×", "memory regime slow", "Made-up CPU"):
            self.assertIn(words, picture)


class Growth(unittest.TestCase):
    def test_a_jump_is_a_loss_against_the_reference(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "ROOT", pathlib.Path(folder).resolve()):
            smooth, broken = (growing_run(pathlib.Path(folder).resolve(), last) for last in (0.95, 0.8))
            self.assertTrue(growth.judge(smooth.records)[1])
            lines, good = growth.judge(broken.records)
            self.assertFalse(good)
            self.assertIn("jumps at 10,000, ratio 1.00 to 0.80", lines[0])
            for what, curves in growth_svg.curves_of(smooth.records).items():
                self.assertIn(f"Time of a call against {what}", growth_svg.draw(what, curves, smooth))

    def test_small_ranges_have_more_ticks(self):
        def rounded(*limits):
            return [round(tick, 6) for tick in growth_svg.ticks(*limits)]

        self.assertEqual(rounded(0.015, 0.12), [0.02, 0.05, 0.1])
        self.assertEqual(rounded(0.015, 12), [0.1, 1, 10])

    def test_noise_is_no_jump(self):
        def ratio(*values):
            return summary.summarize(values)

        self.assertTrue(growth.lost(ratio(1.0, 1.0, 1.0), ratio(0.8, 0.8, 0.8)))
        self.assertFalse(growth.lost(ratio(0.6, 1.0, 1.4), ratio(0.8, 0.8, 0.8)))
        self.assertFalse(growth.lost(ratio(1.9, 1.9, 1.9), ratio(1.2, 1.2, 1.2)))  # both are faster than the reference
        self.assertTrue(growth.lost(ratio(1.9, 1.9, 1.9), ratio(0.8, 0.8, 0.8)))

    def test_sizes_beyond_the_memory_are_named_and_not_measured(self):
        workload = library.Workload("GroupedBiasAddGrad/f32/growth/10", "GroupedBiasAddGrad", "f32", "growth", "10", tensors={"a": [[10**6], "f32"]})
        workers = FakeWorkers({workload.name: 1.0})
        options = mock.Mock(rounds=3, isa=["avx512"])
        with mock.patch.object(growth, "bytes_available", lambda: 6_000_000):
            records, skipped = growth.measure(workers, [workload], options, 2, lambda text: None)
        self.assertEqual((records, workers.asked), ([], []))
        self.assertRegex(skipped[0], "^skipped: GroupedBiasAddGrad/f32/growth/10 needs")
        with mock.patch.object(growth, "bytes_available", lambda: 9_000_000):
            self.assertEqual(len(growth.measure(workers, [workload], options, 2, lambda text: None)[0]), 1)

    def test_threads_double_up_to_all_cores(self):
        self.assertEqual([growth.thread_counts(cores) for cores in (1, 2, 6, 8)], [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]])


if __name__ == "__main__":
    unittest.main()
