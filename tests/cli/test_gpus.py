#!/usr/bin/env python3
# Tests of the program openaclnn on the emulated GPU.
"""usage: test_gpus.py PROGRAM PLUGIN [unittest arguments]"""
import pathlib
import sys
import unittest

from program import CliTest, npy_bytes, read_npy

PLUGIN = pathlib.Path(sys.argv.pop(1)).resolve()


class GpuTest(CliTest):
    def test_doctor_names_it(self):
        text = self.run_cli("doctor", OPENACLNN_CUDA_PLUGIN=PLUGIN, LD_LIBRARY_PATH="", ASCEND_HOME_PATH="").stdout
        self.assertRegex(text, r"(?m)^devices +1 \(cuda\)$")
        self.assertRegex(text, r"(?m)^gpu +emulated GPU 0$")

    def test_run_copies_in_pieces(self):
        rows = 3 << 18  # 6 MiB of two columns
        table = bytes(range(256)) * (rows * 8 // 256)
        self.write("t.npy", npy_bytes("<f4", (rows, 2), table))
        self.run_cli("run", "Embedding", "--weight", "t.npy", "--indices", f"{rows - 1},0", "--out", "o.npy",
                     OPENACLNN_DEVICE="cuda", OPENACLNN_CUDA_PLUGIN=PLUGIN)
        self.assertEqual(read_npy(self.folder / "o.npy"), ("<f4", (2, 2), table[-8:] + table[:8]))


if __name__ == "__main__":
    unittest.main()
