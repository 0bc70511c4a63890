#!/usr/bin/env python3
# Makes the vectors and reads them with both readers, also after single bits were flipped.
"""usage: test_vectors.py MAKE_VECTORS"""
import hashlib
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import read_vectors  # noqa: E402  the reader beside this file

MAKE_VECTORS = pathlib.Path(sys.argv.pop(1)).resolve()
OPERATORS = {"ApplyAdamW", "ApplyFusedEmaAdam", "ApplyFusedEmaAdamList", "Embedding", "EmbeddingDenseBackward", "GroupedBiasAddGrad",
             "NsaCompress", "NsaCompressGrad", "NsaCompressWithCache"}
FLIPS = 8
# Of version 1: the same files from every compiler and for every processor. After release 0.1.0, a change of
# arithmetic or cases makes another version.
SHA256 = {"index.txt": "0430aff04a5c0ec18dd92fc7ffe69a38431090277b1025254d2a5a3fd9e6a36f",
          "data.bin": "377da80391078dc344126d7cc92570ee6e17c12f270a083ca4155c7b8e798c4b"}


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.space.cleanup)
        cls.folder = pathlib.Path(cls.space.name) / "vectors"
        cls.folder.mkdir()
        subprocess.run([MAKE_VECTORS, cls.folder], check=True, stdout=subprocess.DEVNULL)
        cls.reader = pathlib.Path(cls.space.name) / "read_vectors"
        subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", HERE / "read_vectors.c", "-o",
                        cls.reader], check=True)
        cls.cases = read_vectors.read_vectors(cls.folder)

    def in_python(self, folder):
        return subprocess.run([sys.executable, HERE / "read_vectors.py", folder], capture_output=True, text=True)

    def in_c(self, folder):
        return subprocess.run([self.reader, folder], capture_output=True, text=True)

    def test_they_are_the_same_everywhere(self):
        for name, expected in SHA256.items():
            with self.subTest(name):
                self.assertEqual(hashlib.sha256((self.folder / name).read_bytes()).hexdigest(), expected)

    def test_both_readers_accept_them(self):
        for done in (self.in_python(self.folder), self.in_c(self.folder)):
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{len(self.cases)} cases", done.stdout)
            self.assertIn("all checksums are right", done.stdout)

    def test_both_readers_reject_a_flipped_bit(self):
        bad = pathlib.Path(self.space.name) / "bad"
        bits = random.Random(7)
        for name in ("index.txt", "data.bin"):
            good = (self.folder / name).read_bytes()
            for _ in range(FLIPS):
                shutil.copytree(self.folder, bad, dirs_exist_ok=True)
                damaged = bytearray(good)
                at = bits.randrange(len(damaged))
                damaged[at] ^= 1 << bits.randrange(7)  # keeps the index ASCII
                (bad / name).write_bytes(damaged)
                for done in (self.in_python(bad), self.in_c(bad)):
                    self.assertEqual(done.returncode, 1, f"{name} byte {at}: {done.stdout}{done.stderr}")
                    self.assertIn("read_vectors", done.stderr)

    def test_they_cover_every_operator_and_dtype(self):
        self.assertEqual({case.operator for case in self.cases}, OPERATORS)
        for operator in OPERATORS:
            dtypes = {tensor.dtype for case in self.cases if case.operator == operator for tensor in case.results.values()}
            self.assertLessEqual({"FLOAT", "FLOAT16", "BF16"}, dtypes, operator)

    def test_the_prescribed_bits_are_within_the_bounds(self):
        checked = 0
        for case in self.cases:
            for name, exact in case.exact.items():
                result = case.results[name]
                if result.dtype != "FLOAT":
                    continue
                for value, wanted, bound in zip(result.numbers(), exact.numbers(), case.bound[name].numbers()):
                    if math.isnan(bound):
                        continue
                    if not math.isfinite(wanted):
                        self.assertEqual(str(value), str(wanted), case.name)
                    else:
                        self.assertLessEqual(abs(value - wanted), max(abs(value), 2.0**-126) * 2.0**-23 + bound, case.name)
                        checked += 1
        self.assertGreater(checked, 10_000)

    def test_equal_bits_are_counted(self):
        case = next(one for one in self.cases if one.results and all(len(t.data) > 8 for t in one.results.values()))
        mine = {name: bytearray(tensor.data) for name, tensor in case.results.items()}
        self.assertEqual(read_vectors.wrong_elements(case, mine), 0)
        next(iter(mine.values()))[0] ^= 1
        self.assertEqual(read_vectors.wrong_elements(case, mine), 1)

    def test_they_are_the_same_each_time(self):
        again = pathlib.Path(self.space.name) / "again"
        again.mkdir()
        subprocess.run([MAKE_VECTORS, again], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "OPENACLNN_NUM_THREADS": "1", "OPENACLNN_ISA": "scalar"} if os.uname().machine == "x86_64" else None)
        for name in ("index.txt", "data.bin"):
            self.assertEqual((again / name).read_bytes(), (self.folder / name).read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
