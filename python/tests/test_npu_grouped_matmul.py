# Tests npu_grouped_matmul and npu_grouped_matmul_add against one product per group.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops.grouped_matmul import (npu_grouped_matmul, npu_grouped_matmul_add,  # noqa: E402
                                                     npu_grouped_matmul_add_)

SIZES = [9, 0, 0, 7, 1, 0]
ENDS = [9, 9, 9, 16, 17, 17]
GROUPS, ROWS, K, N = len(SIZES), sum(SIZES), 5, 4


def group_list(kind):
    return torch.tensor(SIZES if kind else ENDS)


def by_rows(x, weights, biases=None):
    """A product for the rows of each group."""
    parts = [part @ weight for part, weight in zip(x.split(SIZES), weights)]
    return torch.cat(parts if biases is None else [part + bias for part, bias in zip(parts, biases)])


def by_columns(x, weight):
    """A product of the columns and rows of each group."""
    return torch.stack([a.double() @ b.double() for a, b in zip(x.split(SIZES, 1), weight.split(SIZES, 0))]).to(x.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("x_shape", [(3, 4), (2, 3, 4), (2, 1, 3, 1, 2, 4)])
def test_lists_without_groups(dtype, with_bias, x_shape):
    dtype = getattr(torch, dtype)
    x = [random(*x_shape, dtype=dtype), random(3, 6, dtype=dtype)]
    weight = [random(4, 2, dtype=dtype), random(6, 5, dtype=dtype)]
    bias = [random(2, dtype=torch.float32), random(5, dtype=torch.float32)] if with_bias else None
    got = npu_grouped_matmul(x, weight, bias=bias, group_type=-1, split_item=0)
    assert len(got) == 2
    for i, result in enumerate(got):
        want = x[i].double() @ weight[i].double() + (bias[i].double() if with_bias else 0)
        torch.testing.assert_close(result, want.to(dtype), rtol=1e-5 if dtype == torch.float32 else 2**-7, atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("split_item", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_groups_of_rows(kind, as_list, split_item, dtype):
    x, weight = random(ROWS, K, dtype=getattr(torch, dtype)), random(GROUPS, K, N, dtype=getattr(torch, dtype))
    got = npu_grouped_matmul([x], list(weight) if as_list else [weight], group_list=group_list(kind), split_item=split_item,
                             group_type=0, group_list_type=kind)
    assert len(got) == 1
    torch.testing.assert_close(got[0], by_rows(x.double(), weight.double()).to(x.dtype), rtol=2**-7 if dtype != "float32" else 1e-5,
                               atol=1e-5)


@pytest.mark.parametrize("one_tensor", [False, True])
def test_groups_of_rows_with_bias(one_tensor):
    x, weight, bias = random(ROWS, K), random(GROUPS, K, N), random(GROUPS, N, seed=1)
    got, = npu_grouped_matmul([x], [weight], bias=[bias] if one_tensor else list(bias), group_list=group_list(1), split_item=3,
                              group_type=0, group_list_type=1)
    torch.testing.assert_close(got, by_rows(x, weight, bias))


@pytest.mark.parametrize("given", [False, True])
def test_lists_of_rows(given):
    x, weight = random(ROWS, K), random(GROUPS, K, N)
    got, = npu_grouped_matmul(list(x.split(SIZES)), list(weight), group_list=group_list(1) if given else None, split_item=2,
                              group_type=0, group_list_type=1)
    torch.testing.assert_close(got, by_rows(x, weight))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("split_item", [0, 1, 2, 3])
def test_groups_of_columns(kind, as_list, split_item):
    x, weight = random(ROWS, K).t(), random(ROWS, N, seed=1)  # a transposed view, as callers pass it
    got = npu_grouped_matmul([x], list(weight.split(SIZES)) if as_list else [weight], group_list=group_list(kind),
                             split_item=split_item, group_type=2, group_list_type=kind)
    want = by_columns(x, weight)
    if split_item < 2:
        assert len(got) == GROUPS and all(one.shape == (K, N) for one in got)
        got = [torch.stack(got)]
    assert len(got) == 1 and not got[0][1].any()
    torch.testing.assert_close(got[0], want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("split_item", [0, 1, 2, 3])
def test_a_list_of_ints(split_item):
    x, weight, bias = random(ROWS, K), random(GROUPS, K, N), random(GROUPS, N, seed=1)
    got = npu_grouped_matmul([x], list(weight), bias=list(bias), group_list=ENDS, split_item=split_item)
    want = by_rows(x, weight, bias)
    if split_item < 2:
        assert [len(one) for one in got] == SIZES
        got = [torch.cat(got)]
    torch.testing.assert_close(got[0], want)


@pytest.mark.parametrize("kind", [0, 1])
def test_gradients_as_callers_compute_them(kind):
    """The gradient of x is a product with the transposed weights, that of the weights one by columns."""
    x, weight = random(ROWS, K).requires_grad_(), random(GROUPS, K, N).requires_grad_()
    options = dict(group_list=group_list(kind), split_item=3, group_list_type=kind)
    y, = npu_grouped_matmul([x], [weight], group_type=0, **options)
    grad = random(ROWS, N, seed=2)
    of_x, of_weight = torch.autograd.grad(y, (x, weight), grad)
    with torch.no_grad():
        torch.testing.assert_close(npu_grouped_matmul([grad], [weight.transpose(1, 2)], group_type=0, **options)[0], of_x)
        torch.testing.assert_close(npu_grouped_matmul([x.t()], [grad], group_type=2, **options)[0], of_weight)
    naive = torch.autograd.grad(by_rows(x, weight), (x, weight), grad)
    torch.testing.assert_close((of_x, of_weight), naive)


def test_bias_has_a_gradient():
    bias = random(GROUPS, N).requires_grad_()
    y, = npu_grouped_matmul([random(ROWS, K)], [random(GROUPS, K, N)], bias=[bias], group_list=group_list(1), split_item=3,
                            group_type=0, group_list_type=1)
    y.sum().backward()
    assert torch.equal(bias.grad, torch.tensor(SIZES, dtype=torch.float32).unsqueeze(1).expand(GROUPS, N))


def test_results_can_have_another_dtype():
    x, weight = random(3, 4, dtype=torch.bfloat16), random(4, 2, dtype=torch.bfloat16)
    got, = npu_grouped_matmul([x], [weight], group_type=-1, output_dtype=torch.float32)
    assert torch.equal(got, x.float() @ weight.float())


def test_autocast_does_not_narrow_products():
    x, weight = torch.randn(64, 64), torch.randn(1, 64, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, = npu_grouped_matmul([x], [weight], group_list=torch.tensor([64]), group_type=0, split_item=3)
        other, = npu_grouped_matmul([x], [weight[0]], group_type=-1)
    torch.testing.assert_close(got, x @ weight[0])
    torch.testing.assert_close(other, x @ weight[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", [0, 1])
def test_grouped_matmul_add(dtype, kind):
    x, weight = random(ROWS, K, dtype=getattr(torch, dtype)), random(ROWS, N, dtype=getattr(torch, dtype), seed=1)
    start = random(GROUPS * K, N, seed=2)
    want = start + by_columns(x.float().t(), weight.float()).reshape(start.shape)
    got = npu_grouped_matmul_add(start, x, weight, group_list(kind), group_list_type=kind)
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)
    into = start.clone()
    assert npu_grouped_matmul_add_(into, x, weight, group_list(kind), group_list_type=kind) is into and torch.equal(into, got)


X, W = torch.ones(4, 3), torch.ones(2, 3, 5)
ROWS_OF = dict(group_type=0, split_item=3)


@pytest.mark.parametrize("x, weight, options, words", [
    ([], [], {}, "x is an empty list"),
    ([X], [], {}, "weight is an empty list"),
    ([X], [W], {}, "Requires manual passing group_type"),
    ([X], [W], {"group_list": torch.tensor([4, 4])}, "Requires manual passing group_type"),
    *(([X], [W], {"group_type": kind, "group_list": torch.tensor([4, 4])}, f"The group type must be -1, 0 or 2, but it is {kind}")
      for kind in (1, 3, 100)),
    ([X], [W], ROWS_OF, "group_list is None; it must have an int64 number per group"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4, 3])}, "group 1 has a negative size"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4, 5])}, "the groups of group_list have 5 elements; they must have 4"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4])}, "group_list has 1 groups; it must have 2"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([[4, 4]])}, "group_list has dtype int64 and 2 dimensions"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4, 4]).int()}, "group_list has dtype int32"),
    ([X[:1], X[1:]], list(W), {**ROWS_OF, "group_list": torch.tensor([2, 4])}, "have the sizes [2, 2]; the tensors have [1, 3]"),
    ([X], [W], {"group_type": 0, "group_list": torch.tensor([4, 4])}, "split_item is 0 or 1; with group_type 0 it must be 2 or 3"),
    ([X], [W], {**ROWS_OF, "split_item": 4}, "split_item is 4; accepted: 0, 1, 2, 3"),
    ([X[:, :2]], [W], {**ROWS_OF, "group_list": torch.tensor([4, 4])}, "x has the shapes [[4, 2]]"),
    ([X], [W[0], W[1, :, :4]], {**ROWS_OF, "group_list": torch.tensor([4, 4])}, "weight has the shapes [[3, 5], [3, 4]]"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4, 4]), "bias": [torch.ones(2, 4)]}, "bias has the shape [2, 4]"),
    ([X], [W], {**ROWS_OF, "group_list": torch.tensor([4, 4]), "bias": [torch.ones(5), torch.ones(4)]}, "bias has the shapes"),
    ([X], [W], {"group_list": [4, 4], "group_type": 0}, "group_list is a list of ints and group_type is 0; it must be None"),
    ([X], list(W), {"group_list": [4, 3]}, "group_list is [4, 3]; the ends of the groups must not decrease"),
    ([X], [W], {"group_list": [4, 4]}, "group_list has 2 ints, x 1, weight 1 and bias 0 tensors"),
    ([X], [W[0], W[1, :, :4]], {"group_list": [2, 4], "split_item": 3}, "split_item must be 0 or 1"),
    ([X], [W[0]], {"group_type": -1, "group_list": torch.tensor([4])}, "group_list must be None and split_item 0 or 1"),
    ([X, X], [W[0]], {"group_type": -1}, "x, weight and bias have 2, 1 and 0 tensors"),
    ([X], [W], {"group_type": -1}, "x[0] has shape [4, 3] and weight[0] [2, 3, 5]"),
    ([X], [W[0]], {"group_type": -1, "bias": [torch.ones(4)]}, "bias[0] has shape [4]; it must be [5]"),
    ([X], [W[0]], {"group_type": -1, "bias": [torch.ones(5).half()]}, "bias[0] has dtype float16; accepted: float32"),
    ([X], [W[0].half()], {"group_type": -1}, "weight[0] has dtype float16 but x[0] has float32"),
    ([X], [X], {"group_type": 2, "group_list": torch.tensor([3])}, "weights of 4 rows it must be one [M, 4]"),
    ([X.t()], [X], {"group_type": 2, "group_list": torch.tensor([4]), "bias": [torch.ones(3)]}, "with group_type 2 it must be None"),
    ([X.t()], [W], {"group_type": 2, "group_list": torch.tensor([4])}, "with group_type 2 it must have matrices"),
])
def test_wrong_arguments_are_refused(x, weight, options, words):
    with pytest.raises(RuntimeError, match="^npu_grouped_matmul: ") as caught:
        npu_grouped_matmul(x, weight, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("start, x, weight, words", [
    (torch.ones(15).half(), X, W[0, :2], "input has dtype float16; accepted: float32"),
    (torch.ones(15), X, W[0], "x has shape [4, 3] and weight [3, 5]; they must be [K, M] and [K, N]"),
    (torch.ones(14), X, torch.ones(4, 5), "input has shape [14]; it must have 15 elements, those of [1, 3, 5]"),
])
def test_wrong_sums_are_refused(start, x, weight, words):
    with pytest.raises(RuntimeError, match="^npu_grouped_matmul_add: ") as caught:
        npu_grouped_matmul_add(start, x, weight, torch.tensor([4]))
    assert words in str(caught.value)
