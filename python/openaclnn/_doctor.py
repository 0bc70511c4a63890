# openaclnn.doctor(): reports the installation, and runs an operator with each array library that is installed.
import importlib
import importlib.metadata
import os
import platform

from openaclnn import _native
from openaclnn._platform import computes_on_gpu
from openaclnn.errors import AclnnError


def version() -> str:
    """Returns the version of the installed package."""
    try:
        return importlib.metadata.version("openaclnn")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _numpy_check():
    import numpy

    table = numpy.arange(8, dtype=numpy.float32).reshape(4, 2)
    rows = _native.embedding(table, numpy.array([2, 0]))
    return numpy.array_equal(rows, table[[2, 0]])


def _bfloat16_check():
    import ml_dtypes
    import numpy

    table = numpy.arange(8).astype(ml_dtypes.bfloat16).reshape(4, 2)
    rows = _native.embedding(table, numpy.array([2, 0]))
    return numpy.array_equal(rows.astype(numpy.float32), table[[2, 0]].astype(numpy.float32))


def _torch_check():
    import torch

    device = "cuda" if computes_on_gpu else "cpu"
    table = torch.arange(8, dtype=torch.float32, device=device).reshape(4, 2)
    return torch.equal(_native.embedding(table, torch.tensor([2, 0], device=device)), table[[2, 0]])


def _cupy_check():
    import cupy

    table = cupy.arange(8, dtype=cupy.float32).reshape(4, 2)
    return bool((_native.embedding(table, cupy.array([2, 0])) == table[[2, 0]]).all())


def _jax_check():
    import jax.numpy
    import numpy

    table = jax.numpy.arange(8, dtype=jax.numpy.float32).reshape(4, 2)
    rows = _native.embedding(table, jax.numpy.array([2, 0], dtype=jax.numpy.int32))
    return numpy.array_equal(rows, numpy.asarray(table)[[2, 0]])


if computes_on_gpu:
    _CHECKS = {"cupy": _cupy_check, "torch": _torch_check}
else:
    _CHECKS = {"numpy": _numpy_check, "ml_dtypes": _bfloat16_check, "torch": _torch_check, "jax": _jax_check}


def _library_line(name, check):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        return True, f"{name}: cannot be imported ({error})"
    try:
        right = check()
    except Exception as error:  # doctor() reports any error of an installation
        return False, f"{name} {module.__version__}: fails: {type(error).__name__}: {error}"
    return right, f"{name} {module.__version__}: {'works' if right else 'computes something else'}"


_MEMORY_IS_UNKNOWN = 207000  # aclrtGetMemInfo without /proc


def _devices_line():
    try:
        free, total = _native.memory_info()
        memory = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
    except AclnnError as error:
        if error.code != _MEMORY_IS_UNKNOWN:
            return False, f"devices: none: {error}"
        memory = "memory unknown"
    return True, f"devices: {_native.device_count()} ({_native.soc_name()}), {memory}, {os.cpu_count()} CPUs, {platform.machine()}"


def doctor() -> bool:
    """Prints versions, devices and settings, and tests each array library that can be imported.

    Returns True if everything that is installed works.
    """
    interface = ".".join(str(number) for number in _native.interface_version())
    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith("OPENACLNN_")}
    print(f"openaclnn {version()}, interface {interface}, Python {platform.python_version()}")
    print(f"library: {_native.library_path()}")
    healthy, line = _devices_line()
    print(line)
    print("settings: " + (", ".join(f"{name}={value}" for name, value in settings.items()) or "none"))
    for name, check in _CHECKS.items():
        right, line = _library_line(name, check)
        healthy = healthy and right
        print(line)
    return healthy
