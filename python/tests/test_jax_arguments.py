# The numbers and flags of openaclnn.jax that must be known while JAX traces, and the error messages for others.
import functools

import numpy as np
import pytest

from conftest import jax, needs_jax

pytestmark = needs_jax
if jax is not None:
    import jax.numpy as jnp

    import openaclnn.jax as oj

    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

NUMBERS = ["ema_decay", "beta1", "beta2", "eps", "weight_decay"]


def step_with(step=1, lr=0.1, **more):
    arrays = [jnp.linspace(0.1 * place, 1, 4, dtype=jnp.float32) for place in range(5)]
    return oj.apply_fused_ema_adam(*arrays, step, lr, **more)


def same(got, want):
    for ours, theirs in zip(got, want):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.parametrize("name", [*NUMBERS, "lr"])
@pytest.mark.parametrize("number", [None, "0.1", b"1", 1j, [0.1], {}])
def test_other_objects_are_not_numbers(name, number):
    for call in (step_with, lambda **numbers: jax.jit(lambda: step_with(**numbers))()):
        with pytest.raises(TypeError, match=f"^{name} is of type {type(number).__name__}; a number is needed"):
            call(**{name: number})


@pytest.mark.parametrize("name", [*NUMBERS, "lr"])
def test_arrays_that_are_not_one_real_number(name):
    for make in (np.asarray, jnp.asarray):
        with pytest.raises(ValueError, match=rf"^{name} has shape \[2\]; it must be one number$"):
            step_with(**{name: make([0.1, 0.2])})
        with pytest.raises(TypeError, match=f"^{name} has dtype complex64; it must be a floating-point or integer dtype$"):
            step_with(**{name: make(np.complex64(1j))})
    with pytest.raises(TypeError, match=f"^{name} has dtype <U3; it must be"):
        step_with(**{name: np.array("0.1")})


@pytest.mark.parametrize("name", NUMBERS)
def test_traced_numbers_are_refused_by_name(name):
    with pytest.raises(TypeError, match=f"^{name} is traced; it must be static: a number"):
        jax.jit(lambda number: step_with(**{name: number}))(0.5)


@pytest.mark.parametrize("name", [*NUMBERS, "lr"])
def test_numbers_of_all_libraries_are_accepted(name):
    want = step_with(**{name: 0.5})
    for number in (np.float32(0.5), np.array(0.5), np.array([0.5]), jnp.float32(0.5), jnp.bfloat16(0.5), jnp.array([0.5])):
        same(step_with(**{name: number}), want)
    same(step_with(**{name: True}), step_with(**{name: 1}))
    with pytest.raises(ValueError, match=f"^{name} is 1000.*; a number of float64's range is needed"):
        step_with(**{name: 10**400})


def flags(flag):
    table, ids = jnp.ones((7, 4)), jnp.array([0, 1])
    return {"bias_correction": lambda: step_with(bias_correction=flag),
            "scale_grad_by_freq": lambda: oj.embedding(table, ids, -1, flag),
            "scale_grad_by_freq ": lambda: oj.embedding_dense_backward(table[:2], ids, 7, -1, flag)}


@pytest.mark.parametrize("name", ["bias_correction", "scale_grad_by_freq", "scale_grad_by_freq "])
def test_flags(name):
    for flag in ("no", None, 1.0, [True]):
        with pytest.raises(TypeError, match=f"^{name.strip()} is of type {type(flag).__name__}; a bool is needed"):
            flags(flag)[name]()
    with pytest.raises(ValueError, match=f"^{name.strip()} is 2; a bool is needed"):
        flags(2)[name]()
    with pytest.raises(TypeError, match=f"^{name.strip()} is traced; it must be static: a bool"):
        jax.jit(lambda flag: flags(flag)[name]())(True)
    for flag in (False, True):
        want = jax.tree.leaves(flags(flag)[name]())
        for other in (int(flag), np.bool_(flag)):
            same(jax.tree.leaves(flags(other)[name]()), want)


@pytest.mark.parametrize("step", [2**31, 2**32 + 5, -2**31 - 1])
def test_steps_outside_32_bits_do_not_wrap(step):
    for make in (int, np.int64, np.array):
        with pytest.raises(ValueError, match=f"^step is {step}; an int of 32 bits is needed"):
            step_with(make(step), bias_correction=False)


def test_ints_outside_64_bits():
    with pytest.raises(ValueError, match=f"^padding_idx is {2**63}; an int of 64 bits is needed"):
        oj.embedding(jnp.ones((7, 4)), jnp.array([0]), 2**63)


def test_traced_steps_outside_32_bits_do_not_wrap():
    """2**32 + 1 has the lower 32 bits of the first step."""
    step_of = jax.jit(step_with)
    with enable_x64(True):
        last = step_of(jnp.int32(2**31 - 1))
        for step in (jnp.int64(2**32 + 1), jnp.int64(2**31), jnp.uint32(2**32 - 1)):
            same(step_of(step), last)
        with pytest.raises(Exception, match="step is -2147483648; with bias_correction it must be at least 1"):
            jax.block_until_ready(step_of(jnp.int64(-2**32 + 1)))


def test_indices_of_numpy_are_not_truncated():
    """JAX has 32 bits by default. The lower 32 bits of these indices would be valid."""
    table, rows = np.arange(6, dtype=np.float32).reshape(3, 2), np.ones((2, 2), np.float32)
    calls = [("indices", lambda ids: oj.embedding(table, ids)),
             ("indices", lambda ids: jax.jit(lambda table: oj.embedding(table, ids))(table)),
             ("indices", lambda ids: oj.embedding_dense_backward(rows, ids, 3)),
             ("group_idx", lambda ends: oj.grouped_bias_add_grad(rows, ends))]
    for name, call in calls:
        for entry in (2**32, -2**32 + 1):
            with pytest.raises(IndexError, match=f"^{name} has the entry {entry}; without jax_enable_x64 entries must fit into 32 bits"):
                call(np.array([1, entry]))
    same([oj.embedding(table, np.array([2, 0]))], [table[[2, 0]]])
    with enable_x64(True), pytest.raises(Exception, match=r"indices\[1\] = 4294967296 is outside \[0, 3\)"):
        jax.block_until_ready(oj.embedding(table, np.array([1, 2**32])))


@pytest.mark.parametrize("lengths", [16, 16.0, "16", np.array(16), np.int64(16)])
def test_lengths_that_are_not_lists(lengths):
    compress = functools.partial(oj.nsa_compress, jnp.ones((16, 1, 2)), jnp.ones((4, 1)), 4, 2)
    with pytest.raises(TypeError) as caught:
        compress(actual_seq_len=lengths)
    assert str(caught.value) == f"actual_seq_len is {lengths!r}; a list of ints is needed"
    with pytest.raises(TypeError, match=r"^actual_seq_len\[0\] is of type ndarray; an int is needed"):
        compress(actual_seq_len=np.array([[8, 16]]))


def test_padding_beyond_the_table_is_refused():
    table, ids = jnp.ones((7, 4)), jnp.array([0, 1])
    for call in (oj.embedding, jax.jit(oj.embedding, static_argnums=2)):
        same([call(table, ids, 6), call(table, ids, -9)], [call(table, ids)] * 2)
        for row in (7, 2**40):
            with pytest.raises(ValueError, match=f"^padding_idx is {row}; it must be below 7, the number of rows of weight, or neg"):
                call(table, ids, row)


@pytest.mark.parametrize("name", ["float64", "complex64"])
def test_tables_without_a_gradient_are_named(name):
    with enable_x64(True):
        table, ids = jnp.ones((7, 4), name), jnp.array([0, 1])
        same([oj.embedding(table, ids)], [table[:2]])
        for grad in (jax.grad, lambda function: jax.jit(jax.grad(function))):
            with pytest.raises(TypeError, match=f"^weight has dtype {name}; only tables of float32, float16, bfloat16 have a gradient"):
                grad(lambda table: oj.embedding(table, ids).real.sum())(table)
            scale = grad(lambda x: (oj.embedding(jax.lax.stop_gradient(table * x), ids) * x).real.sum())(2.0)
            assert scale == 16
