# Tests openaclnn.golden: exact results against formulas in float64, names and versions of operators, and errors.
import ast
import math
import re

import numpy as np
import pytest

import openaclnn
from conftest import HALF_ULP, ml_dtypes, needs_torch, numpy_dtype, torch
from openaclnn._calls import operators

needs_bfloat16 = pytest.mark.skipif(ml_dtypes is None, reason="ml_dtypes is not installed")


def random(*shape, dtype="float32"):
    return np.random.standard_normal(shape).astype(numpy_dtype(dtype))


def wide(array):
    return np.asarray(array, np.float64)


def assert_exact(output, expected):
    """exact equals the formula to the rounding of float64, and our own result is within the bound."""
    np.testing.assert_allclose(output.exact, expected, rtol=1e-13, atol=1e-13)
    assert output.exact.dtype == np.float64 and output.bound.shape == output.exact.shape == output.ours.shape
    ours = wide(output.ours)
    half_ulp = np.maximum(HALF_ULP[output.dtype] * np.abs(ours), 2.0**-25 * 2.0**-14)
    assert (output.bound >= 0).all() and (np.abs(ours - output.exact) <= half_ulp + output.bound).all()


def windows(tokens, weight, stride, ends):
    """Weighted sums of windows in float64."""
    made, start = [], 0
    for end in ends:
        for first in range(start, end - len(weight) + 1, stride):
            made.append(np.einsum("ln,lnd->nd", wide(weight), wide(tokens[first:first + len(weight)])))
        start = end
    return np.stack(made)


@pytest.mark.parametrize("dtype", ["float32", "float16", pytest.param("bfloat16", marks=needs_bfloat16)])
def test_sums_of_groups(dtype):
    rows, ends = random(50, 7, dtype=dtype), np.array([3, 3, 40, 50])
    found = openaclnn.golden("grouped_bias_add_grad", grad_y=rows, group_idx=ends)
    starts = [0, 3, 3, 40]
    expected = [[math.fsum(wide(rows[a:b, h])) for h in range(7)] for a, b in zip(starts, ends)]
    assert list(found) == ["out"] and found["out"].dtype == dtype and found.fault == ""
    assert_exact(found["out"], expected)
    assert (found["out"].bound[1] == 0).all() and (found["out"].bound[2] > 0).all()


def test_cancelling_sums_are_exact():
    rows = np.array([[2.0**60], [1.0], [-(2.0**60)], [2.0**-40]], np.float32)
    found = openaclnn.golden("grouped_bias_add_grad", grad_y=rows, group_idx=np.array([4]))
    assert found["out"].exact == 1 + 2.0**-40


def test_gradient_of_a_table():
    rows, indices = random(40, 5), np.random.randint(0, 6, 40)
    found = openaclnn.golden("embedding_dense_backward", grad=rows, indices=indices, num_weights=7, padding_idx=2,
                             scale_grad_by_freq=True)
    expected = np.zeros((7, 5))
    for row in range(7):
        places = np.flatnonzero(indices == row)
        if row != 2 and len(places):
            expected[row] = [math.fsum(wide(rows[places, d])) / len(places) for d in range(5)]
    assert_exact(found["out"], expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool", "uint8"])
def test_rows_are_copied(dtype):
    table = (100 * np.random.standard_normal((6, 3))).astype(dtype)
    indices = np.array([[5, 0], [2, 2]])
    found = openaclnn.golden("embedding", weight=table, indices=indices)["out"]
    np.testing.assert_array_equal(found.exact, table[indices])
    np.testing.assert_array_equal(found.ours, table[indices])
    assert found.exact.dtype == ("float64" if dtype == "float32" else dtype) and not found.bound.any() and found.dtype == dtype


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_token_compression(dtype):
    tokens, weight = random(64, 2, 16, dtype=dtype), random(8, 2, dtype=dtype)
    found = openaclnn.golden("nsa_compress", input=tokens, weight=weight, compress_block_size=8, compress_stride=4,
                             actual_seq_len=[24, 64])
    assert_exact(found["out"], windows(tokens, weight, 4, [24, 64]))


def test_gradients_of_token_compression():
    tokens, weight, grad = random(30, 2, 4), random(6, 2), random(9, 2, 4)
    found = openaclnn.golden("nsa_compress_grad", grad=grad, input=tokens, weight=weight, compress_block_size=6, compress_stride=3,
                             actual_seq_len=[30])
    token_grad, weight_grad = np.zeros((30, 2, 4)), np.zeros((6, 2))
    for j in range(9):
        token_grad[3 * j:3 * j + 6] += np.einsum("ln,nd->lnd", wide(weight), wide(grad[j]))
        weight_grad += np.einsum("lnd,nd->ln", wide(tokens[3 * j:3 * j + 6]), wide(grad[j]))
    assert list(found) == ["input_grad", "weight_grad"]
    assert_exact(found["input_grad"], token_grad)
    assert_exact(found["weight_grad"], weight_grad)


def test_compression_into_a_cache():
    tokens, weight, cache = random(8, 2, 16, dtype="float16"), random(8, 2, dtype="float16"), random(3, 2, 16, dtype="float16")
    before = cache.copy()
    found = openaclnn.golden("nsa_compress_with_cache_", input=tokens, weight=weight, slot_mapping=np.array([1], np.int32),
                             cache=cache, compress_block_size=8, compress_stride=4, actual_seq_len=[8])
    expected = wide(before)
    expected[1] = windows(tokens, weight, 4, [8])[0]
    assert_exact(found["cache"], expected)
    np.testing.assert_array_equal(cache, before)


def ema_adam(grad, var, m, v, s, step, lr=1e-3, decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0):
    """One step in float64, from the numbers that the operator gets: float32."""
    lr, decay, beta1, beta2, eps, weight_decay = (float(np.float32(x)) for x in (lr, decay, beta1, beta2, eps, weight_decay))
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    update = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + eps) + weight_decay * var
    var = var - lr * update
    return {"var": var, "m": m, "v": v, "s": decay * s + (1 - decay) * var}


def test_steps_of_optimizers():
    grad, var, m, s = (random(33) for _ in range(4))
    v = np.abs(random(33))
    one = {"grad": grad, "var": var, "m": m, "v": v, "s": s, "step": 7, "weight_decay": 0.5}
    found = openaclnn.golden("apply_fused_ema_adam_", **one)
    expected = ema_adam(*map(wide, (grad, var, m, v, s)), 7, weight_decay=0.5)
    assert list(found) == ["var", "m", "v", "s"]
    for name, output in found.items():
        np.testing.assert_allclose(output.exact, expected[name], rtol=1e-6, atol=1e-7)
        assert (np.abs(wide(output.ours) - output.exact) <= 2.0**-24 * np.abs(output.exact) + output.bound).all()
    several = {name: [one[name], one[name][:5]] for name in ("grad", "var", "m", "v", "s")}
    lists = openaclnn.golden("apply_fused_ema_adam", **several, step=7, weight_decay=0.5)
    assert list(lists)[:2] == ["var[0]", "var[1]"] and len(lists) == 8
    for name, output in found.items():
        np.testing.assert_array_equal(lists[f"{name}[0]"].exact, output.exact)
        np.testing.assert_array_equal(lists[f"{name}[1]"].exact, output.exact[:5])


def test_adam_w_has_the_defaults_of_its_function():
    grad, var, m = (random(20) for _ in range(3))
    v, largest = np.abs(random(20)), np.abs(random(20))
    given = {"grad": grad, "var": var, "m": m, "v": v, "steps_done": 3, "max_v": largest}
    found = openaclnn.golden("apply_adam_w", **given, amsgrad=True)
    var, m, v, largest = (array.copy() for array in (var, m, v, largest))
    openaclnn.apply_adam_w_(grad, var, m, v, 3, max_v=largest)
    for name, array in {"var": var, "m": m, "v": v, "max_v": largest}.items():
        np.testing.assert_array_equal(found[name].ours, array, name)
        np.testing.assert_allclose(found[name].exact, array, rtol=1e-6)


def test_defaults_are_those_of_the_functions():
    """Every default of a Python function is what a golden takes if the argument is missing."""
    from openaclnn._calls import _DEFAULTS

    compared = 0
    for described in operators():
        function = next((getattr(openaclnn, name) for name in (described.python_name, described.python_name + "_")
                         if hasattr(openaclnn, name)), None)
        if function is None or described.function == "aclnnApplyAdamW":
            continue
        arguments = ast.parse(function.__nb_signature__[0][0] + ": ...").body[0].args
        names = [argument.arg for argument in arguments.args]
        of_python = dict(zip(names[len(names) - len(arguments.defaults):], map(ast.literal_eval, arguments.defaults)))
        for parameter in described.arguments:
            if parameter.name in of_python and parameter.default:
                given = _DEFAULTS.get(described.function, {}).get(parameter.name, ast.literal_eval(parameter.default.capitalize()))
                assert given == of_python[parameter.name], (described.name, parameter.name)
                compared += 1
    assert compared > 20


def test_versions_of_an_operator():
    rows, ends = random(4, 3), np.array([4])
    for name in ("GroupedBiasAddGrad", "aclnnGroupedBiasAddGrad", "GroupedBiasAddGradV2", "grouped_bias_add_grad"):
        assert openaclnn.golden(name, gradY=rows, group_idx=ends)["out"].shape == (1, 3)
    lengths = openaclnn.golden("grouped_bias_add_grad", grad_y=rows, group_idx=np.array([2, 2]), group_idx_type=1)
    assert lengths["out"].shape == (2, 3)


def test_arrays_with_gaps_and_foreign_byte_order():
    rows, ends = random(9, 8), np.array([4, 9])
    whole = openaclnn.golden("grouped_bias_add_grad", grad_y=rows[::2, 1::3].copy(), group_idx=np.array([2, 5]))["out"]
    parts = openaclnn.golden("grouped_bias_add_grad", grad_y=rows[::2, 1::3], group_idx=np.array([2, 5]))["out"]
    swapped = openaclnn.golden("grouped_bias_add_grad", grad_y=rows[::2, 1::3].astype(">f4"), group_idx=np.array([2, 5]))["out"]
    for other in (parts, swapped):
        np.testing.assert_array_equal(whole.exact, other.exact)
    rows.flags.writeable = False
    assert openaclnn.golden("grouped_bias_add_grad", grad_y=rows, group_idx=ends)["out"].exact.shape == (2, 8)


def test_threads_give_the_same_golden():
    rows, indices = random(3000, 9), np.random.randint(0, 50, 3000)
    one, two = (openaclnn.golden("embedding_dense_backward", grad=rows, indices=indices, num_weights=50, threads=n)["out"] for n in (1, 2))
    np.testing.assert_array_equal(one.exact, two.exact)
    np.testing.assert_array_equal(one.bound, two.bound)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors(dtype):
    rows = torch.randn(12, 4, dtype=getattr(torch, dtype), requires_grad=True)
    found = openaclnn.golden("grouped_bias_add_grad", grad_y=rows.T.contiguous().T, group_idx=torch.tensor([5, 12]))["out"]
    values = rows.detach().double().numpy()
    np.testing.assert_allclose(found.exact, [values[:5].sum(0), values[5:].sum(0)], rtol=1e-13, atol=1e-13)
    assert found.dtype == dtype


def test_bad_data_is_a_fault():
    found = openaclnn.golden("embedding", weight=random(4, 3), indices=np.array([1, 9]))
    assert "indices[1] = 9" in found.fault and not found["out"].ours[1].any()


@pytest.mark.parametrize("operator, arguments, kind, text", [
    ("embeding", {}, ValueError, "unknown operator 'embeding'; did you mean embedding?"),
    ("matmul_like", {}, ValueError, "the operators are apply_adam_w, "),
    ("embedding", {"weight": np.zeros((4, 3), np.float32)}, TypeError, "Embedding needs the argument indices"),
    ("embedding", {"table": np.zeros((4, 3))}, TypeError, "Embedding has no argument 'table'; its arguments are weight, indices"),
    ("embedding", {"weight": [1.0], "indices": np.array([0])}, TypeError, "weight is of type list; an array is needed"),
    ("embedding", {"weight": np.array(["a"]), "indices": np.array([0])}, TypeError, "weight has the dtype"),
    ("embedding", {"weight": np.array([None]), "indices": np.array([0])}, TypeError, "weight has the dtype object"),
    ("embedding", {"weight": np.zeros(4, np.float32), "indices": np.array([0])}, ValueError, "weight has rank 1; it must be 2"),
    ("grouped_bias_add_grad", {"grad_y": np.zeros((2, 3), np.float32)}, ValueError, "grad_y has rank 2; it must be 3"),
    ("embedding_dense_backward", {"grad": np.zeros((2, 3), np.float32), "indices": np.zeros(2, int), "num_weights": 2.5}, TypeError,
     "num_weights is 2.5; an int is needed"),
    ("nsa_compress", {"input": np.zeros((8, 1, 4), np.float32), "weight": np.zeros((4, 1), np.float32), "compress_block_size": 4,
                      "compress_stride": 0}, ValueError, "compress_stride is 0; both must be at least 1"),
    ("nsa_compress", {"input": np.zeros((8, 1, 4), np.float32), "weight": np.zeros((4, 1), np.float32), "compress_block_size": 4,
                      "compress_stride": 2, "actual_seq_len": 8}, TypeError, "actual_seq_len is of type int; a list of ints is needed"),
    ("nsa_compress", {"input": np.zeros((8, 1, 4), np.float32), "weight": np.zeros((4, 1), np.float32), "compress_block_size": 4,
                      "compress_stride": 2, "actual_seq_len": [4, 1.5]}, TypeError, r"actual_seq_len[1] is 1.5; an int is needed"),
    ("apply_fused_ema_adam", {**{name: np.zeros(3, np.float32) for name in ("grad", "var", "m", "v", "s")}, "step": 1, "lr": "a"},
     TypeError, "lr is 'a'; a number is needed"),
    ("apply_fused_ema_adam", {**{name: [np.zeros(3, np.float32)] * 2 for name in ("grad", "var", "m", "v")},
                              "s": [np.zeros(3, np.float32)], "step": 1}, ValueError, "s has 1 tensors but grad has 2"),
    ("embedding", {"weight": np.zeros((4, 3), np.float32), "indices": np.array([0]), "threads": -1}, ValueError,
     "threads is -1; it must be an int from 0 to 1,024"),
])
def test_errors_name_the_argument(operator, arguments, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        openaclnn.golden(operator, **arguments)
