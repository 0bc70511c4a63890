"""Pairs of results as the programs of this folder exchange them: a line of JSON, then the bytes of the arrays."""

import dataclasses
import json
import subprocess
import tempfile

import numpy as np

# ACL code: name, NumPy dtype of the elements. BF16 has none; its elements are bits.
DTYPES = {
    0: ("FLOAT", np.float32), 1: ("FLOAT16", np.float16), 2: ("INT8", np.int8), 3: ("INT32", np.int32), 4: ("UINT8", np.uint8),
    6: ("INT16", np.int16), 7: ("UINT16", np.uint16), 8: ("UINT32", np.uint32), 9: ("INT64", np.int64), 10: ("UINT64", np.uint64),
    11: ("DOUBLE", np.float64), 12: ("BOOL", np.uint8), 16: ("COMPLEX64", np.complex64), 17: ("COMPLEX128", np.complex128), 27: ("BF16", np.uint16),
}
CODES = {name: code for code, (name, _) in DTYPES.items()}


@dataclasses.dataclass
class Tensor:
    dtype: str
    elements: np.ndarray  # of any shape; BF16: bits

    def head(self):
        return {"dtype": CODES[self.dtype], "dims": list(self.elements.shape)}


@dataclasses.dataclass
class Pair:
    device: Tensor
    golden: Tensor
    bound: np.ndarray = None
    third: Tensor = None
    settings: dict = dataclasses.field(default_factory=dict)
    label: str = ""


def write_pair(stream, pair, rules=None, metrics=False):
    head = {"device": pair.device.head(), "golden": pair.golden.head(), "bound": pair.bound is not None, "settings": pair.settings,
            "metrics": metrics}
    if pair.third is not None:
        head["third"] = pair.third.head()
    if rules is not None:
        head["rules"] = rules
    stream.write(json.dumps(head).encode() + b"\n")
    for array in (pair.device.elements, pair.golden.elements, pair.bound, pair.third and pair.third.elements):
        if array is not None:
            stream.write(np.ascontiguousarray(array).tobytes())


def read_pairs(stream):
    """Yields (head, pair) until the stream ends."""
    def array(dtype, dims):
        count = int(np.prod(dims, dtype=np.int64))
        return np.frombuffer(stream.read(count * np.dtype(dtype).itemsize), dtype).reshape(dims)

    def tensor(head):
        name, dtype = DTYPES[head["dtype"]]
        return Tensor(name, array(dtype, head["dims"]))

    while line := stream.readline():
        head = json.loads(line)
        device, golden = tensor(head["device"]), tensor(head["golden"])
        bound = array(np.float64, head["golden"]["dims"]) if head["bound"] else None
        yield head, Pair(device, golden, bound, label=head["label"])


def judged(program, pairs, rules=None, metrics=False):
    """Yields for every pair what the program prints: {rule: result}, or with metrics {rule: {"result", "reason", "metrics"}}."""
    with tempfile.TemporaryFile() as requests, tempfile.TemporaryFile() as answers:
        for pair in pairs:
            write_pair(requests, pair, rules, metrics)
        requests.seek(0)
        subprocess.run([program], stdin=requests, stdout=answers, check=True)
        answers.seek(0)
        for line in answers:
            yield json.loads(line)
