"""Tests of `openaclnn golden`: files, table, JSON, and rejections."""
import json
import math
import struct
import unittest

from program import CliTest, floats, npy_bytes, read_npy


class Golden(CliTest):
    def setUp(self):
        super().setUp()
        self.write("grad.npy", npy_bytes("<f4", (3, 2), floats(1, 2, 3, 4, 0.5, 2**-30)))

    def words(self, *words, groups="2,3"):
        return ["golden", "GroupedBiasAddGradV2", "--grad-y", "grad.npy", "--group-idx", groups, *words]

    def doubles(self, name):
        descr, shape, data = read_npy(self.folder / "out" / name)
        self.assertEqual((descr, shape), ("<f8", (2, 2)))
        return struct.unpack("<4d", data)

    def test_writes_files(self):
        self.run_cli(*self.words("--out", "out"))
        self.assertEqual(self.doubles("out.exact.npy"), (4, 6, 0.5, 2**-30))
        # c is A(2) + 2 = 3 roundings, and 0 for one term.
        self.assertEqual(self.doubles("out.bound.npy"), (12 * 2**-24, 18 * 2**-24, 0, 0))
        self.assertEqual(read_npy(self.folder / "out" / "out.ours.npy"), ("<f4", (2, 2), floats(4, 6, 0.5, 2**-30)))

    def test_reads_column_major_files(self):
        self.write("grad.npy", npy_bytes("<f4", (3, 2), floats(1, 3, 0.5, 2, 4, 2**-30), True))
        self.run_cli(*self.words("--out", "out"))
        self.assertEqual(self.doubles("out.exact.npy"), (4, 6, 0.5, 2**-30))

    def test_prints_json(self):
        report = json.loads(self.run_cli(*self.words("--json", "--threads", "2", "--out", "all.safetensors")).stdout)
        self.assertEqual(report["outputs"][0]["largestExact"], 6)
        self.assertEqual(report["outputs"][0]["covered"], 4)
        self.assertLessEqual(report["outputs"][0]["ourLargestShare"], 1)
        self.assertTrue((self.folder / "all.safetensors").exists())

    def test_infinite_results_may_be_right(self):
        for descr, data in (("<f2", struct.pack("<2e", 40000, 40000)), ("<f4", floats(math.inf, 1)), ("<f4", floats(math.inf, -math.inf)),
                            ("<f4", floats(3e38, 3e38))):
            self.write("grad.npy", npy_bytes(descr, (2, 1), data))
            report = json.loads(self.run_cli(*self.words("--json", groups="2")).stdout)
            self.assertEqual(report["outputs"][0]["ourLargestShare"], 0, data)

    def test_names_that_are_not_folders(self):
        for name in ("g.npy", "g.safetensors.gz", "x/g.pt"):
            self.refuse(*self.words("--out", name), contains=f"--out is '{name}'; it must be a folder")
            self.assertFalse((self.folder / name).exists())
        (self.folder / "old.zip").mkdir()
        for name in ("old.zip", "run.2"):
            self.run_cli(*self.words("--out", name))

    def test_refuses_wrong_groups(self):
        self.refuse(*self.words("--out", "all.safetensors", groups="2,1"), contains="must not decrease")


if __name__ == "__main__":
    unittest.main()
