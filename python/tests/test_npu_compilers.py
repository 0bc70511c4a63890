# Tests that torch.compile makes one graph of a call of each of torch_npu's functions.
import pytest

from conftest import needs_newer_torch, torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import npu_functions as npu  # noqa: E402
from npu_cases import every_function  # noqa: E402


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
