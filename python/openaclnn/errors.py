# The exceptions of openaclnn: codes of the C interface with their names and error messages.
"""AclnnError and its subclasses. The codes are listed in docs/errors.md."""
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_INDEX_CODES = {507035}
_MEMORY_CODES = {207001, 561101}


class AclnnError(RuntimeError):
    """The library rejected a call, or a kernel found a fault in the data.

    Attributes: `code`, the decimal number; `name`, its name in C; `message`, the error message: the problem and the accepted
    values.
    """

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(code, name, message)
        self.code = code
        self.name = name
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} [{self.code} {self.name}]"


class AclnnIndexError(AclnnError, IndexError):
    """Bad data in a tensor, such as an index out of range (507035). The message names position, value and limit."""


class AclnnMemoryError(AclnnError, MemoryError):
    """The library could not allocate memory (207001, 561101)."""


def error_of(code: int, name: str, message: str) -> AclnnError:
    """Returns the exception for a code, of the most specific class."""
    kind = AclnnIndexError if code in _INDEX_CODES else AclnnMemoryError if code in _MEMORY_CODES else AclnnError
    return kind(code, name, message)


def renamed(error: AclnnError, function: str) -> AclnnError:
    """Returns the same exception with a message that starts with another function."""
    rest = error.message.partition(": ")[2] or error.message
    return error_of(error.code, error.name, f"{function}: {rest}")


def named_as_called(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Makes the error messages of a function start with its own name, in place of the function that it calls."""
    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except AclnnError as error:
            raise renamed(error, function.__name__) from None

    return call
