# What the arguments of torch_npu's functions accept here: the checks of a call and the rows of the coverage table, from one text.
"""registry.npu_function takes one Argument for every parameter of a function. supported(), only() and ignored() make them."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

SUPPORTED, REFUSED, IGNORED = "supported", "refused", "ignored"


@dataclasses.dataclass(frozen=True)
class Row:
    """Values of an argument and what a call does with them: one row of the coverage table."""

    values: str
    outcome: str
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Argument:
    """The rows of an argument, and the check that a call applies to its value.

    accepts : returns whether a value is accepted; None if the function itself checks.
    accepted : the accepted values in words, for the error message.
    kind : the exception for other values.
    example : a value that the check refuses; tests pass it.
    """

    rows: tuple[Row, ...]
    accepts: Callable[[Any], bool] | None = None
    accepted: str = ""
    kind: type[Exception] = NotImplementedError
    example: Any = None

    def but(self, values: str, why: str) -> Argument:
        """Returns the argument with one more refused row, which the function itself checks."""
        return dataclasses.replace(self, rows=(*self.rows, Row(values, REFUSED, why)))

    def unused(self, values: str, why: str) -> Argument:
        """Returns the argument with one more ignored row. `why` says why those values cannot change a result."""
        return dataclasses.replace(self, rows=(*self.rows, Row(values, IGNORED, why)))


def supported(values: str, note: str = "") -> Argument:
    """Returns an argument whose values, in words, are supported. The function checks what it must."""
    return Argument((Row(values, SUPPORTED, note),))


def only(*values: Any, why: str, example: Any, others: str = "other values", note: str = "",
         kind: type[Exception] = NotImplementedError) -> Argument:
    """Returns an argument that accepts these values; calls with other values raise `kind`.

    Values are compared by type and equality, so that True is not 1. `example` is a refused value for tests, `why` the reason
    of the refusal, which is part of the error message, and `note` a remark on the accepted values.
    """
    words = [text(value) for value in values]
    accepted = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

    def accepts(value: Any) -> bool:
        return any(value is one or (type(value) is type(one) and value == one) for one in values)

    return Argument((Row(accepted, SUPPORTED, note), Row(others, REFUSED, why)), accepts, accepted, kind, example)


def ignored(values: str, why: str) -> Argument:
    """Returns an argument that cannot change a result; `why` gives the reason."""
    return Argument((Row(values, IGNORED, why),))


def text(value: Any) -> str:
    """Returns a short text of a value for error messages: tensors by shape and dtype."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)} and dtype {str(value.dtype).replace('torch.', '')}"
    if isinstance(value, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in value):
        return f"a list of {len(value)} tensors"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
