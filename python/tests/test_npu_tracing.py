# Tests torch_npu's functions without data: shape rules, make_fx, and the operators behind the functions.
import pytest

from conftest import needs_newer_torch, torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import npu_functions as npu  # noqa: E402
from npu_cases import every_case, every_function  # noqa: E402


@every_function
def test_make_fx_traces(case):
    from torch.fx.experimental.proxy_tensor import make_fx

    arguments = case.arguments(torch.float32)
    places = npu.tensors(arguments)

    def function(*inputs):
        left = iter(inputs)
        return npu.tensors(case.call(npu.mapped(lambda _: next(left), arguments)))

    traced = make_fx(function, tracing_mode="symbolic")(*places)
    assert npu.same(traced(*places), case.call(arguments))


@every_case
def test_fake_tensors_have_the_shapes(case):
    """In a fake mode nothing is computed, so the shape rules alone give the results."""
    from torch._subclasses import FakeTensorMode

    mode = FakeTensorMode()
    arguments = npu.mapped(mode.from_tensor, case.arguments(torch.bfloat16))
    with mode:
        results = npu.tensors(case.call(arguments))
    for got, want in zip(results, npu.tensors(case.call(case.arguments(torch.bfloat16))), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype and got.device == want.device


@needs_newer_torch(2, 4)
@pytest.mark.parametrize("name", ["group_ends", "grouped_rows", "grouped_columns", "routed_order"])
def test_operators_behind_the_functions(name):
    """PyTorch's own checks: the schema, the shape rule, the registration of gradients, and tracing with any sizes."""
    from npu_cases import ENDS, MAP, random
    from openaclnn.compat.npu_ops import private  # noqa: F401

    arguments = {"group_ends": ("name", ENDS, 0, 5, [2, 0, 3]), "grouped_rows": (random(5, 4), random(3, 4, 2), ENDS),
                 "grouped_columns": (random(4, 5), random(5, 2), ENDS), "routed_order": ("name", MAP, 9, -1)}[name]
    with_gradients = npu.separate(list(arguments), floats_need_gradients=True)
    assert set(torch.library.opcheck(getattr(torch.ops.openaclnn_npu, name).default, tuple(with_gradients)).values()) == {"SUCCESS"}
