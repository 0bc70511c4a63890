# Runs in its own process: fakes the parts of CuPy and PyTorch that the package uses, with arrays on the emulated GPU in host
# memory.
"""usage: fake_gpu.py LIBRARY FILE: writes the results that test_gpu.py compares into an .npz file, or prints the failed checks.

LIBRARY: cupy or torch, both fake; or real-cupy, real-torch, on a real GPU."""
import ctypes
import os
import subprocess
import sys
import types

import numpy as np

import openaclnn

CUDA = 2  # DLPack's number


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class FakeArray:
    """Returns an array on GPU `index` with the elements of a NumPy array."""

    def __init__(self, host, index=0):
        self.host, self.index = host, index
        self.dtype, self.shape = host.dtype, host.shape

    def __dlpack__(self, **options):
        """A capsule that lives only as long as this array."""
        numbers = ctypes.c_int64 * max(self.host.ndim, 1)
        code = {"i": 0, "u": 1, "f": 2}[self.host.dtype.kind]
        self.kept = managed = Managed()
        self.shape_of, self.strides_of = numbers(*self.shape), numbers(*(s // self.host.itemsize for s in self.host.strides))
        managed.tensor = DLTensor(self.host.ctypes.data, Device(CUDA, self.index), self.host.ndim, code, self.host.itemsize * 8, 1,
                                  self.shape_of, self.strides_of, 0)
        return new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def __dlpack_device__(self):
        return CUDA, self.index


class FakeTensor(FakeArray):
    """The same with PyTorch's attributes."""
    is_sparse = is_quantized = False
    __dlpack__ = __dlpack_device__ = None

    def __init__(self, host, index=0):
        super().__init__(host, index)
        self.dtype, self.device = f"torch.{host.dtype}", types.SimpleNamespace(type="cuda", index=index)

    def data_ptr(self):
        return self.host.ctypes.data

    def stride(self):
        return [s // self.host.itemsize for s in self.host.strides]

    def is_conj(self):
        return False

    is_neg = is_conj


def fake_library(name, stream):
    """Makes the module cupy or torch: its array type, its functions that make arrays, and its current stream."""
    library = types.ModuleType(name)
    array = FakeArray if name == "cupy" else FakeTensor
    array.__module__ = name
    library.array = array
    library.kept = []  # a stream's work uses memory after its array is deleted; here memory is never reused

    def full(shape, value, dtype, **place):
        library.kept.append(np.full(shape, value, str(dtype).removeprefix("torch.")))
        return array(library.kept[-1])

    library.full, library.empty = full, lambda shape, **options: full(shape, 77, **options)
    for dtype in ("float32", "float16", "int64", "int32", "uint8"):
        setattr(library, dtype, dtype)
    if name == "torch":
        library.Tensor = FakeTensor
        library.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=stream))
    else:
        library.cuda = types.SimpleNamespace(get_current_stream=lambda device: library.stream)
        library.stream = types.SimpleNamespace(ptr=stream)
    sys.modules[name] = library
    return library


def inputs():
    random = np.random.default_rng(5)
    floats = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731
    return {"table": floats(50, 24)[:, ::2], "indices": random.integers(0, 50, (7, 9)), "rows": floats(7, 9, 12), "x": floats(40, 6),
            "ends": np.array([3, 3, 31]), "tokens": floats(40, 2, 8), "weight": floats(6, 2), "windows": floats(9, 2, 8),
            "grad": floats(1000), "state": [np.abs(floats(1000)) for _ in range(4)], "slots": np.array([2, 0], np.int32),
            "pages": floats(5, 4, 2, 8), "page_table": np.array([[3, 0], [1, 4]], np.int32), "cache": floats(3, 2, 8)}


def results(make, host):
    """Runs every function on arrays that make() makes; host() returns the elements of a finished array."""
    a = {name: [make(x) for x in value] if isinstance(value, list) else make(value) for name, value in inputs().items()}
    outputs = {
        "embedding": openaclnn.embedding(a["table"], a["indices"]),
        "embedding_grad": openaclnn.embedding_dense_backward(a["rows"], a["indices"], 50),
        "bias_grad": openaclnn.grouped_bias_add_grad(a["x"], a["ends"]),
        "compressed": openaclnn.nsa_compress(a["tokens"], a["weight"], 6, 4, actual_seq_len=[17, 40]),
    }
    outputs["tokens_grad"], outputs["weight_grad"] = openaclnn.nsa_compress_grad(a["windows"], a["tokens"], a["weight"], 6, 4)
    state = a["state"]
    openaclnn.apply_fused_ema_adam_(a["grad"], *state, 3)
    openaclnn.apply_fused_ema_adam_([a["grad"]], *([x] for x in state), make(np.array([4])), grad_scale=2.0)
    openaclnn.apply_adam_w_(a["grad"], *state[:3], 4, max_v=state[3])
    outputs["cache"] = openaclnn.nsa_compress_with_cache_(a["pages"], a["weight"], a["slots"], a["cache"], 6, 2, [8, 6],
                                                          block_table=a["page_table"])
    outputs.update({f"state{k}": x for k, x in enumerate(state)})
    openaclnn.synchronize()
    return {name: host(x) for name, x in outputs.items()}


def compare(library, plugin, path):
    """Runs this file for an array library in a process that computes on GPUs. The results must equal the CPU's here."""
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, library, str(path)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "OPENACLNN_DEVICE": "cuda", "OPENACLNN_CUDA_PLUGIN": str(plugin)})
    assert done.returncode == 0, done.stdout + done.stderr
    expected = results(lambda x: x.copy(), lambda x: x)
    found = np.load(path)
    assert set(found) == set(expected)
    for name, values in expected.items():
        if name == "weight_grad":  # the device has its own order of additions
            np.testing.assert_allclose(found[name], values, rtol=1e-5)
        else:
            assert found[name].tobytes() == values.tobytes(), name


def expect(kind, words, call):
    try:
        call()
    except Exception as failure:  # noqa: BLE001
        assert isinstance(failure, kind), repr(failure)
        assert words in str(failure), failure
        return
    raise AssertionError(f"no error that says {words!r}")


def check_refusals(library):
    table, indices = library.array(np.ones((3, 2), np.float32)), library.array(np.array([1, 2]))
    expect(ValueError, "indices is in memory of the host, but OPENACLNN_DEVICE is cuda", lambda: openaclnn.embedding(table, np.array([1])))
    expect(ValueError, "indices is on cuda:1, but arrays before it are on cuda:0",
           lambda: openaclnn.embedding(table, library.array(np.array([1, 2]), 1)))
    expect(ValueError, "embedding_counts is computed by the host", lambda: openaclnn.embedding_counts(indices, 3))
    expect(ValueError, "vocab_start and vocab_end, is computed by the host",
           lambda: openaclnn.embedding(table, indices, vocab_start=0, vocab_end=3))


def check_order(library, stream, gpu):
    """Tests that work waits in the library's stream, and that synchronize() reports faults."""
    table, out = library.array(np.ones((3, 2), np.float32)), library.array(np.zeros((2, 2), np.float32))
    gpu.openaclnn_fake_cuda(b"held")
    openaclnn.embedding(table, library.array(np.array([1, 2])), out=out)
    assert not out.host.any(), "the call waited, or used another stream"
    gpu.openaclnn_fake_cuda(b"")
    assert gpu.cudaStreamSynchronize(ctypes.c_void_p(stream)) == 0
    assert out.host.all()
    openaclnn.embedding(table, library.array(np.array([1, 3])), out=out)
    expect(openaclnn.AclnnIndexError, "indices[1] = 3", openaclnn.synchronize)
    openaclnn.synchronize()


def check_capture(library, stream, gpu):
    """Tests that a CUDA graph can contain a call with its workspace and its numbers, which computes when the graph is
    launched."""
    handle, graph, launchable = ctypes.c_void_p(stream), ctypes.c_void_p(), ctypes.c_void_p()
    state = [library.array(np.ones(8, np.float32)) for _ in range(4)]
    assert gpu.cudaStreamBeginCapture(handle, 0) == 0
    openaclnn.apply_fused_ema_adam_(library.array(np.ones(8, np.float32)), *state, 1)
    assert gpu.cudaStreamEndCapture(handle, ctypes.byref(graph)) == 0
    assert gpu.cudaGraphInstantiate(ctypes.byref(launchable), graph, ctypes.c_ulonglong(0)) == 0
    assert all((x.host == 1).all() for x in state), "the call was not captured"
    assert gpu.cudaGraphLaunch(launchable, handle) == 0
    openaclnn.synchronize()
    assert all((x.host != 1).all() for x in state[:1])


class OwnStream:
    """A CuPy stream, which is destroyed with its last reference."""

    def __init__(self, gpu):
        handle = ctypes.c_void_p()
        assert gpu.cudaStreamCreateWithFlags(ctypes.byref(handle), 1) == 0
        self.gpu, self.ptr = gpu, handle.value

    def __del__(self):
        OwnStream.destroyed += 1
        assert self.gpu.cudaStreamDestroy(ctypes.c_void_p(self.ptr)) == 0

    destroyed = 0


def check_own_streams(library, gpu):
    """Tests that a stream whose last reference the program drops lives until its work has been waited for, and not much
    longer."""
    table, indices = library.array(np.ones((3, 2), np.float32)), library.array(np.array([1, 2]))
    before = library.stream
    for _ in range(3):
        library.stream = OwnStream(gpu)
        out = openaclnn.embedding(table, indices)
        library.stream = before
        assert OwnStream.destroyed == 0, "the stream of a call is gone before its work"
    openaclnn.synchronize()
    assert out.host.all() and OwnStream.destroyed == 3, OwnStream.destroyed
    library.stream = OwnStream(gpu)
    for _ in range(2):
        openaclnn.embedding(table, library.array(np.array([1, 3])))
        expect(openaclnn.AclnnIndexError, "indices[1] = 3", openaclnn.synchronize)
        openaclnn.synchronize()
        assert OwnStream.destroyed == 3, "the program still has the stream"
    library.stream = types.SimpleNamespace(ptr=2)
    expect(openaclnn.AclnnError, "nativeStream is cudaStreamPerThread (0x2)", lambda: openaclnn.embedding(table, indices))
    library.stream = before
    openaclnn.synchronize()
    assert OwnStream.destroyed == 4


def main(name, path):
    if name == "real-cupy":
        import cupy

        with cupy.cuda.Stream(non_blocking=True):
            np.savez(path, **results(cupy.asarray, cupy.asnumpy))
        return
    if name == "real-torch":
        import torch

        with torch.cuda.stream(torch.cuda.Stream()):
            np.savez(path, **results(lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy()))
        return
    stream = ctypes.c_void_p()
    gpu = ctypes.CDLL(os.environ["OPENACLNN_CUDA_PLUGIN"])
    assert gpu.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
    library = fake_library(name, stream.value)
    np.savez(path, **results(library.array, lambda x: x.host))
    check_refusals(library)
    check_order(library, stream.value, gpu)
    check_capture(library, stream.value, gpu)
    if name == "cupy":  # PyTorch's streams live as long as the process
        check_own_streams(library, gpu)


if __name__ == "__main__":
    main(*sys.argv[1:])
