# Tests what all functions of torch_npu share: torch.ops.npu, rounding, the refusal of values, and their descriptions.
import ast
import inspect

import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import npu_functions as npu  # noqa: E402
from npu_cases import CASES, every_case  # noqa: E402
from openaclnn.compat.npu_ops import coverage, registry  # noqa: E402

INPLACE = {"npu_add_rms_norm_v2", "npu_grouped_matmul_add_", "npu_format_cast_"}
ELSEWHERE = ("npu_nsa_", "npu_apply_", "npu_fusion_attention", "_npu_dropout", "npu_scaled_masked_softmax")  # these have tests of their own


def test_every_function_has_a_case():
    missing = set(registry.functions) - {case.name for case in CASES} - INPLACE
    assert not {name for name in missing if not name.startswith(ELSEWHERE)}


@every_case
def test_operators_give_the_same(case):
    arguments = case.arguments(torch.float32)
    with npu.Operators():
        assert npu.same(case.operator(arguments), case.call(arguments))
        results, gradients = npu.gradients(case.operator, arguments)
    assert npu.same(results, case.call(arguments)) and npu.same(gradients, npu.gradients(case.call, arguments)[1])
    assert gradients


@every_case
@pytest.mark.parametrize("dtype", npu.NARROW, ids=str)
def test_narrow_dtypes_are_rounded_once(case, dtype):
    if not case.rounds_once:
        pytest.skip("the operator rounds an intermediate result, as an NPU")
    narrow = case.arguments(dtype)
    wide = npu.mapped(lambda one: one.float() if one.dtype == dtype else one, narrow)
    wide[0] = [torch.float32 if isinstance(one, torch.dtype) else one for one in wide[0]]
    for got, want in zip(npu.tensors(case.call(narrow)), npu.tensors(case.call(wide))):
        assert torch.equal(got, want.to(got.dtype)) and got.dtype in (dtype, want.dtype)
    got, want = npu.gradients(case.call, narrow)[1], npu.gradients(case.call, wide)[1]
    for one, other in zip(got, want):
        assert torch.allclose(one.float(), other.float(), rtol=0.02, atol=0.02 * float(other.abs().max()))


def refusals():
    for name, function in registry.functions.items():
        for key, argument in function.arguments.items():
            if argument.accepts is not None:
                yield pytest.param(function, key, argument, id=f"{name}-{key}")


def accepted(argument):
    """Returns a value that the check of an argument accepts."""
    return None if argument.accepts is None else ast.literal_eval(argument.accepted.split(", ")[0].split(" or ")[0])


@pytest.mark.parametrize("function, key, argument", list(refusals()))
def test_values_are_refused(function, key, argument):
    """The checks come first, so arguments without one may be anything."""
    parameters = inspect.signature(function.call).parameters.values()
    others = {one.name: accepted(function.arguments[one.name]) for one in parameters if one.default is one.empty and one.name != key}
    with pytest.raises(argument.kind) as caught:
        function.call(**others, **{key: argument.example})
    text = str(caught.value)
    assert text.startswith(f"{function.name.partition('.')[0]}: {key} is ") and registry.PAGE in text and argument.accepted in text


def test_other_names_are_refused():
    error = registry.missing("npu_rms_norm_quant")
    assert isinstance(error, NotImplementedError) and isinstance(error, AttributeError)
    assert all(words in str(error) for words in ("torch_npu.npu_rms_norm_quant", "The nearest function here is npu_rms_norm", registry.PAGE))
    assert "nearest" not in str(registry.missing("profiler"))


def test_functions_are_documented():
    for function in registry.functions.values():
        text = inspect.getdoc(function.call) or ""
        assert len(text) > 20, function.name


def test_each_outcome_has_a_remark():
    for name, argument, row in coverage.rows():
        assert row.outcome == "supported" or row.why, (name, argument)
