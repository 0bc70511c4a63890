# Operators by their names, and calls from keyword arguments, for goldens and judgements.
"""Arguments have the names of openaclnn's functions, or those of the C functions."""
from __future__ import annotations

import difflib
import functools
import operator as operators_of_python
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from openaclnn._host_arrays import host_array

if TYPE_CHECKING:
    from openaclnn import _judge

# Defaults of openaclnn's functions that are not those of the C functions.
_DEFAULTS: dict[str, dict[str, Any]] = {"aclnnApplyAdamWV2": {"weight_decay": 1e-2}}


class Parameter(NamedTuple):
    name: str
    c_name: str
    kind: str  # "tensor", "tensor_list", "integers", "real", "integer", "flag" or "text"
    role: str  # "input", "output" or "updated"
    is_optional: bool
    default: str
    dtypes: tuple[str, ...]

    @property
    def is_required(self) -> bool:
        return not self.is_optional and not self.default and self.role != "output"


class Operator(NamedTuple):
    function: str  # "aclnnGroupedBiasAddGradV2"
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        return re.sub("^(open)?aclnn", "", self.function)

    @property
    def python_name(self) -> str:
        """The name of the Python function without "_", for all versions of the C function."""
        return re.sub(r"(?<=.)([A-Z])", r"_\1", re.sub("(V2|List)$", "", self.name)).lower()

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.role != "output")

    @property
    def results(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.role != "input")

    @property
    def has_lists(self) -> bool:
        return any(parameter.kind == "tensor_list" for parameter in self.parameters)


@functools.cache
def operators() -> tuple[Operator, ...]:
    from openaclnn import _judge

    return tuple(Operator(function, tuple(Parameter(*parameter) for parameter in parameters))
                 for function, parameters in _judge.operators())


def _named(parameters: Iterable[Parameter], word: str) -> Parameter | None:
    return next((parameter for parameter in parameters if word in (parameter.name, parameter.c_name)), None)


def _fits(candidate: Operator, arguments: Mapping[str, Any]) -> bool:
    needs_lists = any(isinstance(value, (list, tuple)) and _is_tensor(_named(candidate.arguments, name))
                      for name, value in arguments.items())
    return candidate.has_lists >= needs_lists and all(_named(candidate.arguments, name) for name in arguments)


def _is_tensor(parameter: Parameter | None) -> bool:
    return parameter is not None and parameter.kind in ("tensor", "tensor_list")


def find_operator(word: str, arguments: Mapping[str, Any]) -> Operator:
    """Returns the operator of a C function's name, or of a Python function's. The arguments select among versions."""
    if not isinstance(word, str):
        raise TypeError(f"operator is of type {type(word).__name__}; a name such as 'nsa_compress' is needed")
    for candidate in operators():
        if word in (candidate.function, candidate.name):
            return candidate
    found = [candidate for candidate in operators() if candidate.python_name == word.rstrip("_")]
    if not found:
        names = sorted({candidate.python_name for candidate in operators()})
        near = difflib.get_close_matches(word, names, 1)
        hint = f"did you mean {near[0]}?" if near else f"the operators are {', '.join(names)}"
        raise ValueError(f"unknown operator '{word}'; {hint}")
    # Newer versions come later, and those for lists last.
    found.sort(key=lambda candidate: (candidate.has_lists, not candidate.name.endswith("V2")))
    return next((candidate for candidate in found if _fits(candidate, arguments)), found[0])


def _integers(value: Any, name: str) -> list[int]:
    values = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise TypeError(f"{name} is of type {type(value).__name__}; a list of ints is needed")
    return [_integer(entry, f"{name}[{position}]") for position, entry in enumerate(values)]


def _integer(value: Any, name: str) -> int:
    try:
        number = operators_of_python.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; an int is needed") from None
    if not -2**63 <= number < 2**63:
        raise ValueError(f"{name} is {value}; an int of 64 bits is needed")
    return number


def _real(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; a number is needed") from None


def _flag(value: Any, name: str) -> int:
    if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
        raise TypeError(f"{name} is {value!r}; a bool is needed")
    return int(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; a str is needed")
    return value


def _tensor(value: Any, parameter: Parameter) -> _judge.HostArray:
    """Accepts an array, or a number for a tensor of one element."""
    if isinstance(value, int) and "<i8" in parameter.dtypes:
        value = np.array([_integer(value, parameter.name)], np.int64)
    elif isinstance(value, (int, float)) and parameter.dtypes == ("<f4",):
        value = np.array([value], np.float32)
    return host_array(value, parameter.name)


def _tensors(value: Any, parameter: Parameter, name: str) -> list[_judge.HostArray]:
    if parameter.kind == "tensor":
        return [_tensor(value, parameter)]
    entries = list(value) if isinstance(value, (list, tuple)) else [value]
    return [host_array(entry, f"{name}[{position}]") for position, entry in enumerate(entries)]


def _set_argument(call: _judge.Call, parameter: Parameter, value: Any) -> None:
    name, c_name, kind = parameter.name, parameter.c_name, parameter.kind
    if _is_tensor(parameter):
        for array in _tensors(value, parameter, name):
            call.add_input(c_name, array)
    elif kind == "integers":
        call.set_integers(c_name, _integers(value, name))
    elif kind == "real":
        call.set_real(c_name, _real(value, name))
    elif kind == "text":
        call.set_text(c_name, _text(value, name))
    else:
        call.set_integers(c_name, [(_flag if kind == "flag" else _integer)(value, name)])


def _completed(operator: Operator, given: dict[str, Any]) -> dict[str, Any]:
    """Adds the defaults of openaclnn's functions."""
    values = {**_DEFAULTS.get(operator.function, {}), **given}
    dims: tuple[int, ...] = getattr(values.get("input"), "shape", ())
    if "block_table" in values and len(dims) > 1:
        values.setdefault("page_block_size", dims[1])
    return values


def is_empty(lengths: Any) -> bool:
    """Returns whether lengths are missing. Other types than lists and arrays are given, so that they are reported."""
    return lengths is None or (hasattr(lengths, "__len__") and getattr(lengths, "shape", None) != () and len(lengths) == 0)


def as_function(word: str, operator: Operator, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call of openaclnn.nsa_compress, which without lengths compresses one sequence.

    The C function counts sequences by the windows of its output. A judgement can't, because that output is what it judges: the
    results of a device that loses the last window may be those of more, shorter sequences.
    """
    lengths = _named(operator.arguments, "actual_seq_len")
    if operator.name != "NsaCompress" or word.rstrip("_") != operator.python_name or lengths is None:
        return arguments
    names = (lengths.name, lengths.c_name)
    shape: tuple[int, ...] = getattr(arguments.get("input"), "shape", ())
    if not shape or not all(is_empty(arguments.get(name)) for name in names):
        return arguments
    return {**{name: value for name, value in arguments.items() if name not in names}, lengths.name: [int(shape[0])]}


def make_call(operator: Operator, arguments: Mapping[str, Any], function: str) -> _judge.Call:
    """Returns a call with its arguments. `function` starts the error messages.

    Raises
    ------
    TypeError : an argument is unknown, missing or of another type.
    """
    from openaclnn import _judge

    known = {}
    for name, value in arguments.items():
        parameter = _named(operator.arguments, name)
        if parameter is None:
            names = ", ".join(one.name for one in operator.arguments)
            raise TypeError(f"{function}: {operator.name} has no argument '{name}'; its arguments are {names}")
        if value is not None:
            known[parameter.name] = value
    for parameter in operator.arguments:
        if parameter.is_required and parameter.name not in known:
            raise TypeError(f"{function}: {operator.name} needs the argument {parameter.name}")
    call = _judge.Call(operator.function)
    known = _completed(operator, known)
    for parameter in operator.arguments:
        if parameter.name in known:
            _set_argument(call, parameter, known[parameter.name])
    return call


def add_results(operator: Operator, results: Any, add: Callable[[str, _judge.HostArray], None], given: Mapping[str, Any],
                function: str) -> None:
    """Adds results: a mapping by name, a sequence in the order of the C function, or the only one. None is left out.

    Raises
    ------
    TypeError : a result is unknown or not an array. ValueError : there are too few or too many.
    """
    for parameter, value in _paired(operator, results, given, function):
        if value is not None:
            for array in _tensors(value, parameter, parameter.name):
                add(parameter.c_name, array)


def _paired(operator: Operator, results: Any, given: Mapping[str, Any], function: str) -> list[tuple[Parameter, Any]]:
    possible = [one for one in operator.results if not one.is_optional or one.name in given or one.c_name in given]
    names = ", ".join(one.name for one in possible)
    if isinstance(results, Mapping):
        pairs = [(_named(possible, name), name, value) for name, value in results.items()]
        for parameter, name, _ in pairs:
            if parameter is None:
                raise TypeError(f"{function}: {operator.name} has no result '{name}'; its results are {names}")
        return [(parameter, value) for parameter, _, value in pairs if parameter is not None]
    if len(possible) == 1:
        return [(possible[0], results)]
    if not isinstance(results, (list, tuple)) or len(results) != len(possible):
        have = len(results) if isinstance(results, (list, tuple)) else 1
        raise ValueError(f"{function}: {operator.name} has the results {names}; {have} {'was' if have == 1 else 'were'} given")
    return list(zip(possible, results))
