# Shared by the tests of torch_npu's functions: cases of every function, and what every function must do.
"""A Case has one call of a function. The checks compare torch.ops.npu, compilers and narrow dtypes with it."""
import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from openaclnn.compat import npu_library
from openaclnn.compat.npu_ops import registry

NARROW = (torch.float16, torch.bfloat16)


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: a function's name, a maker of its arguments for a dtype, and keywords.

    rounds_once : whether a 16-bit call gives the rounded results of the float32 call.
    """

    name: str
    make: Callable[[torch.dtype], list[Any]]
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    rounds_once: bool = True

    def __str__(self):
        return "-".join([self.name, *(f"{key}_{value}" for key, value in self.keywords.items() if not isinstance(value, torch.Tensor))])

    def arguments(self, dtype):
        """Returns positional arguments and keywords."""
        wide = mapped(lambda one: one.to(dtype) if dtype == torch.float64 and one.is_floating_point() else one, self.keywords)
        return [self.make(dtype), wide]

    def call(self, arguments):
        return registry.functions[self.name].call(*arguments[0], **arguments[1])

    def operator(self, arguments):
        return getattr(torch.ops.npu, self.name.partition(".")[0])(*arguments[0], **arguments[1])


def tensors(values):
    """Returns the tensors among nested values, in order."""
    if isinstance(values, torch.Tensor):
        return [values]
    values = values.values() if isinstance(values, dict) else values
    return [one for value in values for one in tensors(value)] if isinstance(values, (list, tuple, type({}.values()))) else []


def mapped(function, values):
    """Returns nested values with a function applied to their tensors."""
    if isinstance(values, torch.Tensor):
        return function(values)
    if isinstance(values, dict):
        return {key: mapped(function, value) for key, value in values.items()}
    return type(values)(mapped(function, value) for value in values) if isinstance(values, (list, tuple)) else values


def separate(values, floats_need_gradients=False):
    """Returns copies of nested values."""
    def copy(tensor):
        copied = tensor.detach().clone()
        return copied.requires_grad_() if floats_need_gradients and copied.is_floating_point() else copied

    return mapped(copy, values)


def same(got, want):
    """Returns whether nested tensors have the same bits, shapes and dtypes."""
    got, want = tensors(got), tensors(want)
    return len(got) == len(want) and all(one.dtype == other.dtype and torch.equal(one, other) for one, other in zip(got, want))


def scalar(results):
    """Returns a number that depends on each result with a gradient in another way."""
    return sum((result * torch.linspace(-1, 2, result.numel(), dtype=result.dtype).reshape(result.shape).cos()).sum()
               for result in tensors(results) if result.is_floating_point() and result.requires_grad)


def passes_gradcheck(case, second=True, **options):
    """Checks the gradients of a call with float64, and their gradients."""
    arguments = separate(case.arguments(torch.float64))
    places = [index for index, value in enumerate(tensors(arguments)) if value.is_floating_point()]

    def function(*inputs):
        flat = tensors(arguments)
        for place, value in zip(places, inputs):
            flat[place] = value
        left = iter(flat)
        results = case.call(mapped(lambda _: next(left), arguments))
        return tuple(result for result in tensors(results) if result.is_floating_point() and result.requires_grad)

    inputs = [tensors(arguments)[place].clone().requires_grad_() for place in places]
    assert torch.autograd.gradcheck(function, inputs, **options)
    return not second or torch.autograd.gradgradcheck(function, inputs, fast_mode=True, **options)


def gradients(call, arguments):
    """Returns the results of a call and the gradients of its floating-point arguments."""
    arguments = separate(arguments, floats_need_gradients=True)
    results = call(arguments)
    inputs = [one for one in tensors(arguments) if one.is_floating_point()]
    of_inputs = torch.autograd.grad(scalar(results), inputs, allow_unused=True)
    return [one.detach() for one in tensors(results)], [one for one in of_inputs if one is not None]


class Operators:
    """torch.ops.npu for the time of a test."""

    def __enter__(self):
        npu_library.install()

    def __exit__(self, *_):
        npu_library.uninstall()
