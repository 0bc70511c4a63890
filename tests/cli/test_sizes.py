#!/usr/bin/env python3
# Tests sizes and lengths of openaclnn run: sequences of token compression, numbers beyond 64 bits, long JSON. Also tests little memory.
"""usage: test_sizes.py PROGRAM [unittest arguments]"""
import json
import os
import unittest

from program import CliTest, ShellTest, floats, npy_bytes, read_npy, safetensors_bytes


class SizesTest(CliTest):
    def test_batches_of_token_compression(self):
        """Without lengths the forward operator has one sequence, and the gradient uses the batches that have its windows."""
        self.write("x.npy", npy_bytes("<f4", (160, 1, 1), floats(*range(160))))
        self.write("w.npy", npy_bytes("<f4", (32, 1), floats(*range(32))))
        windows = ["--input", "x.npy", "--weight", "w.npy", "--compress-block-size", "32", "--compress-stride", "16"]
        self.run_cli("run", "NsaCompress", *windows, "--out", "one.npy")
        self.assertEqual(read_npy(self.folder / "one.npy")[1], (9, 1, 1))
        self.run_cli("run", "NsaCompress", *windows, "--act-seq-len", "80,160", "--out", "two.npy")
        self.assertEqual(read_npy(self.folder / "two.npy")[1], (8, 1, 1))
        for lengths, name in (["--act-seq-len", "80,160"], "given"), ([], "deduced"):
            self.run_cli("run", "NsaCompressGrad", "--output-grad", "two.npy", *windows, *lengths, "--out", f"input-grad={name}.npy")
        self.assertEqual(read_npy(self.folder / "given.npy"), read_npy(self.folder / "deduced.npy"))
        self.write("seven.npy", npy_bytes("<f4", (7, 1, 1), floats(*range(7))))
        self.refuse("run", "NsaCompressGrad", "--output-grad", "seven.npy", *windows, contains="one sequence of the 160 tokens has 9 windows")

    def test_lengths_beyond_any_sum(self):
        """The sanitized build also runs this."""
        self.write("x.npy", npy_bytes("<f4", (8, 1, 1), floats(*range(8))))
        self.write("w.npy", npy_bytes("<f4", (2, 1), floats(1, 2)))
        least, most = -2**63, 2**63 - 1
        for lengths in ((1, least), (most, 1), (most, least), (least, most), (4, most, most)):
            for kind in "01":
                self.refuse("run", "NsaCompress", "--input", "x.npy", "--weight", "w.npy", "--compress-block-size", "2",
                            "--compress-stride", "1", "--act-seq-len-type", kind, f"--act-seq-len={','.join(map(str, lengths))}",
                            contains="actSeqLenOptional[")

    def test_shapes_without_elements_may_be_huge(self):
        for fortran in (False, True):
            self.write("x.npy", npy_bytes("<i8", (0, 2**62, 2**62), b"", fortran=fortran))
            self.write("w.npy", npy_bytes("<f4", (2, 1), floats(1, 2)))
            self.run_cli("run", "Embedding", "--weight", "w.npy", "--indices", "x.npy")

    def test_json_with_many_entries(self):
        """Reading takes seconds. If its time were quadratic, it would take minutes: more than run_cli waits."""
        call = '{"name":"aclnnEmbedding","cat":"task","ph":"X"}'
        for count, end in ((500_000, "\n]\n"), (1000, ",\n" + call[:30])):  # complete, and cut by a crash
            self.write("trace.json", ("[\n" + ",\n".join([call] * count) + end).encode())
            total, = json.loads(self.run_cli("trace", "--summary", "trace.json", "--json").stdout)
            self.assertEqual(total["calls"], count)
        entries = {str(name): {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * name, 4 * name + 4]} for name in range(160_000)}
        self.write("many.safetensors", safetensors_bytes(entries, floats(*range(160_000))))
        self.run_cli("run", "Embedding", "--weight", "many.safetensors:77777", "--indices", "0", "--out", "row.npy")
        self.assertEqual(read_npy(self.folder / "row.npy")[2], floats(77777))


class MemoryTest(ShellTest):
    def setUp(self):
        super().setUp()
        if self.shell("", "explain", "0", before="ulimit -v 1000000").returncode != 0:
            self.skipTest("sanitized programs need more address space")

    def test_too_little_memory_ends_no_command_by_a_signal(self):
        for limit in [*(f"-v {kibibytes}" for kibibytes in range(24_000, 60_000, 2000)), *(f"-d {kibibytes}" for kibibytes in range(1000, 8000, 500))]:
            done = self.shell("", "check", "Embedding", "--cases", "1", before=f"ulimit {limit}")
            if "error while loading shared libraries" not in done.stderr:
                self.assertIn(done.returncode, (0, 1), f"{limit}: {done.stderr}")

    def test_too_little_memory_has_a_message(self):
        self.write("large.npy", npy_bytes("<f4", (2**29,), b""))
        os.truncate(self.folder / "large.npy", 128 + 2**31)
        done = self.shell("", "judge", "large.npy", "large.npy", before="ulimit -v 1000000")
        self.assertEqual((done.returncode, done.stderr), (1, "openaclnn: there isn't enough memory\n"))


if __name__ == "__main__":
    unittest.main()
