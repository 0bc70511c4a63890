# Pages of the documentation that come with the package: the codes, and one page for each operator.
"""Reads Markdown as far as `python -m openaclnn` prints it."""
from __future__ import annotations

import pathlib
import re

import openaclnn
from openaclnn import _native

_FOLDER = pathlib.Path(__file__).parent / "pages"


def _cells(line: str) -> list[str]:
    return [plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def plain(markdown: str) -> str:
    """Returns text without Markdown's code quotes, bold marks and link addresses. Blocks of code stay as they are, without the
    lines around them."""
    parts = re.split(r"^ *```.*\n", markdown, flags=re.MULTILINE)  # text and code in turn
    for n in range(0, len(parts), 2):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", parts[n])
        parts[n] = text.replace("`", "").replace("**", "").replace(r"\|", "|")
    return "".join(parts)


def _rows(page: str, heading: str) -> list[list[str]]:
    """Returns the rows of the first table under a heading, without its header."""
    section = re.split(r"^## ", page.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    return [_cells(line) for line in section.splitlines() if line.startswith("|")][2:]


def codes() -> list[tuple[int, str, str, str]]:
    """Returns each code with its name, its usual reason and the remedy."""
    page = (_FOLDER / "errors.md").read_text(encoding="utf-8")
    returned = {row[0]: row[2:4] for row in _rows(page, "Codes and error messages")}
    others = {row[0]: row[2] for row in _rows(page, "Codes that openaclnn does not return") if len(row) > 2}
    found = []
    for code, name in _native.code_names():
        in_cann = f"; in CANN: {others[str(code)]}" if str(code) in others else ""
        reason, remedy = returned.get(str(code), (f"not returned by openaclnn{in_cann}", "find the library that returned it"))
        found.append((code, name, reason, remedy))
    return found


def _functions() -> dict[str, str]:
    """Returns the names of Python functions, by the names of the C functions in their documentation."""
    found = {}
    for name in openaclnn.__all__:
        text = getattr(openaclnn, name).__doc__ or ""
        for c_function in re.findall(r"\w*nn[A-Z]\w+", text.partition("C function: ")[2]):
            found[c_function] = f"openaclnn.{name}"
    return found


def operators() -> list[tuple[str, str, str]]:
    """Returns each operator's C function, its Python function and its page. Versions of a function share a page."""
    functions = _functions()
    found = []
    for path in sorted((_FOLDER / "ops").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        name = re.match(r"# (\w+)", page)[1]  # type: ignore[index]  # every page starts with the operator's name
        known = next((c_function for c_function in functions if c_function.endswith((f"nn{name}", f"nn{name}V2"))), "")
        found.append((known.removesuffix("V2") or f"aclnn{name}", functions.get(known, ""), page))
    return found
