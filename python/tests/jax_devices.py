# Calls of openaclnn.jax on two devices, compared with formulas of jax.numpy. A program, because JAX counts devices once a process.
"""Runs the functions of CASES and prints the error of each by name, as JSON; test_jax_devices.py reads it."""
import functools
import json
import os
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import openaclnn.jax as oj

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def values(*shape, seed=1):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape), jnp.float32)


def close(got, want):
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert np.allclose(np.asarray(ours), np.asarray(theirs), atol=1e-5), f"{ours} instead of {theirs}"


def rows(table, ids):
    return table[ids]


def with_bias(x, bias, ends):
    group = jnp.searchsorted(ends, jnp.arange(len(x), dtype=ends.dtype), side="right")
    return x + jnp.where((group < len(ends))[:, None], bias[jnp.minimum(group, len(ends) - 1)], 0)


def windows(tokens, weight):
    return jnp.stack([(weight[:, :, None] * tokens[start:start + 4]).sum(0) for start in range(0, len(tokens) - 3, 2)])


def nsa(tokens, weight):
    return oj.nsa_compress(tokens, weight, 4, 2)


# ---- jax.shard_map


def on_parts(function, specs, out):
    return jax.shard_map(function, mesh=jax.sharding.Mesh(np.array(jax.devices()), ("d",)), in_specs=specs, out_specs=out)


def loss(function, *arrays):
    return jnp.sin(function(*arrays)).sum()


def same_gradients(ours, plain, arrays, specs, wanted, out=P("d")):
    """Compares gradients taken inside and outside jax.shard_map. wanted: the arrays that have one."""
    def outside(function):
        return jax.grad(functools.partial(loss, on_parts(function, specs, out)), wanted)

    def inside(function):
        return on_parts(jax.grad(functools.partial(loss, function), wanted), specs, tuple(specs[number] for number in wanted))

    for make in (inside, outside):
        close(jax.jit(make(ours))(*arrays), jax.jit(make(plain))(*arrays))


@case
def embedding_of_a_replicated_table():
    same_gradients(oj.embedding, rows, (values(5, 3), jnp.array([1, 2, 0, 4])), (P(), P("d")), (0,))


@case
def embedding_of_a_sharded_table():
    same_gradients(oj.embedding, rows, (values(6, 3), jnp.array([1, 2, 0])), (P("d"), P()), (0,))


@case
def embedding_of_replicated_arrays():
    same_gradients(oj.embedding, rows, (values(6, 3), jnp.array([1, 2, 0])), (P(), P()), (0,), P())


@case
def embedding_under_vmap():
    ours, plain = (jax.vmap(function, (None, 0)) for function in (oj.embedding, rows))
    same_gradients(ours, plain, (values(5, 3), jnp.array([[1, 2], [0, 4], [1, 1], [3, 0]])), (P(), P("d")), (0,))


@case
def embedding_without_jit():
    table, ids = values(5, 3), jnp.array([1, 2, 0, 4])
    got, want = (jax.grad(lambda table: loss(on_parts(function, (P(), P("d")), P("d")), table, ids))(table)
                 for function in (oj.embedding, rows))
    close(got, want)


@case
def embedding_dense_backward():
    grad, ids = values(4, 3), jnp.array([1, 2, 1, 4])
    summed = on_parts(lambda grad, ids: jax.lax.psum(oj.embedding_dense_backward(grad, ids, 5), "d"), (P("d"), P("d")), P())
    close(summed(grad, ids), oj.embedding_dense_backward(grad, ids, 5))


@case
def grouped_bias_add_of_a_replicated_bias():
    same_gradients(oj.grouped_bias_add, with_bias, (values(12, 3), values(2, 3), jnp.array([2, 5])), (P("d"), P(), P()), (0, 1))


@case
def grouped_bias_add_of_a_sharded_bias():
    same_gradients(oj.grouped_bias_add, with_bias, (values(6, 3), values(4, 3), jnp.array([2, 5, 1, 6])), (P(), P("d"), P("d")),
                   (0, 1))


@case
def nsa_compress_with_replicated_weights():
    same_gradients(nsa, windows, (values(16, 2, 3), values(4, 2)), (P("d"), P()), (0, 1))


@case
def nsa_compress_of_replicated_tokens():
    same_gradients(nsa, windows, (values(16, 2, 3), values(4, 4, seed=2)), (P(), P(None, "d")), (0, 1), P(None, "d"))


def two_steps(grad, *state):
    return jax.lax.fori_loop(0, 2, lambda done, state: oj.apply_fused_ema_adam(grad, *state, done + 1, 0.1), state)


@case
def optimizer_steps_in_a_loop():
    arrays = (values(8, 3), *(abs(values(8, 3, seed=seed)) for seed in range(4)))
    close(jax.jit(on_parts(two_steps, P("d"), P("d")))(*arrays), two_steps(*arrays))


@case
def a_varying_result_is_not_replicated():
    table, state = values(5, 3), [abs(values(8, 3))] * 5
    for function, arrays in ((lambda ids: oj.embedding(table, ids), [jnp.array([1, 2, 0, 4])]),
                             (lambda *state: oj.apply_fused_ema_adam(*state, 1), state)):
        try:
            on_parts(function, P("d"), P())(*arrays)
        except Exception as error:
            assert "out_specs" in str(error), error
        else:
            raise AssertionError("JAX took the parts of one device for those of all")


# ---- meshes with explicit axes


def placed(array, *spec):
    return jax.device_put(array, P(*spec))


def same_kinds(got, models):
    for ours, model in zip(got, models, strict=True):
        assert jax.typeof(ours) == jax.typeof(model), f"{jax.typeof(ours)} instead of {jax.typeof(model)}"


def same_sharded_gradients(ours, plain, arrays, specs, wanted):
    """Compares gradients of sharded arrays with those of whole ones, and their shardings with those of the arrays."""
    want = jax.grad(functools.partial(loss, plain), wanted)(*arrays)
    with jax.set_mesh(jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))):
        parts = [placed(array, *spec) for array, spec in zip(arrays, specs)]
        got = jax.jit(jax.grad(functools.partial(loss, ours), wanted))(*parts)
        close(got, want)
        same_kinds(got, [parts[number] for number in wanted])


@case
def gradients_of_a_sharded_embedding():
    for specs in ((("d",), ()), ((), ("d",)), ((None, "d"), ("d",))):
        same_sharded_gradients(oj.embedding, rows, (values(6, 4), jnp.array([1, 2, 0, 4])), specs, (0,))


@case
def gradients_of_a_sharded_grouped_bias_add():
    arrays = (values(6, 4), values(2, 4), jnp.array([2, 5]))
    for specs in ((("d",), (), ()), ((), ("d",), ("d",)), ((None, "d"), (None, "d"), ())):
        same_sharded_gradients(oj.grouped_bias_add, with_bias, arrays, specs, (0, 1))


@case
def gradients_of_a_sharded_nsa_compress():
    for specs in ((("d",), ()), ((None, "d"), (None, "d"))):
        same_sharded_gradients(nsa, windows, (values(16, 2, 3), values(4, 2)), specs, (0, 1))


@case
def optimizer_state_stays_sharded():
    arrays = [values(8, 4), *(abs(values(8, 4, seed=seed)) for seed in range(4))]
    want = two_steps(*arrays)
    with jax.set_mesh(jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))):
        for spec in (("d",), (None, "d")):
            grad, *state = (placed(array, *spec) for array in arrays)
            same_kinds(oj.apply_fused_ema_adam(grad, *state, 1), state)
            got = jax.jit(two_steps)(grad, *state)
            close(got, want)
            same_kinds(got, state)


def main():
    errors = {}
    for name, function in CASES.items():
        try:
            assert len(jax.devices()) == 2
            function()
            errors[name] = ""
        except Exception:
            errors[name] = traceback.format_exc()[-3000:]
    json.dump(errors, sys.stdout)


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    main()
