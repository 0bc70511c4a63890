# openaclnn.jax on several devices: gradients inside jax.shard_map, and arrays sharded over explicit axes.
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import jax, needs_jax

# jax.set_mesh is younger than the types that these tests are about.
HAS_TYPES = jax is not None and hasattr(jax, "set_mesh")
pytestmark = [needs_jax, pytest.mark.skipif(not HAS_TYPES, reason="needs JAX 0.8 or later")]
if HAS_TYPES:
    from jax_devices import CASES


@pytest.fixture(scope="module")
def errors():
    """Returns the errors of all cases by name. One process runs them, because it takes JAX seconds to start."""
    program = pathlib.Path(__file__).with_name("jax_devices.py")
    done = subprocess.run([sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES if HAS_TYPES else [])
def test_two_devices(errors, name):
    assert not errors[name], errors[name]
