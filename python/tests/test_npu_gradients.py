# Tests the gradients of torch_npu's functions with float64, and their gradients.
import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

import npu_functions as npu  # noqa: E402
from npu_cases import every_case  # noqa: E402


@every_case
def test_gradients(case):
    assert npu.passes_gradcheck(case)
