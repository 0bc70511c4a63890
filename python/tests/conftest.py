# Shared by the Python tests: the available array libraries, random data, and the reasons of skipped tests.
import importlib
import os
import pathlib
import random
import subprocess
import sys

import hypothesis
import numpy as np
import pytest

import openaclnn

# The same examples in every run, without a time limit: the machine may be busy.
hypothesis.settings.register_profile("openaclnn", deadline=None, max_examples=60, derandomize=True, database=None)
hypothesis.settings.load_profile("openaclnn")


def optional(name):
    """Returns a module or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch = optional("torch")
jax = optional("jax")
ml_dtypes = optional("ml_dtypes")

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(jax is None, reason="JAX is not installed")


def torch_version():
    return tuple(int(part) for part in torch.__version__.split("+")[0].split("a")[0].split(".")[:2]) if torch else (0, 0)


def needs_newer_torch(*version):
    have = torch.__version__ if torch else "none"
    wanted = ".".join(map(str, version))
    return pytest.mark.skipif(torch_version() < version, reason=f"needs PyTorch {wanted}; here is {have}")


FLOATS = ["float32", "float16", "bfloat16"]


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


# Half a unit in the last place, relative.
HALF_ULP = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@pytest.fixture(autouse=True)
def seed():
    """Returns the same numbers in every run; OPENACLNN_TEST_SEED gives others."""
    number = int(os.environ.get("OPENACLNN_TEST_SEED", "1"))
    random.seed(number)
    np.random.seed(number)
    if torch is not None:
        torch.manual_seed(number)
    return number


@pytest.fixture
def type_errors(tmp_path, tmp_path_factory):
    """Returns a function of programs by name that returns the (name, line) of mypy's errors, and what mypy printed."""
    pytest.importorskip("mypy", reason="mypy is not installed, so types are not checked")
    packages = pathlib.Path(openaclnn.__file__).parent.parent
    # mypy finds those itself and rejects a second path to them.
    installed = packages.name in ("site-packages", "dist-packages")
    # One cache for the tests of all processes, because reading PyTorch takes most of the time.
    temporary = tmp_path_factory.getbasetemp()
    cache = (temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary) / "mypy"

    def errors_of(programs):
        for name, text in programs.items():
            (tmp_path / name).write_text(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-sqlite-cache", f"--cache-dir={cache}", *programs],
                              env={**os.environ, "MYPYPATH": "" if installed else str(packages)}, cwd=tmp_path,
                              capture_output=True, text=True, timeout=600)
        lines = [line.split(":") for line in done.stdout.splitlines() if ": error:" in line]
        return {(name, int(number)) for name, number, *_ in lines}, done.stdout + done.stderr

    return errors_of


def pytest_report_header():
    versions = [f"{name} {module.__version__}" for name, module in
                [("numpy", np), ("torch", torch), ("jax", jax), ("ml_dtypes", ml_dtypes)] if module is not None]
    return f"openaclnn {openaclnn.__version__} from {os.path.dirname(openaclnn.__file__)}; " + ", ".join(versions)
