# Tests that docs/npu_coverage.md is what the registry of torch_npu's functions says.
import inspect
import pathlib
import subprocess
import sys

import pytest

from conftest import needs_torch, torch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "npu_coverage.md"
HOW = "run: python -m openaclnn.compat.npu_ops.coverage > docs/npu_coverage.md"


@needs_torch
def test_the_page_is_the_output_of_the_program():
    command = [sys.executable, "-W", "ignore", "-m", "openaclnn.compat.npu_ops.coverage"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE.read_text(encoding="utf-8"), HOW


@needs_torch
def test_every_parameter_has_rows():
    from npu_cases import CASES
    from openaclnn.compat.npu_ops import coverage, registry

    assert CASES
    for name, function in registry.functions.items():
        assert list(function.arguments) == list(inspect.signature(function.call).parameters)
        assert all(argument.rows for argument in function.arguments.values()), name
    assert all(row.values and row.outcome in ("supported", "refused", "ignored") for _, _, row in coverage.rows())


@needs_torch
@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_a_changed_declaration_changes_the_page(monkeypatch):
    import dataclasses

    from npu_cases import CASES
    from openaclnn.compat.npu_ops import coverage, registry
    from openaclnn.compat.npu_ops.arguments import supported

    assert CASES
    before = coverage.page()
    changed = dataclasses.replace(registry.functions["npu_rms_norm"], arguments={"input": supported("a | b")})
    monkeypatch.setitem(registry.functions, "npu_rms_norm", changed)
    assert coverage.page() != before and "| `input` | a \\| b | supported |  |" in coverage.page()


NAMES = """
import openaclnn.compat.torch_npu
import torch
import torch_npu
from openaclnn.compat.npu_ops import registry

for name, function in registry.functions.items():
    base, _, overload = name.partition(".")
    if not overload:
        assert getattr(torch_npu, base) is function.call, name
    if function.schema:
        operator = getattr(getattr(torch.ops.npu, base), overload or "default")
        assert str(operator) == f"npu.{name if overload else name + '.default'}", name
x = torch.arange(6.0).reshape(2, 3).npu()
assert torch.equal(x.npu_confusion_transpose((1, 0), (6,), True), torch.tensor([0.0, 3, 1, 4, 2, 5]))
assert torch_npu.get_npu_format(x.npu_format_cast(29)) == 29 and x.npu_format_cast_(29) is x
for absent, nearest in (("npu_rms_norm_quant", "npu_rms_norm"), ("npu_grouped_matmul_finalize_routing", "npu_grouped_matmul")):
    try:
        getattr(torch_npu, absent)
    except NotImplementedError as error:
        assert f"torch_npu.{absent} isn't supported. The nearest function here is {nearest}" in str(error), error
        assert "docs/from_torch_npu.md" in str(error)
    else:
        raise SystemExit(absent + " exists")
"""


@needs_torch
def test_every_function_has_its_names():
    """In a process of its own, because the import changes PyTorch."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", NAMES], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
