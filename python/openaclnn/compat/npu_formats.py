# Formats of an NPU's memory, which tensors on other devices do not have: every tensor here has the format ND.
"""torch_npu.Format, npu_format_cast and get_npu_format."""
import enum

import torch

from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.registry import npu_function


class Format(enum.IntEnum):
    """The formats of torch_npu, by their numbers in CANN."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47


def _text(acl_format: int) -> str:
    known = acl_format in Format._value2member_map_
    return f"{int(acl_format)} ({Format(acl_format).name})" if known else str(acl_format)


_FORMAT = supported("2 (ND), or a tensor, whose format is ND").but("other formats", "they are layouts of an NPU's memory")


@npu_function("npu_format_cast(Tensor(a) input, int acl_format, ScalarType? customize_dtype=None) -> Tensor(a)", arguments={
    "input": supported("any tensor"), "acl_format": _FORMAT,
    "customize_dtype": supported("None").but("dtypes", "they belong to packed layouts of an NPU's memory")})
def npu_format_cast(input: torch.Tensor, acl_format: int | torch.Tensor,
                    customize_dtype: torch.dtype | None = None) -> torch.Tensor:
    """Returns input unchanged if acl_format is ND (2), or a tensor, whose format is ND.

    RuntimeError: another format, or customize_dtype, which belongs to packed formats. They describe how an NPU stores a
    tensor; functions that read such a layout do not exist here, so a script would go on with a tensor in the wrong layout.
    """
    if not isinstance(acl_format, torch.Tensor) and acl_format != Format.ND:
        raise RuntimeError(f"npu_format_cast: acl_format is {_text(acl_format)}, a layout of an NPU's memory; tensors have the "
                           "format 2 (ND) here, so omit the cast")
    if customize_dtype is not None:
        raise RuntimeError(f"npu_format_cast: customize_dtype is {customize_dtype}, which belongs to packed layouts of an NPU's "
                           "memory; it must be None")
    return input


@npu_function("npu_format_cast_(Tensor(a!) input, int acl_format) -> Tensor(a!)", arguments={
    "input": supported("any tensor"), "acl_format": _FORMAT})
def npu_format_cast_(input: torch.Tensor, acl_format: int | torch.Tensor) -> torch.Tensor:
    """The same in place."""
    return npu_format_cast(input, acl_format)


def get_npu_format(input: torch.Tensor) -> int:
    """Returns 2, the format ND."""
    return Format.ND
