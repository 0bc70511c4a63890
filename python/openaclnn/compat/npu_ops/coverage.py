# The coverage page: function by argument by value, made from the registry. Run as a program, it prints docs/npu_coverage.md.
"""python -m openaclnn.compat.npu_ops.coverage prints Markdown: what each function supports, refuses and ignores."""
from __future__ import annotations

import inspect
from collections.abc import Iterator

from openaclnn.compat.npu_ops import registry
from openaclnn.compat.npu_ops.arguments import IGNORED, REFUSED, SUPPORTED, Argument, Row

_HEAD = """# Coverage of torch_npu's functions

This page is for developers whose programs call functions of `torch_npu`. It tells which arguments and values run here, for each
function. All are in `torch_npu` after `import openaclnn.compat.torch_npu`; see [from torch_npu](from_torch_npu.md).

Outcomes:

- *supported*: the value has the documented effect.
- *refused*: the call raises `NotImplementedError`, or the error that the remark names. The message names the function, the argument,
  the value and what is accepted.
- *ignored*: the value cannot change a result, for the reason in the remark.

{functions} functions have {rows} rows: {supported} supported, {refused} refused, {ignored} ignored. Other names of `torch_npu` raise
an error that is both `NotImplementedError` and `AttributeError`. It names the nearest function here.

The page is the output of `python -m openaclnn.compat.npu_ops.coverage`. The functions take their checks and this page from the
same declarations. Tests call each function with a refused value of each argument that is checked before the call.
"""


def rows() -> Iterator[tuple[str, str, Row]]:
    """Returns function, argument and row of every registered argument, sorted by function. Overloads have the arguments of
    their function."""
    for name in sorted(name for name in registry.functions if "." not in name):
        for argument, declared in registry.functions[name].arguments.items():
            for row in declared.rows:
                yield name, argument, row


def page() -> str:
    """Returns the page in Markdown: an introduction, then a heading and a table for each function."""
    every = list(rows())
    counts = {outcome: sum(row.outcome == outcome for _, _, row in every) for outcome in (SUPPORTED, REFUSED, IGNORED)}
    lines = [_HEAD.format(functions=len({name for name, _, _ in every}), rows=len(every), **counts)]
    for name, function in sorted(registry.functions.items()):
        if "." in name:
            continue
        lines += [f"## {name}", "", _summary(name), "", "| Argument | Values | Outcome | Remark |", "|---|---|---|---|"]
        together: dict[tuple[str, ...], list[str]] = {}  # arguments with equal rows share lines
        for argument, declared in function.arguments.items():
            cells = tuple(f"{_cell(row.values)} | {row.outcome} | {_cell(_remark(declared, row))}" for row in declared.rows)
            together.setdefault(cells, []).append(f"`{argument}`")
        for cells, names in together.items():
            lines += [f"| {', '.join(names)} | {cell} |" for cell in cells]
        lines.append("")
    return "\n".join(lines)


def _summary(name: str) -> str:
    """Returns the first paragraph of a function's docstring."""
    return " ".join((inspect.getdoc(registry.functions[name].call) or "").partition("\n\n")[0].split())


def _remark(declared: Argument, row: Row) -> str:
    """Returns the remark of a row, with the error if it is not NotImplementedError."""
    by_check = row.outcome == REFUSED and declared.accepts is not None and row is declared.rows[-1]
    return row.why if not by_check or declared.kind is NotImplementedError else f"{declared.kind.__name__}: {row.why}"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    import openaclnn.compat.torch_npu  # noqa: F401

    print(page(), end="")
