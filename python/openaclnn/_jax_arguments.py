# Checks of openaclnn.jax's arguments that are not left to XLA: arrays, and the numbers that must be known while JAX traces.
import operator
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array | np.ndarray[Any, Any]


def require_arrays(**arrays: object) -> None:
    for name, value in arrays.items():
        if not isinstance(value, (jax.Array, np.ndarray)):
            raise TypeError(f"{name} is of type {type(value).__name__}; openaclnn.jax takes one array of JAX or NumPy "
                            "(for a list of arrays: jax.tree.map)")


def require_rank(name: str, array: Array, dims: str) -> None:
    rank = len(dims.split(","))
    if array.ndim != rank:
        raise ValueError(f"{name} has shape {list(array.shape)}; its rank must be {rank}: {dims}")


def require_whole(name: str, array: Array) -> None:
    """Raises IndexError for an index of NumPy that JAX would change: without jax_enable_x64 it takes the lower 32 bits."""
    if not isinstance(array, np.ndarray) or array.dtype != np.int64 or jax.dtypes.canonicalize_dtype(np.int64) == np.int64:
        return
    for number in (array.min(initial=0), array.max(initial=0)):
        if not -2**31 <= number < 2**31:
            raise IndexError(f"{name} has the entry {number}; without jax_enable_x64 entries must fit into 32 bits")


def _require_one_number(name: str, number: Any) -> None:
    if np.size(number) != 1:
        raise ValueError(f"{name} has shape {list(np.shape(number))}; it must be one number")


def _require_static(name: str, value: object, needed: str) -> None:
    if isinstance(value, jax.core.Tracer):
        raise TypeError(f"{name} is traced; it must be static: {needed}")


def _of_wrong_type(name: str, value: object, needed: str) -> TypeError:
    return TypeError(f"{name} is of type {type(value).__name__}; {needed} is needed")


def static_int(name: str, number: Any) -> int:
    """Returns a number that must be known while JAX traces. Numbers that are not ints would lose their fraction."""
    _require_static(name, number, "an int")
    try:
        found = operator.index(number)
    except TypeError:
        raise _of_wrong_type(name, number, "an int") from None
    if not -2**63 <= found < 2**63:
        raise ValueError(f"{name} is {found}; an int of 64 bits is needed")
    return found


def is_known(dim: Any) -> bool:
    """Returns whether a dim is a number. jax.export has symbols for dims of any size."""
    return isinstance(dim, int)


def static_dim(name: str, number: Any) -> Any:
    """Returns a dim of a result: a number that must be known while JAX traces, or a symbol of jax.export."""
    export = sys.modules.get("jax.export")  # only this module makes symbols, and it can't always be imported
    return number if export is not None and export.is_symbolic_dim(number) else static_int(name, number)


def padding_row(number: Any, rows: Any) -> int:
    """Returns padding_idx: a row of the table, if their number is known, or negative for none."""
    found = static_int("padding_idx", number)
    if is_known(rows) and found >= 0 and found >= rows:
        raise ValueError(f"padding_idx is {found}; it must be below {rows}, the number of rows of weight, or negative for none")
    return found


def static_flag(name: str, flag: Any) -> bool:
    """Returns a bool that must be known while JAX traces. Other objects, such as "no", have a truth value but don't mean it."""
    _require_static(name, flag, "a bool")
    if not isinstance(flag, (int, np.bool_)):  # a bool is an int
        raise _of_wrong_type(name, flag, "a bool")
    if flag not in (0, 1):
        raise ValueError(f"{name} is {flag}; a bool is needed")
    return bool(flag)


def static_number(name: str, number: Any) -> float:
    """Returns a number that must be known while JAX traces: one of Python, or an array with one element."""
    _require_static(name, number, "a number")
    if isinstance(number, (jax.Array, np.ndarray)):
        _require_one_number(name, number)
        _require_real(name, number)
        number = np.asarray(number).reshape(())
    if isinstance(number, (str, bytes, bytearray)):  # float() would read them
        raise _of_wrong_type(name, number, "a number")
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"{name} is {number}; a number of float64's range is needed") from None
    except (TypeError, ValueError):
        raise _of_wrong_type(name, number, "a number") from None


def _require_real(name: str, array: Array) -> None:
    if not any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise TypeError(f"{name} has dtype {array.dtype}; it must be a floating-point or integer dtype")


def static_lengths(name: str, numbers: Sequence[int] | Array | None) -> tuple[int, ...]:
    """Returns ints from which a shape follows. None has none."""
    if isinstance(numbers, jax.core.Tracer):
        raise TypeError(f"{name} is traced; the result's shape follows from it, so it must be static: a list of ints")
    if numbers is None:
        return ()
    if isinstance(numbers, (str, bytes)) or not hasattr(numbers, "__iter__") or getattr(numbers, "ndim", 1) == 0:
        raise TypeError(f"{name} is {numbers!r}; a list of ints is needed")
    return tuple(static_int(f"{name}[{position}]", number) for position, number in enumerate(numbers))


def step_number(step: int | Array, bias_correction: bool) -> jax.Array:
    """Returns the number of an update, which may be traced, as int32: JAX has no int64 by default."""
    if isinstance(step, (jax.Array, np.ndarray)):
        if not jnp.issubdtype(step.dtype, jnp.integer):
            raise TypeError(f"step has dtype {step.dtype}; it must be an integer dtype")
        _require_one_number("step", step)
    else:
        step = static_int("step", step)
    if not isinstance(step, jax.core.Tracer):
        number = np.asarray(step).item()
        if bias_correction and number < 1:
            raise ValueError(f"step is {number}; with bias_correction it must be at least 1, the number of this update")
        if not -2**31 <= number < 2**31:
            raise ValueError(f"step is {number}; an int of 32 bits is needed")
    elif jnp.iinfo(step.dtype).max >= 2**31:  # the lower 32 bits may be those of the first step
        step = jnp.clip(step, max(-2**31, jnp.iinfo(step.dtype).min), 2**31 - 1)
    return jnp.asarray(step, jnp.int32)


def learning_rate(lr: float | Array) -> jax.Array:
    """Returns a learning rate, which may be traced, as float32."""
    if isinstance(lr, (jax.Array, np.ndarray)):
        _require_one_number("lr", lr)
        _require_real("lr", lr)
    else:
        lr = static_number("lr", lr)
    return jnp.asarray(lr, jnp.float32)
