"""Tests of `openaclnn judge`: verdicts and exit codes of operators, of pairs of files and of dumps, and rejections."""
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from program import ROOT, CliTest, floats, npy_bytes

# Sums of the two groups of grad.npy.
RIGHT = (4.0, 6.0, 0.5, 2.0**-30)
TWO_ULPS_OFF = (4.0, 6.0, 0.5 + 2.0**-23, 2.0**-30)


class JudgeOperator(CliTest):
    def setUp(self):
        super().setUp()
        self.write("grad.npy", npy_bytes("<f4", (3, 2), floats(1, 2, 3, 4, 0.5, 2**-30)))
        self.write("right.npy", npy_bytes("<f4", (2, 2), floats(*RIGHT)))
        self.write("wrong.npy", npy_bytes("<f4", (2, 2), floats(*TWO_ULPS_OFF)))

    def words(self, result, *words):
        return ["judge", "GroupedBiasAddGradV2", "--grad-y", "grad.npy", "--group-idx", "2,3", "--result", result, *words]

    def test_accepts_a_right_result(self):
        done = self.run_cli(*self.words("right.npy"))
        self.assertIn("1 call: 1 pass", done.stdout)

    def test_locates_one_wrong_element(self):
        done = self.run_cli(*self.words("out=wrong.npy"), code=1)
        self.assertIn("1 call: 1 error", done.stdout)
        self.assertIn("[1, 0] device 0.500000119", done.stdout)
        self.assertIn("2 ulps", done.stdout)
        self.assertIn("gradY[2, 0]", done.stdout)

    def test_prints_json(self):
        report, = json.loads(self.run_cli(*self.words("wrong.npy", "--json", "--rule", "openaclnn", "--rule", "bitwise"),
                                          code=1).stdout)["calls"]
        output, = report["outputs"]
        self.assertEqual([verdict["rule"] for verdict in output["verdicts"]], ["openaclnn", "bitwise"])
        self.assertEqual(output["wrong"], 1)
        self.assertEqual(output["worst"][0]["index"], [1, 0])

    def test_applies_tolerances(self):
        self.run_cli(*self.words("wrong.npy", "--rule", "assert-close"))
        self.run_cli(*self.words("wrong.npy", "--rule", "assert-close", "--rtol", "1e-8", "--atol", "0"), code=1)
        for number in ("-1", "nan", "inf", "abc", "1e-3x"):
            self.refuse(*self.words("wrong.npy", "--rule", "assert-close", "--rtol", number), contains="isn't a finite number of at least 0")
        self.refuse(*self.words("wrong.npy", "--atol", "0.1"), contains="atol is given, but no chosen rule uses it")

    def test_compares_with_a_third_device(self):
        done = self.run_cli(*self.words("right.npy", "--rule", "benchmark", "--third", "wrong.npy"))
        self.assertIn("1 call: 1 pass", done.stdout)

    def test_rules_need_their_third_device(self):
        for words in (["--rule", "benchmark"], ["--rule", "openaclnn", "--rule", "benchmark"]):
            self.refuse(*self.words("right.npy", *words), contains="the rule benchmark needs the results of a third device: add --third")
        self.refuse(*self.words("right.npy", "--third", "right.npy"), contains="--third is given, but no chosen rule uses it; rules that do: benchmark, ")

    def test_options_before_the_operator_are_rejected(self):
        words = self.words("right.npy")[1:]
        self.refuse("judge", "--rule", "bitwise", *words, contains="--rule is before GroupedBiasAddGradV2, where it has no effect; write it after")
        self.refuse("judge", "--json", *words, contains="--json is before GroupedBiasAddGradV2")
        self.refuse("judge", "--bound", "right.npy", *words, contains="--bound doesn't apply to an operator")
        self.refuse("judge", "right.npy", *words, contains="'right.npy' is before GroupedBiasAddGradV2")

    def test_writes_pictures(self):
        self.run_cli(*self.words("wrong.npy", "--pictures", "errors"), code=1)
        picture, = (self.folder / "errors").iterdir()
        self.assertEqual(picture.suffix, ".svg")
        self.assertEqual(xml.etree.ElementTree.parse(picture).getroot().tag, "{http://www.w3.org/2000/svg}svg")

    def test_results_beyond_the_range_are_infinite_or_the_largest_number(self):
        # The sum is 80,000. FLOAT16 ends at 65,504.
        self.write("half.npy", npy_bytes("<f2", (2, 1), struct.pack("<2e", 40000, 40000)))
        for value, code in ((math.inf, 0), (65504, 0), (5, 1), (math.nan, 1), (-math.inf, 1), (-65504, 1), (65472, 1)):
            self.write("half_out.npy", npy_bytes("<f2", (1, 1), struct.pack("<e", value)))
            with self.subTest(value):
                self.run_cli("judge", "GroupedBiasAddGradV2", "--grad-y", "half.npy", "--group-idx", "2", "--result", "half_out.npy", code=code)
        # Sums of FLOAT may overflow before the last term, so any result is accepted.
        self.write("large.npy", npy_bytes("<f4", (2, 1), floats(3e38, 3e38)))
        self.write("large_out.npy", npy_bytes("<f4", (1, 1), floats(math.inf)))
        self.run_cli("judge", "GroupedBiasAddGradV2", "--grad-y", "large.npy", "--group-idx", "2", "--result", "large_out.npy")

    def test_pictures_that_cannot_be_written(self):
        self.assertIn("--pictures right.npy/errors: Not a directory",
                      self.run_cli(*self.words("wrong.npy", "--pictures", "right.npy/errors"), code=1).stderr)
        (self.folder / "errors" / "GroupedBiasAddGradV2.out.svg").mkdir(parents=True)
        done = self.run_cli(*self.words("wrong.npy", "--pictures", "errors"), code=1)
        self.assertIn("1 call: 1 error", done.stdout)
        self.assertIn("cannot be written", done.stderr)

    def test_rejects(self):
        self.refuse(*self.words("grad.npy"), contains="GroupedBiasAddGradV2: out has shape [3, 2]; it must be [2, 2]")
        self.refuse(*self.words("sum=right.npy"), contains="--result sum=right.npy: unknown result 'sum'; the results are out")
        self.refuse(*self.words("right.npy", "--result", "right.npy"), contains="out is given twice")
        self.refuse(*self.words("right.npy", "--rule", "exact"), contains="'exact' isn't accepted; accepted are openaclnn, quick")
        self.refuse(*self.words("right.npy", "--level", "L3"), contains="'L3' isn't accepted; accepted are L0, L1, L2")
        self.refuse(*self.words("none.npy"), contains="none.npy")
        self.refuse(*self.words("right.npy")[:-2], contains="requires the argument --result")


class JudgePair(CliTest):
    def setUp(self):
        super().setUp()
        self.write("right.npy", npy_bytes("<f4", (2, 2), floats(*RIGHT)))
        self.write("wrong.npy", npy_bytes("<f4", (2, 2), floats(*TWO_ULPS_OFF)))
        self.write("golden.npy", npy_bytes("<f8", (2, 2), struct.pack("<4d", *RIGHT)))
        self.write("bound.npy", npy_bytes("<f8", (2, 2), struct.pack("<4d", *[0] * 4)))
        self.write("wide.npy", npy_bytes("<f8", (2, 2), struct.pack("<4d", *[1e-6] * 4)))
        self.write("long.npy", npy_bytes("<f4", (3, 2), floats(1, 2, 3, 4, 5, 6)))

    def test_judges_with_a_bound(self):
        self.run_cli("judge", "right.npy", "golden.npy", "--bound", "bound.npy")
        self.run_cli("judge", "wrong.npy", "golden.npy", "--bound", "bound.npy", code=1)
        self.run_cli("judge", "wrong.npy", "golden.npy", "--bound", "wide.npy")

    def test_bounds_are_numbers_of_at_least_0(self):
        for descr, data, why in (("<f8", struct.pack("<4d", 0, 0, -1e-9, 0), "is -1e-09 at [1, 0]; a bound is at least 0, or NaN"),
                                 ("<f4", floats(0, -math.inf, 0, 0), "is -inf at [0, 1]"),
                                 ("|b1", bytes(4), "has dtype BOOL; bounds are floating-point numbers"),
                                 ("<i8", bytes(32), "has dtype INT64")):
            self.write("odd.npy", npy_bytes(descr, (2, 2), data))
            self.refuse("judge", "wrong.npy", "golden.npy", "--bound", "odd.npy", contains="--bound odd.npy " + why)
        self.write("unknown.npy", npy_bytes("<f8", (2, 2), struct.pack("<4d", 0, 0, math.nan, 0)))
        self.run_cli("judge", "wrong.npy", "golden.npy", "--bound", "unknown.npy")

    def test_rules_need_what_they_use(self):
        self.refuse("judge", "right.npy", "golden.npy", "--rule", "assert-close", "--rule", "benchmark", contains="the rule benchmark needs")
        self.refuse("judge", "right.npy", "golden.npy", "--rule", "assert-close", "--rule", "openaclnn",
                    contains="the rule openaclnn needs the bounds of the golden: add --bound")
        self.refuse("judge", "right.npy", "golden.npy", "--rule", "bitwise", "--bound", "bound.npy",
                    contains="--bound is given, but no chosen rule uses it; openaclnn does")
        self.refuse("judge", "right.npy", "golden.npy", "--rule", "assert-close", "--third", "wrong.npy", contains="--third is given, but no")
        self.write("int.npy", npy_bytes("<i4", (1,), struct.pack("<i", 3)))
        self.run_cli("judge", "int.npy", "int.npy", "--rule", "openaclnn", "--rule", "bitwise")

    def test_names_of_files_stay_on_their_line(self):
        (self.folder / "right.npy").rename(self.folder / "a\n1 call: 1 pass\n.npy")
        done = self.run_cli("judge", "a\n1 call: 1 pass\n.npy", "golden.npy", "--bound", "bound.npy")
        self.assertTrue(done.stdout.startswith("a?1 call: 1 pass?.npy "), done.stdout)

    def test_judges_by_other_rules(self):
        self.run_cli("judge", "wrong.npy", "golden.npy", "--rule", "quick")
        self.run_cli("judge", "wrong.npy", "right.npy", "--rule", "bitwise", code=1)

    def test_rejects(self):
        self.refuse("judge", "right.npy", "long.npy", contains="right.npy: result has shape [2, 2] but the golden has [3, 2]")
        self.refuse("judge", "right.npy", "golden.npy", "--bound", "long.npy", contains="must have the shape of right.npy")
        self.refuse("judge", "right.npy", contains="isn't a folder")
        self.refuse("judge", "nothing", contains="nothing does not exist")
        self.refuse("judge", "a", "b", "c", contains="`openaclnn judge` takes at most 2 sources, but 3 were given; `openaclnn judge --help`")
        self.refuse("judge", contains="requires a dump folder")
        self.refuse("judge", "Embeding", contains="Embeding")

    def test_lists_the_rules(self):
        rules = json.loads(self.run_cli("judge", "--list-rules", "--json").stdout)
        self.assertEqual(rules[0]["name"], "openaclnn")
        self.assertGreater(len(rules), 20)
        self.assertIn("torch.testing.assert_close", self.run_cli("judge", "--list-rules").stdout)


class JudgeDump(CliTest):
    """Dumps that examples/judge/make_dump.py writes."""
    CALLS = 6

    def make_dump(self, *words):
        python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable  # Debian's has NumPy
        done = subprocess.run([python, ROOT / "examples" / "judge" / "make_dump.py", self.folder / "dump", *words],
                              capture_output=True, text=True)
        if "No module named 'numpy'" in done.stderr:
            self.skipTest("NumPy is not installed (Debian: python3-numpy)")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "dump" / "step0" / "rank0"

    def test_accepts_a_good_dump(self):
        self.make_dump()
        self.assertIn(f"\n{self.CALLS} calls: {self.CALLS} pass\n", self.run_cli("judge", "dump").stdout)

    def test_finds_the_bad_call_and_its_cause(self):
        for kind, cause in (("shifted-windows", "windows-shifted-by-one"), ("half-accumulator", "16-bit-accumulation"),
                            ("no-bias-correction", "missing-bias-correction"), ("padding-row", "padding-row-not-skipped")):
            with self.subTest(kind):
                shutil.rmtree(self.folder / "dump", ignore_errors=True)
                self.make_dump("--bad", kind)
                report = json.loads(self.run_cli("judge", "dump", "--json", code=1).stdout)
                bad, = [call for call in report["calls"] if call["result"] == "error"]
                causes = {one["name"] for output in bad["outputs"] for one in output["causes"]}
                self.assertIn(cause, causes, bad["label"])

    def test_locates_one_wrong_element(self):
        self.make_dump("--bad", "one-element")
        done = self.run_cli("judge", "dump", code=1)
        self.assertIn(f"{self.CALLS} calls: 1 error, {self.CALLS - 1} pass", done.stdout)
        self.assertEqual(done.stdout.count(" 2 ulps,"), 1)

    def test_the_judged_dump_as_third_device(self):
        self.make_dump()
        report = json.loads(self.run_cli("judge", "dump", "--third", "dump", "--rule", "benchmark", "--json").stdout)
        self.assertEqual([call["result"] for call in report["calls"]], ["pass"] * self.CALLS)

    def test_rejects_damaged_dumps(self):
        rank = self.make_dump()
        text = (rank / "dump.json").read_text()
        (rank / "dump.json").write_text(text[:-20])
        self.refuse("judge", "dump", contains="dump.json")
        (rank / "dump.json").write_text(text)
        tensor = next((rank / "dump_tensor_data").glob("*embedding.0.backward.output*"))
        data = tensor.read_bytes()
        tensor.write_bytes(data[:-4])
        self.refuse("judge", "dump", contains=tensor.name)
        tensor.write_bytes(data)
        dump = json.loads(text)
        dump["data"]["Functional.embedding.0.backward"]["output"][0]["shape"] = [40, 23]
        (rank / "dump.json").write_text(json.dumps(dump))
        self.refuse("judge", "dump", contains="Functional.embedding.0.backward: output 0 has shape [40, 23]")

    def test_rejects_folders_without_calls(self):
        (self.folder / "empty").mkdir()
        self.refuse("judge", "empty", contains="empty")


if __name__ == "__main__":
    unittest.main()
