# The foreign functions of XLA: bits of the functions on arrays, jit, gradients, vmap, donation, errors.
import functools

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


def test_gradients_with_indices_of_numpy():
    """JAX 0.8 saves arrays of NumPy as objects of a type of its own."""
    table, ids, x, bias = values((7, 4)), np.array([1, 6, 1]), values((6, 3)), values((2, 3))
    same(jax.grad(lambda t: oj.embedding(t, ids).sum())(table), jax.grad(lambda t: oj.embedding(t, jnp.array(ids)).sum())(table))
    got, want = (jax.grad(lambda b, ends=ends: oj.grouped_bias_add(x, b, ends).sum())(bias)
                 for ends in (np.array([2, 5]), jnp.array([2, 5])))
    same(got, want)


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


def test_errors_carry_the_message():
    with pytest.raises(Exception, match=r"indices\[0\] = 9 is outside \[0, 7\)"):
        jax.block_until_ready(oj.embedding(values((7, 4)), jnp.array([9])))
    with pytest.raises(Exception) as caught:
        jax.block_until_ready(jax.jit(oj.embedding)(values((7, 4)), jnp.array([9])))
    assert "embedding: indices[0] = 9" in str(caught.value) and "aclrt" not in str(caught.value)


@pytest.mark.parametrize("step", [0, -1, np.int64(0)])
def test_a_step_below_1_is_refused(step):
    """The corrections of the moments would be 0, and all results NaN."""
    arrays = [values((4,), seed=seed) for seed in range(5)]
    message = f"step is {step}; with bias_correction it must be at least 1"
    with pytest.raises(ValueError, match=message):
        oj.apply_fused_ema_adam(*arrays, step)
    with pytest.raises(ValueError, match=message):
        oj.apply_fused_ema_adam(*arrays, jnp.asarray([step]))
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda *a: oj.apply_fused_ema_adam(*a, step))(*arrays)
    with pytest.raises(Exception, match=f"apply_fused_ema_adam: {message}"):
        jax.block_until_ready(jax.jit(oj.apply_fused_ema_adam)(*arrays, step))
    without = functools.partial(oj.apply_fused_ema_adam, bias_correction=False)
    for function in (without, jax.jit(without)):
        assert all(jnp.isfinite(result).all() for result in function(arrays[0], *map(jnp.abs, arrays[1:]), step))


def calls_with(number):
    """Calls with one static number each, which must be an int."""
    table, ids, tokens, weight = values((7, 4)), jnp.array([0, 1]), values((9, 1, 2)), values((2, 1))
    arrays = [values((4,), seed=seed) for seed in range(5)]
    return {
        "padding_idx": [lambda: oj.embedding(table, ids, number),
                        lambda: oj.embedding_dense_backward(table[:2], ids, 7, number)],
        "num_weights": [lambda: oj.embedding_dense_backward(table[:2], ids, number)],
        "group_idx_type": [lambda: oj.grouped_bias_add(table, table[:2], ids, number),
                           lambda: oj.grouped_bias_add_grad(table, ids, number)],
        "compress_block_size": [lambda: oj.nsa_compress(tokens, weight, number, 1)],
        "compress_stride": [lambda: oj.nsa_compress(tokens, weight, 2, number)],
        r"actual_seq_len\[1\]": [lambda: oj.nsa_compress(tokens, weight, 2, 1, actual_seq_len=[4, number])],
        "actual_seq_len_type": [lambda: oj.nsa_compress(tokens, weight, 2, 1, actual_seq_len_type=number)],
        "step": [lambda: oj.apply_fused_ema_adam(*arrays, number)],
        "mode": [lambda: oj.apply_fused_ema_adam(*arrays, 1, mode=number)],
    }


@pytest.mark.parametrize("name", calls_with(1) if jax is not None else [])
def test_numbers_that_are_not_ints_are_refused(name):
    for number in (0.9, 1.5, np.float32(1), "1"):
        for call in calls_with(number)[name]:
            with pytest.raises(TypeError, match=f"^{name} is of type {type(number).__name__}; an int is needed"):
                call()
    with pytest.raises(TypeError, match=f"^{name} (is traced|has dtype float32)"):
        jax.jit(lambda number: calls_with(number)[name][0]())(1.5)


@pytest.mark.parametrize("make", [int, np.int64, np.array])
def test_ints_of_numpy_are_accepted(make):
    table, ids, tokens, weight = values((7, 4)), jnp.array([0, 1]), values((9, 1, 2)), values((2, 1))
    same(oj.embedding_dense_backward(table[:2], ids, make(7), make(1)), oj.embedding_dense_backward(table[:2], ids, 7, 1))
    lengths = [make(4), make(9)]
    same(oj.nsa_compress(tokens, weight, make(2), make(1), actual_seq_len=lengths),
         oj.nsa_compress(tokens, weight, 2, 1, actual_seq_len=jnp.array([4, 9])))
    arrays = [values((4,), seed=seed) for seed in range(5)]
    for got, want in zip(oj.apply_fused_ema_adam(*arrays, make(2)), oj.apply_fused_ema_adam(*arrays, 2)):
        same(got, want)


def refused_while_tracing(function, *arguments):
    """The error of a function that JAX traces but does not compile or run."""
    with pytest.raises(openaclnn.AclnnError) as caught:
        jax.make_jaxpr(function)(*arguments)
    return caught.value.message


def test_dtypes_and_shapes_are_refused_while_jax_traces():
    table, ids = values((7, 4)), jnp.array([0, 1])
    assert refused_while_tracing(oj.embedding, table, ids.astype(jnp.float32)) == (
        "embedding: indices has dtype float32; it must be int32 or int64")
    message = refused_while_tracing(lambda grad, ids: oj.embedding_dense_backward(grad, ids, 7), values((3, 4)), ids)
    assert message.startswith("embedding_dense_backward: ") and "[2]" in message, message
    message = refused_while_tracing(lambda grad: oj.embedding_dense_backward(grad, ids, 7), jnp.ones((2, 4), jnp.int32))
    assert "grad has dtype int32; it must be" in message, message
    message = refused_while_tracing(oj.grouped_bias_add_grad, jnp.ones((3, 4), jnp.int32), ids)
    assert message.startswith("grouped_bias_add_grad: grad_y has dtype int32"), message
    tokens = values((8, 1, 2))
    message = refused_while_tracing(lambda t, w: oj.nsa_compress(t, w, 2, 1), tokens, values((3, 1)))
    assert message.startswith("nsa_compress: weight has shape [3, 1]"), message
    message = refused_while_tracing(lambda t, w: oj.nsa_compress(t, w, 2, 1), tokens, values((2, 1), "bfloat16"))
    assert "weight has dtype bfloat16 but input has dtype float32" in message, message
    states = [values((5,), seed=seed) for seed in range(5)]
    message = refused_while_tracing(lambda *a: oj.apply_fused_ema_adam(*a, 1), states[0], values((6,)), *states[2:])
    assert message.startswith("apply_fused_ema_adam: var has shape [6]"), message
    message = refused_while_tracing(lambda *a: oj.apply_fused_ema_adam(*a, 1, mode=5), *states)
    assert message.startswith("apply_fused_ema_adam: mode is 5"), message
    with pytest.raises(ValueError, match=r"step has shape \[2\]; it must be one number"):
        jax.make_jaxpr(oj.apply_fused_ema_adam)(*states, jnp.array([1, 2]))


def test_the_gradient_is_refused_while_jax_traces_it():
    """jax.grad traces the forward pass first, whose arguments are wrong."""
    with pytest.raises(openaclnn.AclnnError, match="weight has shape"):
        jax.make_jaxpr(jax.grad(lambda t: oj.nsa_compress(t, values((3, 1)), 2, 1).sum()))(values((8, 1, 2)))


@pytest.mark.parametrize("change, sentence", [
    ({"actual_seq_len": [8, 99]}, r"\[1\] = 99 exceeds 16"), ({"actual_seq_len": [16, 8]}, r"\[1\] = 8 is below"),
    ({"compress_stride": 0}, "is 0; it must be at least 1"), ({"compress_stride": -1}, "is -1; it must be at least 1"),
    ({"compress_block_size": 0}, "is 0; it must be at least 1"),
    ({"actual_seq_len": [8, 99], "actual_seq_len_type": 1}, "exceed"),
])
def test_refused_compression_raises_where_the_result_would_be_empty(change, sentence):
    arguments = {"input": values((16, 2, 3)), "weight": values((4, 2)), "compress_block_size": 4, "compress_stride": 2, **change}
    for call in (lambda: oj.nsa_compress(**arguments), jax.jit(lambda: oj.nsa_compress(**arguments))):
        with pytest.raises(openaclnn.AclnnError, match=sentence):
            call()


def test_compression_without_windows_is_empty():
    tokens, weight = values((3, 2, 5)), values((4, 2))
    assert oj.nsa_compress(tokens, weight, 4, 2).shape == (0, 2, 5)
    gradients = jax.grad(lambda t, w: oj.nsa_compress(t, w, 4, 2).sum(), (0, 1))(tokens, weight)
    assert all((gradient == 0).all() for gradient in gradients)
    with pytest.raises(TypeError, match="actual_seq_len is traced"):
        jax.jit(lambda ends: oj.nsa_compress(tokens, weight, 4, 2, actual_seq_len=ends))(jnp.array([3]))


@pytest.mark.parametrize("change, error, message", [
    ({"group_idx": [4, 2]}, IndexError, r"group_idx\[1\] = 2: group 1 would end at row 2; it must end in \[4, 5\]"),
    ({"group_idx": [4, 9]}, IndexError, r"must end in \[4, 5\]"),
    ({"group_idx": [4, -2], "group_idx_type": 1}, IndexError, "would end at row 2"),
    ({"group_idx": [4, 3], "group_idx_type": 1}, IndexError, "would end at row 7"),
    ({"group_idx_type": 7}, ValueError, "group_idx_type is 7; it must be 0"),
    ({"group_idx": np.array([2, 2], np.int8), "group_idx_type": 1}, TypeError, "group_idx has dtype int8; it must be int32 or int64"),
    ({"group_idx": [2.0, 4.0]}, TypeError, "group_idx has dtype float32"),
    ({"group_idx": [[2, 4]]}, ValueError, "group_idx has shape"),
    ({"bias": np.ones((1, 3), np.float32)}, ValueError, r"bias has shape \[1, 3\]; it must be \[2, 3\]"),
    ({"bias": np.ones((2, 1), np.float32)}, ValueError, r"it must be \[2, 3\]"),
    ({"bias": np.ones(3, np.float32)}, ValueError, "bias has shape"),
    ({"x": np.ones((1, 5, 3), np.float32)}, ValueError, "x has shape"),
    ({"x": np.ones((5, 3), np.int32)}, TypeError, "x has dtype int32; it must be one of float32"),
])
def test_refused_groups(change, error, message):
    arguments = {"x": values((5, 3)), "bias": values((2, 3)), "group_idx": [2, 4], "group_idx_type": 0, **change}
    if isinstance(arguments["group_idx"], list):
        arguments["group_idx"] = jnp.asarray(arguments["group_idx"])
    with pytest.raises(error, match=message):
        oj.grouped_bias_add(**arguments)
    if error is not IndexError and not {"bias", "x"} & set(change):
        with pytest.raises(error, match=message):
            oj.grouped_bias_add_grad(arguments["x"], arguments["group_idx"], arguments["group_idx_type"])


def test_traced_groups_are_checked_by_the_gradient():
    gradient = jax.jit(jax.grad(lambda bias, ends: oj.grouped_bias_add(jnp.zeros((5, 1)), bias, ends).sum()))
    assert (gradient(jnp.ones((2, 1)), jnp.array([2, 5])).ravel() == jnp.array([2, 3])).all()
    with pytest.raises(Exception, match="exceeds 5"):
        jax.block_until_ready(gradient(jnp.ones((2, 1)), jnp.array([2, 9])))


def test_bias_of_another_dtype_and_no_groups():
    x, bias, ends = values((5, 3), "bfloat16"), values((2, 3)), jnp.array([2, 4])
    out = oj.grouped_bias_add(x, bias, ends)
    assert out.dtype == jnp.bfloat16
    same(out[:2], (x[:2].astype(jnp.float32) + bias[0]).astype(jnp.bfloat16))
    assert jax.grad(lambda b: oj.grouped_bias_add(x, b, ends).astype(jnp.float32).sum())(bias).dtype == jnp.float32
    same(oj.grouped_bias_add(x, jnp.zeros((0, 3)), jnp.zeros(0, jnp.int32)), x)


@pytest.mark.parametrize("x, bias, rows, total", [
    ("float32", "float16", [2**-26] * 4096, 2**-14), ("float32", "float16", [2.0**17, -2.0**17, 1, 1], 2),
    ("bfloat16", "float16", [2**-26] * 4096, 2**-14), ("float32", "bfloat16", [1 + 2**-9] * 512 + [-1] * 512, 1),
    ("float16", "bfloat16", [1 + 2**-10] * 1024 + [-1] * 1024, 1), ("bfloat16", "float32", [1] * 257, 257)])
def test_gradients_of_a_bias_are_summed_in_the_wider_dtype(x, bias, rows, total):
    """The bias's dtype has each sum, but not each row; the dtype of the rows does not have 257."""
    rows = jnp.array(rows, x)[:, None]
    _, backward = jax.vjp(lambda b: oj.grouped_bias_add(jnp.zeros_like(rows), b, jnp.array([len(rows)])), jnp.zeros((1, 1), bias))
    found, = backward(rows)
    assert found.dtype == bias and found.item() == total


@pytest.mark.parametrize("x, bias", [("bfloat16", "float32"), ("float32", "float16"), ("float16", "bfloat16"), ("float32", "float32")])
def test_strict_promotion_gives_the_bits_of_the_standard_one(x, bias):
    rows, offsets = values((5, 3), x), values((2, 3), bias)

    def results(ends):
        out, backward = jax.vjp(lambda x, bias: oj.grouped_bias_add(x, bias, ends), rows, offsets)
        return out, *backward(rows)

    for ends in (jnp.array([2, 4]), np.array([2, 4]), np.array([2, 4], np.int32)):
        want = results(ends)
        with jax.numpy_dtype_promotion("strict"):
            got = results(ends)
        for ours, theirs in zip(got, want):
            assert ours.dtype == theirs.dtype
            same(ours, theirs)


def test_lists_are_refused_with_the_way_around():
    arrays = [values((4,), seed=seed) for seed in range(5)]
    with pytest.raises(TypeError, match="grad is of type list; .*jax.tree.map"):
        oj.apply_fused_ema_adam(*([array] for array in arrays), 1)
    with pytest.raises(TypeError, match="weight is of type list"):
        oj.embedding([[1.0]], jnp.array([0]))
    with pytest.raises(ValueError, match=r"weight has shape \[4\]; its rank must be 2: \[V, D\]"):
        oj.embedding(arrays[0], jnp.array([0]))
