# Tests that compilers trace torch_npu's functions.
import pytest

from conftest import needs_newer_torch, torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import npu_functions as npu  # noqa: E402
from npu_cases import every_case, every_function  # noqa: E402


@every_case
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

    with FakeTensorMode() as mode:
        results = npu.tensors(case.call(npu.mapped(mode.from_tensor, case.arguments(torch.bfloat16))))
    for got, want in zip(results, npu.tensors(case.call(case.arguments(torch.bfloat16))), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype and got.device == want.device


@every_function
@needs_newer_torch(2, 4)
def test_torch_compile_makes_one_graph(case):
    arguments = case.arguments(torch.float32)
    torch._dynamo.reset()
    compiled = torch.compile(lambda values: case.call(values), fullgraph=True, backend="aot_eager")
    results, gradients = npu.gradients(compiled, arguments)
    want = npu.gradients(case.call, arguments)
    for got, exact in zip([*results, *gradients], [*want[0], *want[1]], strict=True):
        assert torch.allclose(got, exact, rtol=1e-5, atol=1e-6)
