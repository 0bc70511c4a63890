# The foreign functions of XLA: bits of the functions on arrays, jit, gradients, vmap, donation, errors.
import numpy as np
import pytest

import openaclnn
import oracles
from conftest import FLOATS, jax, needs_jax

pytestmark = needs_jax
if jax is not None:
    import jax.numpy as jnp

    import openaclnn.jax as oj


def values(shape, dtype="float32", seed=1):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape), dtype)


def same(got, want):
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("name", FLOATS)
def test_results_have_the_bits_of_the_functions_on_arrays(name):
    table, ids = values((7, 4), name), jnp.array([[1, 6], [0, 1]], jnp.int32)
    same(jax.jit(oj.embedding)(table, ids), openaclnn.embedding(table, ids))
    grad = values((2, 2, 4), name)
    same(jax.jit(lambda g, i: oj.embedding_dense_backward(g, i, 7, 1, True))(grad, ids),
         openaclnn.embedding_dense_backward(grad, ids, 7, 1, True))
    rows, ends = values((9, 4), name), jnp.array([3, 3, 8], jnp.int32)
    same(jax.jit(oj.grouped_bias_add_grad)(rows, ends), openaclnn.grouped_bias_add_grad(rows, ends))
    tokens, weight = values((30, 2, 5), name), values((4, 2), name, 2)
    out = oj.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[11, 30])
    same(out, openaclnn.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[11, 30]))


def test_gradients():
    table, ids = values((7, 4)), jnp.array([1, 6, 1])
    grad = jax.jit(jax.grad(lambda t: jnp.sin(oj.embedding(t, ids)).sum()))(table)
    assert jnp.allclose(grad, jax.grad(lambda t: jnp.sin(t[ids]).sum())(table), atol=1e-6)
    x, bias, ends = values((6, 3)), values((2, 3), seed=3), jnp.array([2, 5])
    ours = jax.grad(lambda x, b: jnp.sin(oj.grouped_bias_add(x, b, ends)).sum(), (0, 1))(x, bias)
    of_row = np.array([0, 0, 1, 1, 1])
    theirs = jax.grad(lambda x, b: jnp.sin(x.at[:5].add(b[of_row])).sum(), (0, 1))(x, bias)
    for got, want in zip(ours, theirs):
        assert jnp.allclose(got, want, atol=1e-6)
    tokens, weight = values((20, 2, 3)), values((4, 2), seed=4)
    got = jax.grad(lambda t, w: oj.nsa_compress(t, w, 4, 2).sum(), (0, 1))(tokens, weight)
    want = oracles.nsa_compress_grad(np.ones((9, 2, 3)), tokens, weight, 4, 2, [20])
    for a, b in zip(got, want):
        assert np.allclose(a, b, atol=1e-5)


def test_vmap():
    table, ids = values((7, 4)), jnp.array([[1, 6], [0, 1], [3, 3]])
    same(jax.vmap(oj.embedding, (None, 0))(table, ids), openaclnn.embedding(table, ids))


def test_optimizer_step_with_a_schedule_and_donated_state():
    grad, var, m, v, s = (values((5, 3), seed=seed) for seed in range(5))
    v = jnp.abs(v)
    expected = [np.array(array) for array in (grad, var, m, v, s)]

    def step(state, grad, count):
        rate = jnp.float32(0.1) / count
        return oj.apply_fused_ema_adam(grad, *state, count, rate, weight_decay=0.1)

    compiled, state = jax.jit(step, donate_argnums=0), (var, m, v, s)
    for count in range(1, 4):
        addresses = {array.unsafe_buffer_pointer() for array in state}
        state = compiled(state, grad, jnp.int32(count))
        assert {array.unsafe_buffer_pointer() for array in state} == addresses, "donated memory was not used"
        openaclnn.apply_fused_ema_adam_(*expected, count, lr=float(np.float32(0.1) / np.float32(count)), weight_decay=0.1)
    assert compiled._cache_size() == 1, "a schedule compiled again"
    for got, want in zip(state, expected[1:]):
        same(got, want)


def test_state_that_is_not_donated_is_copied():
    arrays = [values((4,), seed=seed) for seed in range(5)]
    before = [np.array(array) for array in arrays]
    jax.block_until_ready(oj.apply_fused_ema_adam(*arrays, 1))
    for array, kept in zip(arrays, before):
        same(array, kept)


def test_errors_carry_the_sentence():
    with pytest.raises(Exception, match=r"indices\[0\] = 9 is outside \[0, 7\)"):
        jax.block_until_ready(oj.embedding(values((7, 4)), jnp.array([9])))
    with pytest.raises(Exception, match="weight has shape"):
        jax.block_until_ready(oj.nsa_compress(values((8, 1, 2)), values((3, 1)), 2, 1))
