# Arrays of any library and device as contiguous arrays on the host, for goldens and judgements.
"""Copies only what is not contiguous or not on the host."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from openaclnn._judge import HostArray

BFLOAT16 = "<V2"  # as ml_dtypes writes it


def _of_torch(tensor: Any) -> tuple[npt.NDArray[Any], str | None]:
    torch = sys.modules["torch"]
    host = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if host.dtype == torch.bfloat16:
        return host.view(torch.int16).numpy(), BFLOAT16
    return host.numpy(), None


def _is_array(value: Any) -> bool:
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return not isinstance(value, (bytes, bytearray))


def host_array(value: Any, name: str) -> HostArray:
    """Returns the elements of an array in row-major order.

    Raises
    ------
    TypeError : value is not an array, or has a dtype that no operator accepts.
    """
    from openaclnn import _judge

    torch = sys.modules.get("torch")
    text = None
    if torch is not None and isinstance(value, torch.Tensor):
        array, text = _of_torch(value)
    elif hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        array = value.get()  # CuPy
    elif _is_array(value):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    else:
        raise TypeError(f"{name} is of type {type(value).__name__}; an array is needed")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.asarray(array, order="C")
    if text is None:
        text = BFLOAT16 if array.dtype.name == "bfloat16" or array.dtype.str[1:] == "V2" else array.dtype.str
    if array.dtype.hasobject:
        raise TypeError(f"{name} has the dtype {array.dtype}; an array of numbers is needed")
    return _judge.HostArray(name, text, list(array.shape), array.reshape(-1).view(np.uint8))


def elements_of(data: npt.NDArray[np.uint8], text: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Returns bytes as an array of a dtype: bfloat16 of ml_dtypes, or uint16 without ml_dtypes."""
    if text != BFLOAT16:
        return data.view(np.dtype(text)).reshape(shape)
    try:
        import ml_dtypes
    except ImportError:
        return data.view(np.uint16).reshape(shape)
    elements: npt.NDArray[Any] = data.view(ml_dtypes.bfloat16).reshape(shape)
    return elements


def dtype_name(text: str) -> str:
    return "bfloat16" if text == BFLOAT16 else np.dtype(text).name
