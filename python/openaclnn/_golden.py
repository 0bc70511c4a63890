# Goldens: exact results of operators with error bounds.
"""openaclnn.golden. The native module is imported at the first call."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openaclnn._calls import find_operator, make_call
from openaclnn._host_arrays import dtype_name, elements_of

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class GoldenOutput:
    """One exact result.

    Attributes
    ----------
    exact : the mathematical result in float64. Integers, bools and complex numbers are copies in their own dtype.
    bound : float64, the shape of exact. A correct result r is within ulp(r) / 2 + bound of exact; ulp(r) is the distance of
        neighbouring numbers of dtype at r. NaN: no guarantee covers the element.
    ours : the result of this library. bfloat16 is an array of ml_dtypes, or of uint16 if ml_dtypes isn't installed.
    dtype : of the result, such as "bfloat16".
    """

    exact: npt.NDArray[Any]
    bound: npt.NDArray[np.float64]
    ours: npt.NDArray[Any]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.exact.shape


class Golden(dict[str, GoldenOutput]):
    """Exact results by name, such as golden["input_grad"]. Lists of tensors have one entry for each: golden["var[0]"].

    Attributes
    ----------
    fault : the error message of bad data, such as an index out of range; empty: there is none.
    """

    fault: str = ""


def golden(operator: str, /, *, threads: int = 0, **arguments: Any) -> Golden:
    """Computes the exact results of an operator, and how far a correct implementation may be from them.

    Parameters
    ----------
    operator : a function of this package or of C, such as "nsa_compress" or "aclnnNsaCompress". The arguments select the
        version if there are several.
    threads : number of threads; 0: one for each CPU that the process may use.
    arguments : those of the function, by name. Tensors are arrays of NumPy, PyTorch, CuPy, JAX or any other library, on any
        device. Arrays elsewhere than on the host, and those with gaps, are copied. Updated tensors such as var have
        their values before the call. Arguments that you leave out have the defaults of the function.

    Returns
    -------
    Golden, a dict of GoldenOutput by the name of the result, with the shapes and dtypes that the arguments determine.

    Raises
    ------
    TypeError : an argument is unknown, missing, not an array or not a number.
    ValueError : the operator is unknown, or the shapes, dtypes or values of arguments contradict each other.

    Sums are exact to about 2^-52 of their size, however many terms they have. The bound is c * 2^-24 times the sum of the
    magnitudes of all terms; docs/numerics.md has c for each operator.
    """
    from openaclnn import _judge

    call = make_call(find_operator(operator, arguments), arguments, "golden")
    outputs, fault = _judge.golden(call, _thread_count(threads))
    found = Golden()
    found.fault = fault
    for name, text, shape, exact, bound, ours in outputs:
        is_copied = bound is None
        found[name] = GoldenOutput(
            exact=elements_of(exact.view(np.uint8), text, shape) if is_copied else exact.reshape(shape),
            bound=np.zeros(shape) if bound is None else bound.reshape(shape),
            ours=elements_of(ours, text, shape), dtype=dtype_name(text))
    return found


def _thread_count(threads: int) -> int:
    if not isinstance(threads, int) or not 0 <= threads <= 1024:
        raise ValueError(f"threads is {threads!r}; it must be an int from 0 to 1,024")
    return threads
