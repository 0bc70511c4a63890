# The registry of torch_npu's functions: each with its schema, its arguments and, where tracing needs one, its shape rule.
"""npu_function registers a function. Four parts of the package come from the registry:

- the names in torch_npu, and the error for all other names (missing());
- the operators torch.ops.npu.* (install_operators());
- the refusals of argument values (the wrapper that npu_function returns);
- the coverage table (openaclnn.compat.npu_ops.coverage).
"""
from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from openaclnn.compat.npu_ops.arguments import Argument, text

PAGE = "docs/from_torch_npu.md"

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclasses.dataclass(frozen=True)
class NpuFunction:
    """A registered function.

    name : its name in torch_npu and, with an overload after a point, in torch.ops.npu.
    schema : the arguments and results in PyTorch's schema language, after the name. Empty: not in torch.ops.npu.
    call : the function that torch_npu has. It refuses what the arguments refuse.
    operator : the function behind torch.ops.npu, which is `call` if their arguments are the same.
    arguments : an Argument for every parameter.
    fake : computes the results' shapes and dtypes from tensors without data; None if `operator` consists of PyTorch's
        operators, which then give gradients and shapes.
    """

    name: str
    schema: str
    call: Callable[..., Any]
    operator: Callable[..., Any]
    arguments: dict[str, Argument]
    fake: Callable[..., Any] | None


functions: dict[str, NpuFunction] = {}


class NotOffered(NotImplementedError, AttributeError):
    """A function of torch_npu that does not exist here. It is also an AttributeError, so hasattr() returns False."""


def npu_function(schema: str, *, arguments: dict[str, Argument], operator: Callable[..., Any] | None = None,
                 fake: Callable[..., Any] | None = None,
                 ) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Registers a function under the name that its schema starts with, and returns it with checked arguments.

    Parameters
    ----------
    schema : "name(arguments) -> results" or "name.overload(…) -> …" in PyTorch's schema language. Without parentheses it is
        only a name: torch.ops.npu then lacks the function.
    arguments : an Argument for every parameter of the function, in any order.
    operator : the function for torch.ops.npu if it takes other arguments than this one.
    fake : the shape rule. Without it the function must consist of PyTorch's operators and not read data of tensors. With it
        the function has no gradient of its own.

    Raises
    ------
    TypeError : arguments and parameters of the function differ, or the name is taken.
    """
    name, _, rest = schema.partition("(")

    def register(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        parameters = inspect.signature(function).parameters
        if set(parameters) != set(arguments):
            different = sorted(set(parameters) ^ set(arguments))
            raise TypeError(f"npu_function: {name} declares arguments that differ from its parameters: {', '.join(different)}")
        if name in functions and functions[name].call.__module__ != function.__module__:  # a module may be imported again
            raise TypeError(f"npu_function: {name} is registered twice")
        checked = _checked(name.partition(".")[0], function, arguments)
        functions[name] = NpuFunction(name, f"({rest}" if rest else "", checked, operator or checked,
                                      {key: arguments[key] for key in parameters}, fake)
        return checked

    return register


def _checked(name: str, function: Callable[_Arguments, _Result], arguments: dict[str, Argument],
             ) -> Callable[_Arguments, _Result]:
    """Returns the function behind the checks of its arguments. Defaults need no check."""
    parameters = list(inspect.signature(function).parameters)
    checks = [(key, parameters.index(key), argument) for key, argument in arguments.items() if argument.accepts is not None]
    if not checks:
        return function

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        for key, position, argument in checks:
            if key in kwargs:
                require(name, key, kwargs[key], argument)
            elif position < len(args):
                require(name, key, args[position], argument)
        return function(*args, **kwargs)

    return call


def require(name: str, key: str, value: Any, argument: Argument) -> None:
    """Raises the argument's exception if it does not accept the value."""
    assert argument.accepts is not None
    if not argument.accepts(value):
        why = argument.rows[-1].why
        raise argument.kind(f"{name}: {key} is {text(value)}; accepted: {argument.accepted}. {why[:1].upper()}{why[1:]}; "
                            f"see {PAGE}")


def missing(name: str, package: str = "torch_npu") -> NotOffered:
    """Returns the error for a name that torch_npu has, or may have, and this package does not. It names the nearest one."""
    offered = sorted({one.partition(".")[0] for one in functions})
    nearest = difflib.get_close_matches(name, offered, n=1, cutoff=0.0)
    hint = f"The nearest function here is {nearest[0]}. " if nearest and name.startswith(("npu_", "_npu_")) else ""
    error = NotOffered(f"{package}.{name} isn't supported. {hint}openaclnn.compat.torch_npu stands in for torch_npu and has the "
                       f"parts that {PAGE} lists")
    error.name = name
    return error


def install_operators(library: Any) -> None:
    """Defines torch.ops.npu.* in a torch.library.Library of the name npu, for all registered functions."""
    for function in functions.values():
        if not function.schema:
            continue
        library.define(function.name + function.schema)
        if function.fake is None:
            library.impl(function.name, function.operator, "CompositeImplicitAutograd")
        else:
            library.impl(function.name, function.operator, "CompositeExplicitAutograd")
            library.impl(function.name, function.fake, "Meta")
