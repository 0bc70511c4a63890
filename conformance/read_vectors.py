#!/usr/bin/env python3
"""Reads openaclnn's conformance vectors. Needs nothing but Python's standard library.

usage: read_vectors.py [FOLDER]

As a program, it verifies all checksums. As a module:

    for case in read_vectors(folder):
        mine = my_kernel(case.operator, case.attributes, case.inputs)  # {name: bytes}
        print(case.name, wrong_elements(case, mine))
"""
import dataclasses
import pathlib
import struct
import sys
import zlib

# The format character of struct for numbers, or None for bytes that only Embedding copies.
NUMBERS = {"FLOAT": "f", "FLOAT16": "e", "DOUBLE": "d", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q", "UINT8": "B",
           "UINT16": "H", "UINT32": "I", "UINT64": "Q", "BOOL": "?"}


@dataclasses.dataclass
class Tensor:
    dtype: str
    shape: tuple
    data: bytes  # row-major, little-endian

    def numbers(self):
        if self.dtype == "BF16":  # the upper half of FLOAT
            wide = b"".join(b"\0\0" + self.data[at:at + 2] for at in range(0, len(self.data), 2))
            return list(struct.unpack(f"<{len(wide) // 4}f", wide))
        character = NUMBERS[self.dtype]
        return list(struct.unpack(f"<{len(self.data) // struct.calcsize(character)}{character}", self.data))


@dataclasses.dataclass
class Case:
    operator: str
    name: str = ""
    attributes: dict = dataclasses.field(default_factory=dict)
    inputs: dict = dataclasses.field(default_factory=dict)   # all by name; those of lists are "grads[0]", "grads[1]", …
    results: dict = dataclasses.field(default_factory=dict)  # the prescribed bits
    exact: dict = dataclasses.field(default_factory=dict)    # the exact result of each element, rounded to DOUBLE
    bound: dict = dataclasses.field(default_factory=dict)


def read_vectors(folder):
    """Returns all cases. Raises ValueError with an error message if a checksum is wrong."""
    folder = pathlib.Path(folder)
    text, data = (folder / "index.txt").read_bytes(), (folder / "data.bin").read_bytes()
    lines = text.decode("ascii").splitlines()
    body, last = text[:text.rindex(b"end ")], lines[-1].split()
    if lines[0] != "openaclnn-vectors 1" or last[0] != "end" or int(last[3], 16) != zlib.crc32(body):
        raise ValueError("index.txt is damaged")
    if int(last[2]) != len(data):
        raise ValueError(f"data.bin has {len(data)} bytes; index.txt names {last[2]}")
    cases = []
    for line in lines[1:-1]:
        kind, _, rest = line.partition(" ")
        words = rest.split()
        if kind == "case":
            cases.append(Case(rest))
        elif kind == "name":
            cases[-1].name = rest
        elif kind == "integer":
            cases[-1].attributes[words[0]] = int(words[1])
        elif kind == "real":
            cases[-1].attributes[words[0]] = float.fromhex(words[1])
        elif kind == "array":
            cases[-1].attributes[words[0]] = [int(word) for word in words[2:]]
        else:
            offset, size = int(words[2]), int(words[3])
            values = data[offset:offset + size]
            if zlib.crc32(values) != int(words[4], 16):
                raise ValueError(f"data.bin is damaged: {kind} {words[0]} of {cases[-1].name}")
            getattr(cases[-1], {"input": "inputs", "result": "results"}.get(kind, kind))[words[0]] = Tensor(
                words[1], tuple(int(word) for word in words[6:]), values)
    return cases


def wrong_elements(case, mine):
    """Returns how many elements of {name: bytes} differ from the prescribed bits."""
    wrong = 0
    for name, wanted in case.results.items():
        count = 1
        for dim in wanted.shape:
            count *= dim
        size = len(wanted.data) // max(count, 1)
        wrong += sum(wanted.data[at:at + size] != mine[name][at:at + size] for at in range(0, len(wanted.data), max(size, 1)))
    return wrong


if __name__ == "__main__":
    try:
        found = read_vectors(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    except (ValueError, OSError) as error:
        sys.exit(f"read_vectors.py: {error}")
    print(f"{len(found)} cases of {len({case.operator for case in found})} operators: all checksums are right")
