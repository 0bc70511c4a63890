# The reference of the Python package, read from its sources: no compiler, PyTorch or JAX is needed to make the pages.
"""A Sphinx extension with one directive:

    ```{python-reference} openaclnn.torch.optim
    ```

documents the public functions and classes of a module, or those named in its content, in the order of the source. Signatures are
those of the .pyi file where there is one, else of the .py file; docstrings of native functions are read from python/src/.
"""
import ast
import pathlib
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

PYTHON = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
DEFINITION = re.compile(r'module\.def\(\s*"(?P<name>\w+)"')
RAW_TEXT = re.compile(r'R"\((?P<text>.*?)\)"', re.S)
NAMED_TEXT = re.compile(r'(?P<name>k\w*Doc)\s*=\s*R"\((?P<text>.*?)\)"', re.S)
PLAIN_TEXT = re.compile(r'"(?P<text>[A-Z][^"\n]*\.)"\)')


def native_docstrings():
    """{function: docstring} of the native module."""
    found = {}
    for source in sorted((PYTHON / "src").glob("*.cc")):
        text = source.read_text(encoding="utf-8")
        constants = {match["name"]: match["text"] for match in NAMED_TEXT.finditer(text)}
        definitions = list(DEFINITION.finditer(text))
        for this, following in zip(definitions, [*definitions[1:], None]):
            body = text[this.end(): following.start() if following else len(text)]
            names = [name for name in constants if re.search(rf"\b{name}\b", body)]
            inline = RAW_TEXT.search(body) or PLAIN_TEXT.search(body)
            if names or inline:
                found[this["name"]] = constants[names[0]] if names else inline["text"]
    return found


class Member:
    """A function or class: its name, kind, signature, docstring, and public methods."""

    def __init__(self, node, docstring=None):
        self.name, self.kind = node.name, "class" if isinstance(node, ast.ClassDef) else "function"
        self.docstring = docstring if docstring is not None else ast.get_docstring(node) or ""
        self.methods = []
        arguments = node.args if self.kind == "function" else None
        if self.kind == "class":
            for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
                if method.name == "__init__":
                    arguments = method.args
                elif not method.name.startswith("_") and ast.get_docstring(method):
                    self.methods.append(Member(method))
                    self.methods[-1].kind = "method"
        self.signature = self.name
        if arguments is not None:
            text = ast.unparse(self.without_types(arguments))
            self.signature += f"({re.sub(r'^(self|cls)(, )?', '', text)})"

    @staticmethod
    def without_types(arguments):
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None:
                argument.annotation = None
        return arguments


def read_module(name):
    """(files read, docstring of the module, its public members)."""
    base = PYTHON / pathlib.Path(*name.split("."))
    source = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    stub = source.with_suffix(".pyi")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    native = native_docstrings() if stub.exists() else {}
    if stub.exists():
        bodies = {node.name: ast.get_docstring(node) for path in base.glob("_*.py") for node in ast.parse(path.read_text()).body
                  if isinstance(node, ast.FunctionDef)}
        members = [Member(node, native.get(node.name) or bodies.get(node.name))
                   for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    else:
        members = [Member(node) for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    files = [source, *([stub, *(PYTHON / "src").glob("*.cc")] if stub.exists() else [])]
    return files, ast.get_docstring(tree) or "", [one for one in members if not one.name.startswith("_")]


def render(docstring):
    """Nodes of a docstring: paragraphs, sections with their entries, and indented text as it stands."""
    lines, made, at = docstring.expandtabs().splitlines(), [], 0
    section = False
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip()):
            made.append(nodes.rubric(text=line.strip()))
            section, at = True, at + 2
        elif line.startswith(" "):
            end = at
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
                end += 1
            made.append(nodes.literal_block(text="\n".join(lines[at:end]).rstrip(), language="text"))
            at = end
        else:
            end = at + 1
            while end < len(lines) and lines[end].strip() and (not section or lines[end].startswith(" ")) and \
                    not (end + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[end + 1].strip())):
                end += 1
            text = " ".join(part.strip() for part in lines[at:end])
            name, colon, meaning = text.partition(" : ")
            paragraph = nodes.paragraph()
            if section and colon:
                paragraph += [nodes.strong(text=name), nodes.Text(": " + meaning)]
            else:
                section = section and not text.endswith(".")
                paragraph += nodes.Text(text)
            made.append(paragraph)
            at = end
    return made


class PythonReference(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        module = self.arguments[0]
        files, docstring, members = read_module(module)
        for file in files:
            self.env.note_dependency(str(file))
        wanted = " ".join(self.content).split()
        unknown = set(wanted) - {member.name for member in members}
        if unknown:
            raise self.error(f"{module} has no public {', '.join(sorted(unknown))}")
        bare = [member.name for member in members if not member.docstring]
        if bare:
            raise self.error(f"{module}: without a docstring: {', '.join(bare)}")
        made = render(docstring)
        for member in members:
            if not wanted or member.name in wanted:
                made += self.describe(member, module)
        return made

    def describe(self, member, prefix):
        directive = StringList([f"```{{py:{member.kind}}} {prefix}.{member.signature}", "```"], source=self.env.docname)
        holder = nodes.section()
        self.state.nested_parse(directive, self.content_offset, holder)
        for description in holder.findall(addnodes.desc_content):
            description += render(member.docstring)
            for method in member.methods:
                description += self.describe(method, f"{prefix}.{member.name}")
            break
        return holder.children


def setup(app):
    app.add_directive("python-reference", PythonReference)
    return {"parallel_read_safe": True}
