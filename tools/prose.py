# Finds the prose of the tree: the text of pages, comments, docstrings and messages, each piece with its lines.
import ast
import bisect
import dataclasses
import io
import json
import pathlib
import re
import sys
import tokenize

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "docs"))
import pages  # noqa: E402

C_SUFFIXES = {".h", ".c", ".cc", ".cu", ".cuh", ".def"}
PYTHON_SUFFIXES = {".py", ".pyi"}
HASH_SUFFIXES = {".sh", ".cmake"}
OTHER_PAGES = ["docs/site/**/*.md", "tests/**/README.md", "examples/**/README.md", "examples/**/*.ipynb", "tools/**/README.md.in"]
SKIPPED_FOLDERS = {"build", "dist", "__pycache__"}
C_TOKEN = re.compile(r'(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R"(?P<tag>[^\s()\\]*)\((?P<raw>.*?)\)(?P=tag)"'
                     r'|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASH_TOKEN = re.compile(r"(?P<comment>(?<![^\s;])#[^\n]*)|<<-?'?(?P<tag>[A-Z]+)'?\n(?P<here>.*?)\n(?P=tag)\n"
                        r'|"(?P<text>(?:\\.|[^"\\])*)"|\'(?P<quote>[^\']*)\'|\\.', re.S)
LINK = re.compile(r"(!?\[)((?:[^\[\]]|\[[^\]]*\])*)(\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\))")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
NOT_PROSE = re.compile(r"<!--.*?-->|<[^<>\n]{1,80}>", re.S)
ITEM = re.compile(r"^\s*(?:[-*] |\d+\. )")
CONTINUED = re.compile(r"^\s*(?:[-*] |\d+\. |@)")  # the lines after such a one are indented further


@dataclasses.dataclass
class Piece:
    """A heading, paragraph, item, cell, comment or message. `raw` is its lines, `text` its words with one blank between them and
    a word for each piece of code."""
    path: str
    kind: str
    lines: list  # (number of the line, its text)

    def __post_init__(self):
        self.raw = "\n".join(text for _, text in self.lines)
        wide = masked(self.raw)
        kept = [at for at, sign in enumerate(wide) if not sign.isspace() or (at > 0 and not wide[at - 1].isspace())]
        self.text = "".join(" " if wide[at].isspace() else wide[at] for at in kept)
        self.places = [*kept, len(self.raw)]  # of each sign of the text in raw

    def line_at(self, offset):
        return self.lines[self.raw.count("\n", 0, self.places[offset])][0]

    def original(self, start, end):
        return self.raw[self.places[max(0, start)]:self.places[min(end, len(self.text))]]


def masked(text):
    """Returns the text with a word of equal length for each piece of code, and blanks for addresses of links, tags and emphasis."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    text = CODE.sub(lambda match: "`" + re.sub(r"\S|[ ]", "x", match[0][1:-1]).replace("\n", "x") + "`", text)
    text = NOT_PROSE.sub(blank, text)
    text = LINK.sub(lambda match: " " * len(match[1]) + match[2] + " " * len(match[3]), text)
    return re.sub(r"https?://\S+|\*\*|(?<![\w*])\*(?=\w)|(?<=[\w.])\*(?![\w*])", blank, text)


def blanks_before(text):
    return len(text) - len(text.lstrip())


def split(path, kind, lines):
    """Splits lines of plain text into pieces: a blank line, a list item or a line indented further ends one."""
    found, piece = [], []
    for number, text in lines:
        indented = piece and not CONTINUED.match(piece[0][1]) and blanks_before(text) > blanks_before(piece[0][1]) + 1
        if piece and (not text.strip() or CONTINUED.match(text) or indented):
            found.append(Piece(path, kind, piece))
            piece = []
        if text.strip():
            piece.append((number, text))
    return found + ([Piece(path, kind, piece)] if piece else [])


def of_page(path, text):
    """Returns the pieces of a page in Markdown, without blocks of code."""
    text = re.sub(r"<!--.*?-->", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.S)
    found, paragraph, in_code = [], [], False
    kind = "paragraph"

    def end():
        if paragraph:
            found.append(Piece(path, kind, list(paragraph)))
            paragraph.clear()

    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            end()
            in_code = not in_code
        elif in_code or not line.strip():
            end()
        elif line.startswith("#"):
            end()
            found.append(Piece(path, "heading", [(number, line.lstrip("# "))]))
        elif line.lstrip().startswith("|"):
            end()
            found += [Piece(path, "cell", [(number, cell.strip())]) for cell in cells(line) if cell.strip(" -:")]
        else:
            if ITEM.match(line) or line.startswith(">"):
                end()
            if not paragraph:
                kind = "item" if ITEM.match(line) else "paragraph"
            paragraph.append((number, ITEM.sub("", line) if ITEM.match(line) else line))
    end()
    return found


def cells(row):
    return re.split(r"(?<!\\)\|", CODE.sub(lambda match: match[0].replace("|", " "), row.strip()))[1:-1]


def of_c(path, text):
    """Returns the comments of a C, C++ or CUDA source, and its texts of several words."""
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found, comment, message = [], [], []
    end_of_message = 0

    def end_comment():
        found.extend(split(path, "comment", comment))
        comment.clear()

    def end_message():
        if is_message(" ".join(part for _, part in message)):
            found.append(Piece(path, "message", list(message)))
        message.clear()

    for match in C_TOKEN.finditer(text):
        number = bisect.bisect_right(starts, match.start())
        if match["line"]:
            alone = not text[starts[number - 1]:match.start()].strip()
            if not alone or (comment and comment[-1][0] != number - 1):
                end_comment()
            comment.append((number, match["line"].lstrip("/")))
            if not alone:
                end_comment()
        elif match["block"]:
            end_comment()
            lines = match["block"][2:-2].split("\n")
            comment += [(number + at, re.sub(r"^\s*\*", "", line)) for at, line in enumerate(lines)]
            end_comment()
        elif match["text"] is not None or match["raw"] is not None:
            before = text[starts[number - 1]:match.start()]
            if text[end_of_message:match.start()].strip() or re.match(r"\s*#\s*include", before):
                end_message()
            if not re.match(r"\s*#\s*include", before):
                part = match["raw"] if match["raw"] is not None else re.sub(r"\\n", " ", match["text"])
                message += [(number + at, line) for at, line in enumerate(part.split("\n"))]
            end_of_message = match.end()
    end_comment()
    end_message()
    return found


def is_message(text):
    """Tells whether a string has several words, so that it is prose and not a name."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) > 2


def of_help(path, lines):
    """Splits the help of a program into pieces: a blank line, or one that isn't indented further than the first, ends one."""
    found, piece = [], []
    for number, line in [*lines, (0, "")]:
        if piece and (not line.strip() or blanks_before(line) <= blanks_before(piece[0][1])):
            found.append(Piece(path, "message", piece))
            piece = []
        if line.strip():
            piece.append((number, line))
    return found


def of_hash(path, text):
    """Returns the comments of a shell script or CMake file that stand alone on their lines, its help and its strings of several words."""
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found, comment = [], []
    for match in HASH_TOKEN.finditer(text):
        number = bisect.bisect_right(starts, match.start())
        if match["comment"] is not None:
            alone = not text[starts[number - 1]:match.start()].strip() and not match["comment"].startswith("#!")
            if comment and (not alone or comment[-1][0] != number - 1):
                found += split(path, "comment", comment)
                comment = []
            if alone:
                comment.append((number, match["comment"][1:]))
        elif match["here"] is not None:
            found += of_help(path, [(number + 1 + at, line) for at, line in enumerate(match["here"].split("\n"))])
        elif is_message(said := match["text"] or match["quote"] or ""):
            found.append(Piece(path, "message", [(number + at, line.replace("\\n", "  ")) for at, line in enumerate(said.split("\n"))]))
    return found + split(path, "comment", comment)


def of_python(path, text):
    """Returns the comments and docstrings of a Python source, and its strings of several words."""
    found, comment = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            number = token.start[0]
            if comment and (comment[-1][0] != number - 1 or token.line[:token.start[1]].strip()):
                found += split(path, "comment", comment)
                comment = []
            comment.append((number, token.string.lstrip("#")))
    found += split(path, "comment", comment)
    tree = ast.parse(text)
    inner = set()  # docstrings, and parts of f-strings
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            inner.add(first.value)
            lines = [(first.lineno + at, line) for at, line in enumerate(first.value.value.split("\n"))]
            found += split(path, "comment", [lines[0], *((number, line[first.col_offset:]) for number, line in lines[1:])])
    for node in ast.walk(tree):
        said = None
        if isinstance(node, ast.JoinedStr):
            said = "".join(part.value if isinstance(part, ast.Constant) else "value" for part in node.values)
            inner.update(node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            said = node.value
        if said and is_message(said):
            found += split(path, "message", [(min(node.lineno + at, node.end_lineno), line) for at, line in enumerate(said.split("\n"))])
    return found


def of_notebook(path, text):
    """Returns the pieces of the pages and of the code in a notebook."""
    found, lines, at = [], text.split("\n"), 0
    for cell in json.loads(text)["cells"]:
        numbers = []
        for line in cell["source"]:
            at = next(number for number in range(at, len(lines)) if lines[number].strip().rstrip(",") == json.dumps(line, ensure_ascii=False)) + 1
            numbers.append(at)
        body = re.sub(r"^[%!]", "# ", "".join(cell["source"]), flags=re.M)
        for piece in of_page(path, body) if cell["cell_type"] == "markdown" else of_python(path, body):
            piece.lines = [(numbers[min(number, len(numbers)) - 1], said) for number, said in piece.lines]
            found.append(piece)
    return found


def of_source(path, text):
    path_of_kind = path.removesuffix(".in")
    suffix = pathlib.PurePosixPath(path_of_kind).suffix
    if suffix in C_SUFFIXES:
        return of_c(path, text)
    if suffix in PYTHON_SUFFIXES or text.startswith("#!/usr/bin/env python"):
        return of_python(path, text)
    if suffix in HASH_SUFFIXES or path_of_kind.endswith("CMakeLists.txt") or text.startswith("#!"):
        return of_hash(path, text)
    return []


def text_of(path):
    """Returns the text of a file, or None if it isn't text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def page_names(root):
    """Returns all pages, with those that the other tests of pages don't read."""
    more = [page.relative_to(root).as_posix() for pattern in OTHER_PAGES for page in root.glob(pattern)]
    return sorted({page for page in [*pages.pages(root), *more] if (root / page).is_file()})


def source_names(root, folders):
    """Returns the sources below folders of the root, and files named themselves."""
    found = []
    for folder in folders:
        paths = [root / folder] if (root / folder).is_file() else (root / folder).rglob("*")
        found += [path for path in paths if path.is_file() and not SKIPPED_FOLDERS.intersection(path.relative_to(root).parts)]
    return [path.relative_to(root).as_posix() for path in sorted(found)]
