# Finds the pages of the project and their blocks of code, with the comments of the page about each block.
"""A comment right before a block says how it is tested:

    <!-- not run: reason -->            it is listed with the reason
    <!-- needs: name name -->           files that the test puts into the folder where the block runs
    <!-- file: program.cc -->           the block is kept under this name for the commands after it

Comments add no code: tests compile and run the visible text, as a reader would paste it. The Python blocks of a page run from top to bottom, so a
block may use the names of earlier ones.
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*)(?:\{[\w-]+\}.*)?\s*$")
COMMENT = re.compile(r"<!--\s*(?P<kind>not run|needs|file):\s*(?P<text>.*?)\s*-->", re.S)
BEFORE = re.compile(r"((?:<!--(?:(?!-->).)*-->\s*)+)\Z", re.S)
CODE = {"c", "cpp", "python", "sh", "cmake", "console"}


@dataclasses.dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    says: dict  # of the comments: kind → text

    def __str__(self):
        return f"{self.page}:{self.line} ({self.language or 'no language'})"


def pages(root=ROOT):
    """Returns all pages of the project in English, as paths below its root."""
    found = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *root.glob("src/ops/**/README.md"), *root.glob("examples/*/README.md"),
             *root.glob("bench/*.md"), *root.glob("python/*.md")]
    return sorted(page.relative_to(root).as_posix() for page in found if not page.name.endswith(".zh-CN.md"))


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, text=None):
    """Returns the blocks of a page in their order."""
    lines = (read(page) if text is None else text).split("\n")
    found, begin = [], None
    for at, line in enumerate(lines):
        match = FENCE.match(line)
        if begin is None and match:
            begin, language = at, match["language"]
        elif begin is not None and line.strip() == "```":
            before = BEFORE.search("\n".join(lines[:begin]) + "\n")
            says = {note["kind"]: note["text"] for note in COMMENT.finditer(before[1])} if before else {}
            body = "\n".join(lines[begin + 1:at]) + "\n"
            if language in ("text", "") and body.startswith("$ "):
                language = "console"
            found.append(Block(page, begin + 1, language, body, says))
            begin = None
    if begin is not None:
        raise ValueError(f"{page}:{begin + 1}: a block of code that never ends")
    return found
