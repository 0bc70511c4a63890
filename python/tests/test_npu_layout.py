# Tests npu_confusion_transpose and the formats that npu_format_cast marks.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import openaclnn.torch as oat  # noqa: E402
from npu_cases import random  # noqa: E402
from openaclnn.compat.npu_ops import layout  # noqa: E402


def test_confusion_transpose_permutes_first():
    x = random(2, 3, 4)
    got = layout.npu_confusion_transpose(x, (1, 0, 2), (3, 8), True)
    assert got.shape == (3, 8)
    for i in range(2):
        for j in range(3):
            for k in range(4):
                assert got[j, 4 * i + k] == x[i, j, k]


def test_confusion_transpose_reshapes_first():
    x = random(2, 12)
    got = layout.npu_confusion_transpose(x, (0, 2, 1), (2, 3, 4), False)
    assert got.shape == (2, 4, 3)
    for i in range(2):
        for j in range(3):
            for k in range(4):
                assert got[i, k, j] == x[i, 4 * j + k]


def test_confusion_transpose_of_five_dimensions():
    x = random(4, 2, 3, 8)
    got = layout.npu_confusion_transpose(x, (0, 3, 1, 2, 4), (4, 2, 3, 2, 4), False)
    assert torch.equal(got, x.view(4, 2, 3, 2, 4).permute(0, 3, 1, 2, 4))


@pytest.mark.parametrize("shape, perm, target, first", [
    ((2, 3, 4), (1, 2, 0), (6, 4), True), ((2, 3, 4), (-1, 0, 1), (24,), True), ((2, 12), (2, 0, 1), (2, 3, 4), False),
    ((24,), (3, 1, 0, 2), (1, 2, 3, 4), False), ((), (), (1,), True), ((0, 3), (1, 0), (3, 0, 2), True)])
def test_confusion_transpose_backward(shape, perm, target, first):
    x = random(*shape).requires_grad_()
    result = layout.npu_confusion_transpose(x, perm, target, first)
    grad = random(*result.shape, seed=1)
    want, = torch.autograd.grad(result, x, grad)
    assert torch.equal(layout.npu_confusion_transpose_backward(grad, perm, x.shape, not first), want)


@pytest.mark.parametrize("call, words", [
    (lambda x: layout.npu_confusion_transpose(x, (0, 0, 1), (24,), True), "perm is [0, 0, 1]; it must be a permutation"),
    (lambda x: layout.npu_confusion_transpose(x, (1, 0), (24,), True), "of the dimensions 0 to 2"),
    (lambda x: layout.npu_confusion_transpose(x, (0, 1, 2), (23,), True), "shape is [23] but there are 24 elements"),
    (lambda x: layout.npu_confusion_transpose(x, (1, 0), (4, 5), False), "shape is [4, 5] but there are 24 elements"),
    (lambda x: layout.npu_confusion_transpose_backward(x, (1, 0), (2, 12), True), "perm is [1, 0] but grad has 3 dimensions"),
    (lambda x: layout.npu_confusion_transpose_backward(x, (1, 0), (2, 3, 4), False), "perm is [1, 0] but shape has 3 dimensions"),
])
def test_confusion_transpose_refuses(call, words):
    with pytest.raises(RuntimeError, match="^npu_confusion_transpose") as caught:
        call(random(2, 3, 4))
    assert words in str(caught.value)


def test_a_format_is_a_mark():
    x = random(4, 4)
    packed = layout.npu_format_cast(x, 29)
    assert torch.equal(packed, x) and packed.shape == x.shape and packed.data_ptr() != x.data_ptr()
    assert [layout.get_npu_format(one) for one in (x, packed)] == [2, 29]
    assert layout.npu_format_cast(packed, layout.Format.FRACTAL_NZ) is packed
    assert layout.get_npu_format(layout.npu_format_cast(packed, 2)) == layout.Format.ND
    assert layout.get_npu_format(layout.npu_format_cast(x, packed)) == 29


@pytest.mark.skipif(not layout.MARKS_STORAGES, reason=f"PyTorch {torch.__version__} makes a new object of a storage for each call")
def test_tensors_that_share_memory_share_the_format():
    weight = torch.nn.Parameter(random(4, 4))
    weight.data = layout.npu_format_cast(weight.data, 29)
    assert layout.get_npu_format(weight) == 29 and layout.get_npu_format(weight.detach()[1:]) == 29
    assert layout.get_npu_format(weight + 1) == 2


def test_a_result_has_no_format_of_a_former_one():
    """Memory of large results is used again."""
    table, ids = random(1024, 1024), torch.arange(1024)
    rows = layout.npu_format_cast_(oat.embedding(table, ids), 29)
    address = rows.data_ptr()
    del rows
    again = oat.embedding(table, ids)
    assert again.data_ptr() == address and layout.get_npu_format(again) == 2


def test_a_cast_in_place():
    x = random(4, 4)
    assert layout.npu_format_cast_(x, 29) is x and layout.get_npu_format(x) == 29
    assert layout.npu_format_cast_(x, random(2)) is x and layout.get_npu_format(x) == 2


def test_a_cast_has_the_gradient_of_a_copy():
    x = random(4, 4).requires_grad_()
    (layout.npu_format_cast(x, 29) * torch.arange(4.0)).sum().backward()
    assert torch.equal(x.grad, torch.arange(4.0).expand(4, 4))


@pytest.mark.parametrize("wrong", [5, -2, 77])
def test_unknown_formats_are_refused(wrong):
    for function in (layout.npu_format_cast, layout.npu_format_cast_):
        with pytest.raises(RuntimeError, match=rf"^{function.__name__}: acl_format is {wrong}; accepted: -1 \(UNDEFINED\), 0 \(NCHW\)"):
            function(random(2, 2), wrong)
