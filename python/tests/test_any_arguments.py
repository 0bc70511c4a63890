# Tests any arguments: with any arrays, numbers and objects a call succeeds or raises one of the documented exceptions.
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import openaclnn
from conftest import ml_dtypes, torch

DTYPES = [np.float32, np.float16, np.float64, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_, np.complex64,
          ml_dtypes.bfloat16, np.dtype(">f4"), np.dtype("U3"), np.dtype("M8[s]")]
DOCUMENTED = (openaclnn.AclnnError, TypeError, ValueError, IndexError, OverflowError)


@st.composite
def arrays(draw):
    """Draws arrays of any dtype and small shape, with any layout, of NumPy or PyTorch; sometimes another object."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return draw(st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=2), st.lists(st.integers(), max_size=2)))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    values = np.asarray(np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 9, shape)).astype(dtype)
    if shape and draw(st.booleans()):
        values = values[tuple(draw(st.sampled_from([slice(None), slice(None, None, -1), slice(None, None, 2)])) for _ in shape)]
    if draw(st.integers(0, 9)) == 0:
        values = np.broadcast_to(values, (2, *values.shape))
    if kind < 4 and torch is not None and dtype in (np.float32, np.float16, np.int32, np.int64, np.bool_):
        return torch.from_numpy(np.array(values, order="C"))
    return values


numbers = st.integers(-2, 5) | st.sampled_from([-2**63, 2**63 - 1, 2**40])
any_array = arrays()
no_or_array = st.none() | any_array
optional_number = st.none() | st.integers(-2, 6)


def survives(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except DOCUMENTED as error:
        assert str(error)


def many(test):
    return settings(max_examples=250, suppress_health_check=list(HealthCheck))(test)


@many
@given(any_array, any_array, no_or_array, optional_number, optional_number, optional_number)
def test_embedding(weight, indices, out, start, end, size):
    survives(openaclnn.embedding, weight, indices, out=out, vocab_start=start, vocab_end=end, vocab_size=size)


@many
@given(any_array, any_array, st.integers(-2, 9), numbers, st.booleans(), no_or_array, optional_number, optional_number)
def test_embedding_dense_backward(grad, indices, rows, padding, scale, out, start, end):
    survives(openaclnn.embedding_dense_backward, grad, indices, rows, padding, scale, out=out, vocab_start=start, vocab_end=end)
    survives(openaclnn.embedding_counts, indices, rows, out=out)


@many
@given(any_array, no_or_array, numbers, no_or_array)
def test_grouped_bias_add_grad(grad, groups, kind, out):
    survives(openaclnn.grouped_bias_add_grad, grad, groups, kind, out=out)


@many
@given(any_array, any_array, any_array, numbers, numbers, st.none() | any_array | st.lists(numbers, max_size=3), numbers)
def test_nsa_compress(tokens, weight, grad, block, stride, lengths, kind):
    options = dict(actual_seq_len=lengths, actual_seq_len_type=kind)
    survives(openaclnn.nsa_compress, tokens, weight, block, stride, **options)
    survives(openaclnn.nsa_compress_grad, grad, tokens, weight, block, stride, **options)
    survives(openaclnn.nsa_compress_grad, grad, tokens, weight, block, stride, out=(tokens, weight), **options)


@many
@given(st.lists(any_array, min_size=5, max_size=5), st.integers() | any_array, st.floats() | numbers, st.booleans(), no_or_array,
       st.none() | st.floats() | any_array, st.integers(0, 2))
def test_apply_fused_ema_adam(tensors, step, number, correction, copy, scale, listed):
    given_arrays = [[tensor] * listed for tensor in tensors] if listed else tensors
    survives(openaclnn.apply_fused_ema_adam_, *given_arrays, step, number, number, number, number, number,
             bias_correction=correction, var_copy=copy, grad_scale=scale, found_inf=scale)


@many
@given(st.lists(any_array, min_size=4, max_size=4), st.integers() | any_array, st.floats() | numbers, no_or_array, st.booleans())
def test_apply_adam_w(tensors, step, number, largest, maximize):
    survives(openaclnn.apply_adam_w_, *tensors, step, number, number, number, number, number, max_v=largest, maximize=maximize)


@many
@given(st.lists(any_array, min_size=4, max_size=4), numbers, numbers, st.none() | any_array | st.lists(numbers, max_size=3),
       no_or_array, optional_number)
def test_nsa_compress_with_cache(tensors, block, stride, lengths, table, page):
    survives(openaclnn.nsa_compress_with_cache_, *tensors, block, stride, lengths, block_table=table, page_block_size=page)


def test_missing_arguments_are_named():
    table, indices, tokens = np.ones((4, 2), np.float32), np.array([1, 2]), np.ones((4, 1, 2), np.float32)
    slots = np.zeros(1, np.int32)
    calls = {
        "embedding": dict(weight=table, indices=indices),
        "embedding_dense_backward": dict(grad=table[:2], indices=indices, num_weights=4),
        "embedding_counts": dict(indices=indices, num_weights=4),
        "grouped_bias_add_grad": dict(grad_y=tokens),
        "apply_adam_w_": dict(grad=table, var=table.copy(), m=table.copy(), v=table.copy(), steps_done=0),
        "apply_fused_ema_adam_": dict(grad=table, var=table.copy(), m=table.copy(), v=table.copy(), s=table.copy(), step=1),
        "nsa_compress": dict(input=tokens, weight=table[:2, :1], compress_block_size=2, compress_stride=1),
        "nsa_compress_grad": dict(grad=tokens[:3], input=tokens, weight=table[:2, :1], compress_block_size=2, compress_stride=1),
        "nsa_compress_with_cache_": dict(input=tokens, weight=table[:2, :1], slot_mapping=slots, cache=tokens.copy(),
                                         compress_block_size=2, compress_stride=1, actual_seq_len=[4]),
        "nsa_windows": dict(actual_seq_len=[4], tokens=4, compress_block_size=2, compress_stride=1),
    }
    for function, arguments in calls.items():
        getattr(openaclnn, function)(**arguments)
        for name in arguments:
            others = {other: value for other, value in arguments.items() if other != name}
            with pytest.raises(TypeError, match=f"^missing required argument: '{name}'$"):
                getattr(openaclnn, function)(**others)
    with pytest.raises(TypeError, match="^missing required argument: 'indices'$"):
        openaclnn.embedding(table)
    with pytest.raises(TypeError, match="^missing required argument: 's'$"):
        openaclnn.apply_fused_ema_adam_(*[[table.copy()]] * 4, step=1)
