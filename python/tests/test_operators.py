# Compares the operators with NumPy double, over random shapes, dtypes and layouts.
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import openaclnn
import oracles
from conftest import FLOATS, HALF_ULP, needs_torch, numpy_dtype, torch


def close(result, expected, name, magnitude, roundings=80):
    """|result - expected| <= half an ulp + roundings in float32 relative to the sum of magnitudes."""
    result, expected = np.asarray(result).astype(np.float64), np.asarray(expected)
    assert result.shape == expected.shape
    bound = HALF_ULP[name] * np.abs(expected) * 1.01 + roundings * 2.0**-24 * magnitude + 2.0**-24
    worst = np.abs(result - expected) - bound
    assert result.size == 0 or worst.max() <= 0, f"off by {worst.max()} beyond the bound"


def random_array(rng, shape, name, layout="contiguous"):
    """Values in [-1, 1], with one of several layouts."""
    values = np.asarray(rng.uniform(-1, 1, shape)).astype(numpy_dtype(name)).reshape(shape)
    if not shape:
        return values
    if layout == "reversed":
        return values[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "spread":
        spread = np.zeros([2 * size for size in shape], values.dtype)
        view = spread[tuple(slice(None, None, 2) for _ in shape)]
        view[...] = values
        return view
    if layout == "fortran":
        return np.asfortranarray(values)
    return values


layouts = st.sampled_from(["contiguous", "reversed", "spread", "fortran"])
names = st.sampled_from(FLOATS)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, names, layouts, st.lists(st.integers(0, 7), max_size=4), st.integers(0, 1), st.booleans(),
       st.integers(1, 1000))
def test_ema_adam(seed, name, layout, shape, mode, correction, step):
    rng = np.random.default_rng(seed)
    grad, var, m, v, s = (random_array(rng, shape, name, layout) for _ in range(5))
    v[...] = np.abs(v)
    numbers = dict(lr=0.01, ema_decay=0.99, beta1=0.9, beta2=0.99, eps=1e-3, mode=mode, bias_correction=correction,
                   weight_decay=0.1)
    expected = oracles.ema_adam(grad, var, m, v, s, step, **numbers)
    kept = grad.copy()
    result = openaclnn.apply_fused_ema_adam_(grad, var, m, v, s, step, **numbers)
    assert all(a is b for a, b in zip(result, (var, m, v, s)))
    assert np.array_equal(grad, kept)
    for got, want in zip(result, expected):
        close(got, want, name, 4.0, 400)


@given(seeds, st.integers(0, 5), st.booleans(), st.sampled_from([("float32", "float32"), ("bfloat16", "bfloat16"),
                                                                ("float16", "float32"), ("bfloat16", "float32")]))
def test_ema_adam_lists_give_the_bits_of_single_calls(seed, count, as_tuple, dtypes):
    rng = np.random.default_rng(seed)
    grad_dtype, state = dtypes
    lists = []
    for position in range(5):
        name = grad_dtype if position < 2 else state
        lists.append([random_array(rng, (n + 1, 3), name) for n in range(count)])
    for v in lists[3]:
        v[...] = np.abs(v)
    single = [[array.copy() for array in entries] for entries in lists]
    kind = tuple if as_tuple else list
    openaclnn.apply_fused_ema_adam_(*map(kind, lists), np.array([3]), weight_decay=0.1)
    for arrays in zip(*single):
        openaclnn.apply_fused_ema_adam_(*arrays, 3, weight_decay=0.1)
    for got, want in zip(lists[1:], single[1:]):
        for a, b in zip(got, want):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("step", [0, -1, np.array([0]), np.int64(-2**63)], ids=["0", "-1", "array", "least"])
@pytest.mark.parametrize("as_list", [False, True])
def test_a_step_below_1_is_refused_with_bias_correction(step, as_list):
    """1 - beta**0 is 0, which would write NaN into the parameter and its average."""
    arrays = [np.full(3, 0.5, np.float32) for _ in range(5)]
    given_arrays = [[array] for array in arrays] if as_list else arrays
    with pytest.raises(ValueError, match=r"step is (0|-\d+); with bias_correction it must be at least 1"):
        openaclnn.apply_fused_ema_adam_(*given_arrays, step)
    assert all((array == 0.5).all() for array in arrays)
    openaclnn.apply_fused_ema_adam_(*given_arrays, step, bias_correction=False)
    assert np.isfinite(arrays[1]).all()


def test_mixed_dtypes_scale_copy_and_cancelled_steps():
    rng = np.random.default_rng(1)
    var, m, v, s = (random_array(rng, (5, 7), "float32") for _ in range(4))
    v = np.abs(v)
    grad = random_array(rng, (5, 7), "bfloat16")
    copy = np.zeros((5, 7), numpy_dtype("bfloat16"))
    before = [array.copy() for array in (var, m, v, s)]
    openaclnn.apply_fused_ema_adam_(grad, var, m, v, s, 1, grad_scale=8.0, found_inf=1.0, var_copy=copy)
    assert all(np.array_equal(a, b) for a, b in zip((var, m, v, s), before)) and not copy.astype(np.float32).any()
    expected = oracles.ema_adam(grad.astype(np.float32) / 8, *before, 2, lr=0.1)
    openaclnn.apply_fused_ema_adam_(grad, var, m, v, s, 2, lr=0.1, grad_scale=np.float32([8]),
                                    found_inf=np.zeros(1, np.float32), var_copy=copy)
    for got, want in zip((var, m, v, s), expected):
        close(got, want, "float32", 4.0, 400)
    assert np.array_equal(copy.astype(np.float32), var.astype(copy.dtype).astype(np.float32))


@pytest.mark.parametrize("steps_done", [-1, np.array([-1]), np.int64(-2**63)], ids=["-1", "array", "least"])
def test_a_negative_number_of_steps_is_refused(steps_done):
    arrays = [np.full(3, 0.5, np.float32) for _ in range(4)]
    with pytest.raises(ValueError, match=r"steps_done is -\d+; it must be at least 0"):
        openaclnn.apply_adam_w_(*arrays, steps_done)
    assert all(np.array_equal(array, np.full(3, 0.5, np.float32)) for array in arrays)


@given(seeds, names, layouts, st.lists(st.integers(0, 7), max_size=4), st.booleans(), st.booleans(), st.integers(0, 1000))
def test_adam_w(seed, name, layout, shape, amsgrad, maximize, steps_done):
    rng = np.random.default_rng(seed)
    grad, var, m, v, largest = (random_array(rng, shape, name, layout) for _ in range(5))
    v[...], largest[...] = np.abs(v), np.abs(largest)
    max_v = largest if amsgrad else None
    numbers = dict(lr=0.01, beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1)
    expected = oracles.adam_w(grad, var, m, v, steps_done + 1, **numbers, max_v=max_v, maximize=maximize)
    kept = grad.copy(), largest.copy()
    result = openaclnn.apply_adam_w_(grad, var, m, v, steps_done, **numbers, max_v=max_v, maximize=maximize)
    assert all(a is b for a, b in zip(result, (var, m, v))) and len(result) == 3
    assert np.array_equal(grad, kept[0]) and (amsgrad or np.array_equal(largest, kept[1]))
    for got, want in zip([var, m, v, *[largest] * amsgrad], expected):
        close(got, want, name, 4.0, 400)


def test_adam_w_takes_steps_and_gradients_of_other_dtypes():
    rng = np.random.default_rng(3)
    grad, *states = (random_array(rng, (5, 7), "float32") for _ in range(4))
    states[2] = np.abs(states[2])
    results = []
    for gradient, steps in ((grad.astype(np.float16).astype(np.float32), 4), (grad.astype(np.float16), np.array([4])),
                            (grad.astype(np.float16), np.float32([4.9]))):
        results.append(openaclnn.apply_adam_w_(gradient, *(state.copy() for state in states), steps, weight_decay=0.5))
    assert all(a.tobytes() == b.tobytes() for result in results[1:] for a, b in zip(result, results[0]))


@needs_torch
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_w_is_that_of_pytorch(amsgrad):
    theirs = torch.nn.Parameter(torch.linspace(-1, 1, 50))
    optimizer = torch.optim.AdamW([theirs], lr=0.1, betas=(0.8, 0.9), weight_decay=0.2, amsgrad=amsgrad)
    var = theirs.detach().clone()
    m, v, largest = (torch.zeros(50) for _ in range(3))
    for step in range(5):
        theirs.grad = torch.cos(torch.arange(50.0) * (step + 1)) / (step + 1)
        optimizer.step()
        openaclnn.apply_adam_w_(theirs.grad, var, m, v, step, 0.1, 0.8, 0.9, weight_decay=0.2,
                                max_v=largest if amsgrad else None)
    torch.testing.assert_close(var, theirs.detach(), rtol=1e-5, atol=1e-6)


@given(seeds, st.sampled_from([*FLOATS, "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"]),
       st.sampled_from(["int32", "int64"]), st.lists(st.integers(0, 5), max_size=3), st.integers(1, 9), st.integers(0, 9))
def test_embedding_copies_bits(seed, name, index_dtype, shape, rows, columns):
    rng = np.random.default_rng(seed)
    table = (rng.uniform(-9, 9, (rows, columns)) * 3).astype(numpy_dtype(name))
    indices = rng.integers(0, rows, shape).astype(index_dtype)
    assert np.array_equal(openaclnn.embedding(table, indices), table[indices])
    out = np.zeros([*shape, 2 * columns], table.dtype)[..., ::2]
    assert openaclnn.embedding(table, indices, out=out) is out
    assert np.array_equal(out, table[indices])


@given(seeds, names, layouts, st.integers(1, 200), st.integers(1, 9), st.integers(1, 12), st.booleans(),
       st.integers(-1, 12))
def test_embedding_dense_backward(seed, name, layout, count, columns, rows, scale, padding):
    rng = np.random.default_rng(seed)
    grad = random_array(rng, (count, columns), name, layout)
    indices = rng.integers(0, rows, count)
    expected = oracles.embedding_dense_backward(grad, indices, rows, padding, scale)
    result = openaclnn.embedding_dense_backward(grad, indices, rows, padding, scale)
    close(result, expected, name, count)
    wide = np.empty((rows, columns), np.float32)
    openaclnn.embedding_dense_backward(grad, indices, rows, padding, scale, out=wide)
    close(wide, expected, "float32", count)
    if torch is not None and name == "float32":
        theirs = torch.ops.aten.embedding_dense_backward(torch.from_numpy(grad.copy()), torch.from_numpy(indices), rows,
                                                         padding, scale)
        close(result, theirs.numpy().astype(np.float64), name, count, 300)


@given(seeds, st.integers(1, 40), st.integers(1, 5), st.integers(1, 4))
def test_parts_of_a_table_add_up_to_the_whole(seed, count, columns, parts):
    rng = np.random.default_rng(seed)
    rows = 12
    table, indices = random_array(rng, (rows, columns), "float32"), rng.integers(0, rows, (count,))
    grad = random_array(rng, (count, columns), "float32")
    whole = openaclnn.embedding_dense_backward(grad, indices, rows, 3)
    bounds = [rows * part // parts for part in range(parts + 1)]
    total = np.zeros((count, columns), np.float32)
    for start, end in zip(bounds, bounds[1:]):
        limits = dict(vocab_start=start, vocab_end=end, vocab_size=rows)
        total += openaclnn.embedding(np.ascontiguousarray(table[start:end]), indices, **limits)
        part = openaclnn.embedding_dense_backward(grad, indices, end - start, 3, **limits)
        assert part.tobytes() == whole[start:end].tobytes()
    assert np.array_equal(total, table[indices])


def test_embedding_counts():
    indices = np.array([[3, 1], [3, -7]], np.int32)
    assert openaclnn.embedding_counts(indices, 4).tolist() == [0, 1, 0, 2]
    out = np.full(8, 9, np.int64)[::2]
    assert openaclnn.embedding_counts(indices, 4, out=out) is out and out.tolist() == [0, 1, 0, 2]
    with pytest.raises(TypeError, match="int32 or int64"):
        openaclnn.embedding_counts(np.zeros(2), 4)


@given(seeds, names, layouts, st.lists(st.integers(0, 90), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 1),
       st.sampled_from(["int32", "int64"]))
def test_grouped_bias_add_grad(seed, name, layout, sizes, columns, kind, index_dtype):
    rng = np.random.default_rng(seed)
    ends = np.cumsum(sizes)
    grad = random_array(rng, (int(ends[-1]) + 2, columns), name, layout)
    groups = np.array(sizes if kind == 1 else ends, index_dtype)
    expected = oracles.grouped_bias_add_grad(grad, ends)
    close(openaclnn.grouped_bias_add_grad(grad, groups, kind), expected, name, max(sizes) + 1)


def test_grouped_bias_add_grad_of_equal_groups():
    grad = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    out = np.empty((2, 2), np.float32)
    assert openaclnn.grouped_bias_add_grad(grad, out=out) is out
    assert np.array_equal(out, grad.sum(1))


@settings(max_examples=40)
@given(seeds, names, st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(1, 9), st.integers(1, 9),
       st.integers(1, 3), st.integers(1, 5), st.booleans())
def test_nsa_compress_and_its_gradients(seed, name, lengths, block, stride, heads, columns, as_lengths):
    rng = np.random.default_rng(seed)
    ends = np.cumsum(lengths)
    tokens = random_array(rng, (int(ends[-1]), heads, columns), name)
    weight = random_array(rng, (block, heads), name)
    sequences = dict(actual_seq_len=lengths if as_lengths else ends.tolist(), actual_seq_len_type=int(as_lengths))
    expected = oracles.nsa_compress(tokens, weight, block, stride, ends)
    result = openaclnn.nsa_compress(tokens, weight, block, stride, **sequences)
    close(result, expected, name, block)
    assert openaclnn.nsa_windows(sequences["actual_seq_len"], len(tokens), block, stride, int(as_lengths)) == len(result)
    grad = random_array(rng, expected.shape, name)
    want = oracles.nsa_compress_grad(grad, tokens, weight, block, stride, ends)
    got = openaclnn.nsa_compress_grad(grad, tokens, weight, block, stride, **sequences)
    close(got[0], want[0], name, block)
    close(got[1], want[1], name, grad.size + 1, 260)


@settings(max_examples=40)
@given(seeds, names, st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(1, 9), st.integers(1, 5),
       st.integers(1, 3), st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_nsa_compress_with_cache(seed, name, lengths, block, stride, heads, columns, page, as_array):
    rng = np.random.default_rng(seed)
    sequences = [random_array(rng, (length, heads, columns), name) for length in lengths]
    weight = random_array(rng, (block, heads), name)
    slots = rng.permutation(len(lengths) + 2)[:len(lengths)].astype(np.int32)
    before = random_array(rng, (len(lengths) + 2, heads, columns), name)
    expected = oracles.nsa_compress_with_cache(sequences, weight, slots, before, block, stride, lengths)
    given_lengths = np.array(lengths) if as_array else lengths
    cache = before.copy()
    assert openaclnn.nsa_compress_with_cache_(np.concatenate(sequences), weight, slots, cache, block, stride,
                                              given_lengths) is cache
    close(cache, expected, name, block)
    # The same tokens in pages, in any order.
    pages_of_one = max(-(-length // page) for length in lengths) + 1
    order = rng.permutation(pages_of_one * len(lengths)).astype(np.int32)
    table = order.reshape(len(lengths), pages_of_one)
    pages = random_array(rng, (len(order), page, heads, columns), name)
    for sequence, row in zip(sequences, table):
        for t, token in enumerate(sequence):
            pages[row[t // page], t % page] = token
    paged = before.copy()
    openaclnn.nsa_compress_with_cache_(pages, weight, slots, paged, block, stride, lengths, block_table=table)
    assert paged.tobytes() == cache.tobytes()


def test_a_wrong_slot_or_page_leaves_out_its_block():
    tokens, weight = np.ones((2, 4, 1, 2), np.float32), np.ones((4, 1), np.float32)
    cache, table = np.zeros((3, 1, 2), np.float32), np.array([[0], [1]], np.int32)
    with pytest.raises(IndexError, match=r"slot_mapping\[1\] = 3 is outside \[0, 3\)"):
        openaclnn.nsa_compress_with_cache_(tokens, weight, np.array([2, 3], np.int32), cache, 4, 1, [4, 4], block_table=table)
    assert cache[:, 0, 0].tolist() == [0, 0, 4]
    with pytest.raises(IndexError, match=r"block_table\[0\] = 7 is outside \[0, 2\)"):
        openaclnn.nsa_compress_with_cache_(tokens, weight, np.array([0, 1], np.int32), cache, 4, 1, [4, 4],
                                           block_table=np.array([[7], [1]], np.int32))
    with pytest.raises(openaclnn.AclnnError, match="page_block_size"):
        openaclnn.nsa_compress_with_cache_(tokens, weight, np.array([0, 1], np.int32), cache, 4, 1, [4, 4], block_table=table,
                                           page_block_size=5)


def test_nsa_compress_of_one_sequence_and_given_outputs():
    tokens, weight = np.ones((8, 2, 3), np.float32), np.ones((4, 2), np.float32)
    out = np.empty((3, 2, 3), np.float32)
    assert openaclnn.nsa_compress(tokens, weight, 4, 2, out=out) is out
    assert (out == 4).all()
    outs = (np.empty_like(tokens), np.empty_like(weight))
    result = openaclnn.nsa_compress_grad(out, tokens, weight, 4, 2, out=outs)
    assert result[0] is outs[0] and result[1] is outs[1]
    with pytest.raises(TypeError, match="tuple of two arrays"):
        openaclnn.nsa_compress_grad(out, tokens, weight, 4, 2, out=outs[0])
