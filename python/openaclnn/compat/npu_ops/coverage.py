# The coverage table: function by argument by value, made from the registry. Run as a program, it prints the table.
"""python -m openaclnn.compat.npu_ops.coverage prints Markdown: what each function supports, refuses and ignores."""
from __future__ import annotations

from collections.abc import Iterator

from openaclnn.compat.npu_ops import registry
from openaclnn.compat.npu_ops.arguments import Row


def rows() -> Iterator[tuple[str, str, Row]]:
    """Returns function, argument and row of every registered argument, sorted by function. Overloads have the arguments of
    their function."""
    for name in sorted(name for name in registry.functions if "." not in name):
        for argument, declared in registry.functions[name].arguments.items():
            for row in declared.rows:
                yield name, argument, row


def table() -> str:
    """Returns the coverage in Markdown: one heading and one table for each function."""
    lines: list[str] = []
    before = ""
    for name, argument, row in rows():
        if name != before:
            lines += ["", f"### {name}", "", "| Argument | Values | Outcome | Remark |", "|---|---|---|---|"]
        before = name
        lines.append("| " + " | ".join((f"`{argument}`", _cell(row.values), row.outcome, _cell(row.why))) + " |")
    return "\n".join(lines[1:]) + "\n"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    import openaclnn.compat.torch_npu  # noqa: F401

    print(table(), end="")
