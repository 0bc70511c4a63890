# Assertions for tests of kernels: results and gradients against goldens.
"""assert_close_to_golden for results of one call, and judge_autograd for a function with its gradients.

The pytest plugin of the package has a fixture assert_close_to_golden, which also saves the reports of failed tests.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from openaclnn._calls import is_empty
from openaclnn._judgement import judge, judge_pair
from openaclnn._report import Report

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

__all__ = ["GoldenMismatch", "assert_close_to_golden", "judge_autograd"]


class GoldenMismatch(AssertionError):
    """Results that no rule accepts, or that no rule judges. `report` is the Report."""

    def __init__(self, report: Report) -> None:
        reason = "no rule judges these results" if report.result == "skip" else "the results are not those of the golden"
        super().__init__(f"{reason}\n\n{report}")
        self.report = report


def assert_close_to_golden(operator: str, results: Any, /, **arguments: Any) -> Report:
    """Raises GoldenMismatch unless the results of an operator pass all rules. Warnings pass.

    Parameters
    ----------
    operator, results : as in openaclnn.judge.
    arguments : those of openaclnn.judge: rules and their settings, and the arguments of the operator.

    Returns
    -------
    Report, of results that pass.

    Raises
    ------
    GoldenMismatch (an AssertionError) : a rule gives "error", or all rules give "skip". The message is the report.
    TypeError, ValueError : as in openaclnn.judge.
    """
    report = judge(operator, results, **arguments)
    if report.result in ("error", "skip"):
        raise GoldenMismatch(report)
    return report


class _Run(NamedTuple):
    """One run of a function: inputs, output and gradients."""

    inputs: tuple[torch.Tensor, ...]
    output: torch.Tensor
    grad_output: torch.Tensor
    gradients: dict[int, torch.Tensor]  # by position of the input
    rules: Sequence[str]
    arguments: dict[str, Any]


def _judge_nsa_compress(run: _Run) -> Report:
    given = {"input": run.inputs[0], "weight": run.inputs[1], "rules": run.rules, **run.arguments}
    # Without lengths, the function in openaclnn.torch and its gradients are those of one sequence.
    if is_empty(given.get("actual_seq_len")):
        given["actual_seq_len"] = [run.inputs[0].shape[0]]
    return (judge("nsa_compress", run.output, label="nsa_compress forward", **given)
            + judge("nsa_compress_grad", (run.gradients[0], run.gradients[1]), grad=run.grad_output,
                    label="nsa_compress backward", **given))


def _judge_embedding(run: _Run) -> Report:
    weight, indices = run.inputs
    return (judge("embedding", run.output, weight=weight, indices=indices, rules=run.rules, label="embedding forward")
            + judge("embedding_dense_backward", run.gradients[0], grad=run.grad_output, indices=indices,
                    num_weights=weight.shape[0], rules=run.rules, label="embedding backward", **run.arguments))


def _biased_rows(x: torch.Tensor, bias: torch.Tensor, group_idx: torch.Tensor, group_idx_type: int) -> npt.NDArray[np.float64]:
    """Returns x plus the bias of the group of each row."""
    rows, biases = x.detach().double().cpu().numpy(), bias.detach().double().cpu().numpy()
    entries = group_idx.cpu().numpy()
    ends = np.cumsum(entries) if group_idx_type == 1 else entries
    exact = rows.copy()
    for group, end in enumerate(ends):
        start = ends[group - 1] if group else 0
        exact[start:end] += biases[group]
    return exact


def _judge_grouped_bias_add(run: _Run) -> Report:
    x, bias, group_idx = run.inputs
    exact = _biased_rows(x, bias, group_idx, run.arguments.get("group_idx_type", 0))
    # One addition in float64 has an error of its own.
    forward = judge_pair(run.output, exact, bound=2.0**-52 * np.abs(exact), rules=run.rules, name="out",
                         label="grouped_bias_add forward")
    grad = run.grad_output.double()
    of_rows = judge_pair(run.gradients[0], grad, bound=np.zeros(grad.shape), rules=run.rules, name="x_grad",
                         label="grouped_bias_add backward")
    return forward + of_rows + judge("grouped_bias_add_grad", run.gradients[1], grad_y=run.grad_output, group_idx=group_idx,
                          rules=run.rules, label="grouped_bias_add backward", **run.arguments)


class _Function(NamedTuple):
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    judge: Callable[[_Run], Report]


_FUNCTIONS = {
    "embedding": _Function(("weight", "indices"), ("padding_idx", "scale_grad_by_freq"), _judge_embedding),
    "grouped_bias_add": _Function(("x", "bias", "group_idx"), ("group_idx_type",), _judge_grouped_bias_add),
    "nsa_compress": _Function(("input", "weight"), ("compress_block_size", "compress_stride", "actual_seq_len",
                                                    "actual_seq_len_type"), _judge_nsa_compress),
}


def _function_of(operator: str, inputs: Sequence[Any], arguments: dict[str, Any]) -> _Function:
    described = _FUNCTIONS.get(operator)
    if described is None:
        raise ValueError(f"operator is {operator!r}; accepted are {', '.join(_FUNCTIONS)}")
    if len(inputs) != len(described.inputs):
        raise ValueError(f"{operator} has the inputs {', '.join(described.inputs)}; {len(inputs)} were given")
    for name in arguments:
        if name not in described.arguments:
            raise TypeError(f"{operator} has no argument '{name}'; its arguments are {', '.join(described.arguments)}")
    return described


def judge_autograd(operator: str, function: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor], /, *,
                   grad_output: torch.Tensor | None = None, rules: Sequence[str] = ("openaclnn",),
                   **arguments: Any) -> Report:
    """Runs a function forward and backward, and judges its output and gradients. Like torch.autograd.gradcheck, but against
    goldens, so that it works in float32, float16 and bfloat16. gradcheck needs float64, which the operators don't accept.

    Parameters
    ----------
    operator : "nsa_compress", "embedding" or "grouped_bias_add": what the function computes.
    function : called as function(*inputs); returns one tensor. It has the arguments in its own way, for example from a
        lambda or a module.
    inputs : tensors in the order of the function in openaclnn.torch: (input, weight), (weight, indices) or
        (x, bias, group_idx), on any device. All that hold floating-point numbers, which are float32, float16 or bfloat16, get
        gradients.
    grad_output : gradient of the output; by default random numbers, the same in every call.
    rules : as in openaclnn.judge.
    arguments : the other arguments of the function in openaclnn.torch, such as compress_block_size.

    Returns
    -------
    Report of the forward and the backward call.

    Raises
    ------
    ValueError : operator is unknown, the number of inputs differs, or the output has no gradient.
    TypeError : an argument is unknown or missing, or an input or the output is not a tensor or has another dtype.
    """
    import torch

    described = _function_of(operator, inputs, arguments)
    for name, value in zip(described.inputs, inputs):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} is of type {type(value).__name__}; a tensor is needed")
        if (value.is_floating_point() or value.is_complex()) and value.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {value.dtype}; numbers must be float32, float16 or bfloat16, as for the operator")
    leaves = tuple(one.detach().clone().requires_grad_(one.is_floating_point()) for one in inputs)
    output = function(*leaves)
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"the function returned {type(output).__name__}; one tensor is needed")
    if not output.requires_grad:
        raise ValueError("the output of the function has no gradient; it must depend on the inputs through autograd")
    if grad_output is None:
        numbers = torch.randn(output.shape, generator=torch.Generator().manual_seed(0))
        grad_output = numbers.to(device=output.device, dtype=output.dtype)
    places = [place for place, leaf in enumerate(leaves) if leaf.requires_grad]
    gradients = torch.autograd.grad(output, [leaves[place] for place in places], grad_output, allow_unused=True)
    for place, gradient in zip(places, gradients):
        if gradient is None:
            raise ValueError(f"{described.inputs[place]} has no gradient; the output must depend on it through autograd")
    return described.judge(_Run(leaves, output.detach(), grad_output, dict(zip(places, gradients)), rules, arguments))
