# Tests gradients of embeddings in float64, which PyTorch adds: checks and errors are those of the other dtypes.
import pytest

import openaclnn
from conftest import needs_torch, torch

if torch is not None:
    import openaclnn.torch as oat

pytestmark = needs_torch


def calls():
    """Returns rejected calls by name: the rows, the indices, and the rest."""
    rows, ids = torch.ones(2, 3), torch.tensor([0, 1])
    return {
        "the default of padding": (rows, torch.tensor([0, -1]), 4),
        "below the padding": (rows, torch.tensor([0, -5]), 4, -5),
        "beyond the table": (rows, torch.tensor([0, 9]), 4),
        "beyond the table, and padding": (rows, torch.tensor([0, 9]), 4, 9),
        "beyond the table, of two dims": (rows[:, None], torch.tensor([[0], [9]]), 4),
        "divided by frequency": (rows, torch.tensor([0, -1]), 4, -1, True),
        "too few": (rows, ids[:1], 4),
        "too many": (rows, torch.tensor([0, 1, 2]), 4),
        "without dims": (rows[0, 0], ids[0], 4),
        "complex": (rows, ids.to(torch.complex64), 4),
        "negative table": (rows, ids, -1),
    }


NAMES = list(calls()) if torch is not None else []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_errors_are_those_of_float32(name, dtype):
    rows, *rest = calls()[name]
    with pytest.raises((openaclnn.AclnnError, ValueError)) as expected:
        oat.embedding_dense_backward(rows, *rest)
    with pytest.raises(expected.type) as caught:
        oat.embedding_dense_backward(rows.to(getattr(torch, dtype)), *rest)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_gradients_of_integers_are_refused(dtype):
    with pytest.raises(openaclnn.AclnnError, match=f"grad has dtype torch.{dtype}; it must be torch.float32"):
        oat.embedding_dense_backward(torch.ones(2, 3).to(getattr(torch, dtype)), torch.tensor([0, 1]), 4)


@pytest.mark.parametrize("rows, ids, more", [
    ((2, 3), [0, 1], (4,)), ((2, 0), [0, 1], (4,)), ((2, 0), [0, 9], (4,)), ((2, 3), [0, 1], (0,)), ((0, 3), [], (4,)), ((2, 3), [3, 3], (4, 3)),
    ((2, 3), [1, 1], (4, -1, True)), ((1, 2, 3), [[2, 0]], (4, 0, True))])
@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "float32"])
def test_results_are_those_of_float32(rows, ids, more, kind):
    rows, ids = torch.ones(rows), torch.tensor(ids).to(getattr(torch, kind))
    expected = oat.embedding_dense_backward(rows, ids, *more)
    found = oat.embedding_dense_backward(rows.double(), ids, *more)
    assert found.dtype == torch.float64 and torch.equal(found.float(), expected)
