# Shared by the tests of the program openaclnn: running it, reading its files, and checking rejections.
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()  # the first argument of every test program
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINING = ["ApplyFusedEmaAdam", "Embedding", "EmbeddingDenseBackward", "GroupedBiasAddGrad", "NsaCompress",
            "NsaCompressGrad"]  # of the demo
OPERATORS = [*TRAINING, "ApplyFusedEmaAdamList", "ApplyAdamW", "ApplyAdamWV2", "NsaCompressWithCache"]


def npy_bytes(descr, shape, data, fortran=False, header=None):
    text = header or f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    text = text.ljust(118 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def safetensors_bytes(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length], {})  # our own file
    return header["descr"], header["shape"], data[10 + length:]


class CliTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def run_cli(self, *words, code=0, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENACLNN_")}
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env={**clean, "TERM": "xterm", **environment}, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        self.assertNotIn("\033", done.stdout + done.stderr, "colours without a terminal")
        return done

    def refuse(self, *words, contains=""):
        """Asserts bad input: exit 2, one error message on stderr, nothing on stdout, no new file."""
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        done = self.run_cli(*words, code=2)
        self.assertEqual(done.stdout, "", words)
        self.assertRegex(done.stderr, r"\Aopenaclnn: [^\n]+\n\Z", words)
        self.assertIn(contains, done.stderr)
        after = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.assertEqual(before, after, f"{words} wrote something")

    def write(self, name, data):
        (self.folder / name).write_bytes(data)
        return name

    def write_table(self):
        self.write("table.npy", npy_bytes("<f4", (4, 2), floats(0, 1, 10, 11, 20, 21, 30, 31)))
        self.write("ids.npy", npy_bytes("<i4", (3,), struct.pack("<3i", 2, 0, 3)))


class ShellTest(CliTest):
    def shell(self, redirection, *words, before="", **environment):
        """Runs the program under a shell that redirects its streams."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENACLNN_")}
        return subprocess.run(["bash", "-c", f'{before}\n"$0" "$@" {redirection}', PROGRAM, *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True, timeout=300, env={**clean, **environment})
