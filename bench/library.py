# The C functions of libopenaclnn_bench.so as Python objects, and their descriptions of workloads.
"""Interface: see bench_api.cc. Only this module knows that the library is C."""
import ctypes
import dataclasses
import json

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8}
OURS, REFERENCE, ARITHMETIC = 0, 1, 2  # numbers of the contestants that the library holds


@dataclasses.dataclass(frozen=True)
class Workload:
    """One operator at one shape."""
    name: str
    operator: str
    dtype: str = ""
    size: str = ""  # memory, L2 or L1: where the tensors fit; empty if that does not matter
    variant: str = ""  # distribution of indices or groups
    shape: dict = dataclasses.field(default_factory=dict)
    bytes: int = 0  # the fewest that one call must move; 0 if time, not traffic, matters
    reference: str = ""  # description of contestant 1; empty if there is none
    tensors: dict = dataclasses.field(default_factory=dict)  # name -> [dims, dtype]
    attributes: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, description):
        """Makes a workload from its JSON object; keys of later versions are ignored."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in description.items() if key in known})

    def summary(self):
        """Returns the fields that reports keep: all except the list of tensors."""
        result = dataclasses.asdict(self)
        del result["tensors"], result["attributes"]
        return result

    @property
    def row_bytes(self):
        """Bytes of one row of a table."""
        return self.shape.get("columns", 0) * ELEMENT_BYTES.get(self.dtype, 0)

    @property
    def row_elements(self):
        """Elements of one token: N·D."""
        return self.shape.get("heads", 1) * self.shape.get("columns", 0)


class Library:
    """The loaded library. It reads its instruction set and threads from the environment at its first use."""

    def __init__(self, path):
        try:
            c = ctypes.CDLL(str(path))
            c.bench_workloads.restype = ctypes.c_int
        except (OSError, AttributeError) as error:
            raise SystemExit(f"--library: {path} isn't a libopenaclnn_bench.so: {error}") from None
        c.bench_describe.argtypes, c.bench_describe.restype = [ctypes.c_int], ctypes.c_char_p
        c.bench_open.argtypes, c.bench_open.restype = [ctypes.c_int], ctypes.c_void_p
        c.bench_run.argtypes, c.bench_run.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int], ctypes.c_double
        c.bench_tensor.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
        c.bench_tensor.restype = ctypes.c_void_p
        if hasattr(c, "bench_probe"):  # builds before the probe can still be measured
            c.bench_probe.argtypes, c.bench_probe.restype = [ctypes.c_int], ctypes.c_double
        c.bench_close.argtypes, c.bench_close.restype = [ctypes.c_void_p], None
        self.c = c
        self.workloads = [Workload.of(json.loads(c.bench_describe(i))) for i in range(c.bench_workloads())]

    def probe(self):
        """Returns the bytes per second at which all cores, and one alone, read memory now; None if the library can't measure it."""
        return [self.c.bench_probe(0), self.c.bench_probe(1)] if hasattr(self.c, "bench_probe") else None

    def open(self, name):
        number = next((i for i, workload in enumerate(self.workloads) if workload.name == name), None)
        if number is None:
            raise LookupError(f"there is no workload {name}")
        handle = self.c.bench_open(number)
        if not handle:
            raise RuntimeError(f"{name} could not be opened")
        return OpenWorkload(self.c, handle, self.workloads[number])


class OpenWorkload:
    """A workload with its memory; a context manager that frees the memory."""

    def __init__(self, c, handle, workload):
        self.c, self.handle, self.workload = c, handle, workload

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.c.bench_close(self.handle)

    def run(self, contestant, calls):
        """Returns the seconds of `calls` calls, one after the other."""
        seconds = self.c.bench_run(self.handle, contestant, calls)
        if seconds < 0:
            raise RuntimeError(f"{self.workload.name}: contestant {contestant} failed")
        return seconds

    def has(self, contestant):
        """Returns whether the contestant exists; costs one call of it."""
        return self.c.bench_run(self.handle, contestant, 1) >= 0

    def memory(self, tensor):
        """The bytes of a tensor, as a ctypes array that borrows them."""
        size = ctypes.c_int64()
        address = self.c.bench_tensor(self.handle, tensor.encode(), ctypes.byref(size))
        if not address:
            raise LookupError(f"{self.workload.name} has no tensor {tensor}")
        return (ctypes.c_uint8 * size.value).from_address(address)
