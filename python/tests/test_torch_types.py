# Types of openaclnn.torch: every public function and method is annotated, and a program in strict types passes mypy.
import importlib
import inspect
import pathlib

import pytest

import openaclnn
from conftest import needs_torch

pytestmark = needs_torch
MODULES = ["ops", "modules", "optim", "aten", "distributed"]
FOLDER = pathlib.Path(openaclnn.__file__).parent.parent

GOOD = """if True:
    import torch
    import openaclnn.torch as ot
    from openaclnn.torch.distributed import VocabParallelEmbedding, nsa_piece

    model = torch.nn.Linear(3, 2)
    optimizer = ot.FusedEmaAdamW(model.parameters(), lr=1e-3, ema_decay=0.9)
    ot.FusedEmaAdam([{"params": model.parameters(), "lr": 0.1}], state_dtype="parameter")

    def closure() -> torch.Tensor:
        return torch.as_tensor(model(torch.ones(1, 3)).sum())

    loss: torch.Tensor = optimizer.step(closure)
    optimizer.step()
    with optimizer.swap_ema() as same:
        same.zero_grad()
    optimizer.store(model.parameters())
    optimizer.restore()
    averages: dict[str, torch.Tensor] = optimizer.ema_state_dict(model)
    optimizer.load_state_dict(optimizer.state_dict())
    table = ot.Embedding(5, 3, padding_idx=0)
    rows: torch.Tensor = ot.embedding(table.weight, torch.tensor([1, 2]))
    compress = ot.NsaCompress(2, 4, 2)
    tokens: torch.Tensor = ot.nsa_compress(torch.ones(8, 2, 3), compress.weight, 4, 2, actual_seq_len=[8])
    first, second = ot.nsa_compress_grad(tokens, torch.ones(8, 2, 3), compress.weight, 4, 2)
    biased: torch.Tensor = ot.grouped_bias_add(torch.ones(2, 3), ot.GroupedBiasAdd(1, 3).bias, torch.tensor([2]))
    sums: torch.Tensor = ot.grouped_bias_add_grad(biased, torch.tensor([2])) + first.sum() + second.sum()
    counts: torch.Tensor = ot.embedding_counts(torch.tensor([1, 2]), 5)
    ot.embedding_dense_backward(rows, torch.tensor([1, 2]), 5, counts=counts)
    ot.enable_embedding_backward()
    ot.disable_embedding_backward()
    piece: tuple[int, int, int, int] = nsa_piece(8, 4, 2)
    part: torch.Tensor = VocabParallelEmbedding(5, 3).weight
"""

BAD = ["ot.FusedEmaAdamW([torch.zeros(2)], ema_decoy=1)", "ot.embedding(torch.zeros(2), 'x')", "ot.Embedding(5, 3, paddingidx=3)",
       "ot.NsaCompress(2, 4, 2.5)", "ot.grouped_bias_add_grad(torch.zeros(2), None, 'x')"]


def public():
    """Returns (name, function) of the functions that a program may call."""
    for module in MODULES:
        members = importlib.import_module(f"openaclnn.torch.{module}")
        for name, member in vars(members).items():
            if name.startswith("_") or getattr(member, "__module__", "") != members.__name__ or not callable(member):
                continue
            methods = vars(member) if inspect.isclass(member) else {}
            yield from [(name, member)] if not inspect.isclass(member) else (
                (f"{name}.{method}", value) for method, value in methods.items()
                if inspect.isfunction(value) and (method == "__init__" or not method.startswith("_")))


def test_everything_public_is_annotated():
    checked = []
    for name, function in public():
        signature = inspect.signature(function)
        bare = [parameter for parameter, value in signature.parameters.items()
                if parameter != "self" and value.annotation is inspect.Parameter.empty]
        assert not bare and signature.return_annotation is not inspect.Signature.empty, (name, bare)
        checked.append(name)
    assert {"embedding", "FusedEmaAdamW.__init__", "FusedEmaAdamW.step", "NsaCompress.forward", "global_counts"} <= set(checked)


def test_a_program_in_strict_types(type_errors):
    found, told = type_errors({"good.py": GOOD, "bad.py": "import torch\nimport openaclnn.torch as ot\n\n" + "\n".join(BAD) + "\n"})
    assert found == {("bad.py", line) for line in range(4, 4 + len(BAD))}, told


def test_types_are_not_evaluated():
    """Annotations stay text, so that older versions of Python and PyTorch can import them."""
    for path in (FOLDER / "openaclnn" / "torch").glob("*.py"):
        text = path.read_text()
        assert path.name == "__init__.py" or "from __future__ import annotations\n" in text, path.name
