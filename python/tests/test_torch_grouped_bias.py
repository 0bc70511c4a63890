# Tests how rows get the bias of their group: many small groups have the bits of a call for each group.
import pytest

from conftest import FLOATS, needs_torch, torch

if torch is not None:
    import openaclnn.torch as oat
    from openaclnn.torch import kernels

pytestmark = needs_torch
SIZES = [3, 0, 0, 5, 1, 1, 0, 40, 2, 0, 7]


def by_group(x, bias, sizes):
    """The formula with an addition for each group. Rows after the last group are those of x."""
    out, start = x.clone(), 0
    for size, row in zip(sizes, bias):
        out[start:start + size] = x[start:start + size] + row
        start += size
    return out


def bits(tensor):
    """Returns the bits of the numbers. Those of NaN depend on where PyTorch's vectors start, so they are all the same here."""
    numbers = torch.where(tensor.isnan(), torch.zeros_like(tensor), tensor).contiguous()
    return torch.stack([numbers.view(torch.int32 if tensor.dtype == torch.float32 else torch.int16).to(torch.int32), tensor.isnan().to(torch.int32)])


def values(shape, dtype):
    """Random numbers of all magnitudes that the dtype has, some of them infinite or not a number."""
    numbers = torch.randn(shape) * 2.0 ** torch.randint(-30, 30, shape)
    numbers[torch.rand(shape) < 0.02] = float("inf")
    numbers[torch.rand(shape) < 0.02] = float("nan")
    return numbers.to(getattr(torch, dtype))


@pytest.mark.parametrize("x", FLOATS)
@pytest.mark.parametrize("bias", FLOATS)
@pytest.mark.parametrize("at_once", [10, 2**18])
def test_many_groups_have_the_bits_of_a_call_for_each(monkeypatch, x, bias, at_once):
    monkeypatch.setattr(kernels, "_BIASES_AT_ONCE", at_once)
    monkeypatch.setattr(kernels, "_add_to_large_groups", None)
    x, bias = values((70, 9), x), values((len(SIZES), 9), bias)
    expected, sizes = by_group(x, bias, SIZES), torch.tensor(SIZES)
    for kind in (torch.int32, torch.int64):
        for group_idx, group_idx_type in ((sizes.cumsum(0), 0), (sizes, 1)):
            for rows in (x, x.t().contiguous().t()):
                found = oat.grouped_bias_add(rows, bias, group_idx.to(kind), group_idx_type)
                assert found.dtype == x.dtype and torch.equal(bits(found), bits(expected))


@pytest.mark.parametrize("dtype", FLOATS)
def test_both_ways_have_the_same_bits(dtype):
    x, bias, ends = values((70, 9), dtype), values((len(SIZES), 9), "float32"), torch.tensor(SIZES).cumsum(0)
    found = []
    for add in (kernels._add_to_small_groups, kernels._add_to_large_groups):
        out = torch.zeros_like(x)
        assert add(x, bias, ends, 0, out) == sum(SIZES)
        found.append(bits(out))
    assert torch.equal(*found)


@pytest.mark.parametrize("entries, kind, place", [
    ([2, 1, 3], 0, 1), ([-1, 2, 3], 0, 0), ([1, 2, 99], 0, 2), ([1, -1, 5], 1, 1), ([4, 4, 4], 1, 2), ([2**62, 2**62, 2**62], 1, 0),
    ([-2**63, 2**63 - 1, 3], 0, 0)])
@pytest.mark.parametrize("groups", [3, 50])
def test_groups_out_of_range(entries, kind, place, groups):
    """The text is the same for few groups and for many."""
    entries = [0] * (groups - 3) + entries
    with pytest.raises(IndexError) as caught:
        oat.grouped_bias_add(torch.ones(10, 2), torch.ones(groups, 2), torch.tensor(entries), kind)
    assert f"group_idx[{groups - 3 + place}] = {entries[groups - 3 + place]}: group" in str(caught.value)


@pytest.mark.parametrize("rows, width", [(0, 3), (5, 0)])
def test_empty_rows_of_many_groups(rows, width):
    group_idx = torch.zeros(50, dtype=torch.int64)
    assert oat.grouped_bias_add(torch.ones(rows, width), torch.ones(50, width), group_idx).shape == (rows, width)
    x = torch.randn(4, 3)
    assert torch.equal(oat.grouped_bias_add(x, torch.ones(50, 3), group_idx), x)


def test_many_groups_are_not_added_one_by_one(monkeypatch):
    """A call for each of 1,024 groups took 8.2 ms, and four for all 0.2 ms."""
    calls = []
    add = torch.add
    monkeypatch.setattr(torch, "add", lambda *given, **more: calls.append(given) or add(*given, **more))
    group_idx = torch.arange(1, 1025) * 4
    oat.grouped_bias_add(torch.ones(4096, 64), torch.ones(1024, 64), group_idx)
    assert len(calls) <= 4
    oat.grouped_bias_add(torch.ones(4096, 64), torch.ones(2, 64), torch.tensor([2048, 4096]))
    assert len(calls) <= 4 + 2
