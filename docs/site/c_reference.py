# The reference of the C interface: one page per operator, and every other public header, as Doxygen read it.
"""A Sphinx extension with two directives. {c-headers} shows the headers that match the patterns in its content, below include/.
{c-operator} shows the two phases of one operator; the pages that use it are written to docs/site/c/operators/ before Sphinx reads pages.
A header that no page shows is an error, so a new operator needs no line here."""
import functools
import os
import pathlib
import re
import shutil
import textwrap

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
PAGES = ROOT / "docs" / "site" / "c"
# Headers that only include others or hold one macro.
WITHOUT_CONTENT = {"acl/acl.h", "acl/acl_op.h", "acl/acl_mdl.h", "acl/acl_base_mdl.h", "acl/error_codes/ge_error_codes.h",
                   "aclnnop/aclnn_util.h"}
PHASE_1 = re.compile(r"^[A-Z_]+ aclnnStatus (\w+)GetWorkspaceSize\(", re.M)
shown = set()


@functools.cache
def operators():
    """{operator: its header}, from the declarations of phase 1."""
    return {name: header for header in sorted(INCLUDE.rglob("*.h")) for name in PHASE_1.findall(header.read_text(encoding="utf-8"))}


@functools.cache
def page_of_header(header):
    """The source of the page that shows a public header, or None."""
    for name, declared_in in operators().items():
        if declared_in == header:
            return PAGES / "operators" / f"{name}.md"
    for page in sorted(PAGES.glob("*.md")):
        for block in re.findall(r"^```\{c-headers\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            if any(header in INCLUDE.glob(pattern) for pattern in block.split()):
                return page
    return None


def header_comment(text):
    """The comment at the top of a header, without its marks and the license's line."""
    comment = re.match(r"/\* (.*?)\s*\*/", text, re.S)
    lines = re.sub(r"\n \* ?", "\n", comment[1]).split("\n") if comment else []
    return [line for line in lines if "SPDX-License-Identifier" not in line]


def render_comment(lines):
    """Nodes of such a comment: paragraphs, and formulas and lists as they are laid out, because they are indented."""
    made, run, indented = [], [], False

    def flush():
        text = "\n".join(run).rstrip()
        if text:
            made.append(nodes.literal_block(text=textwrap.dedent(text), language="text") if indented else
                        nodes.paragraph(text=" ".join(run).strip()))
        run.clear()

    for line in [*lines, ""]:
        if line.strip() and line.startswith(" ") != indented:
            flush()
            indented = line.startswith(" ")
        elif not line.strip() and not indented:
            flush()
        run.append(line)
    flush()
    return made


def page_of_operator(name, header):
    """The text of an operator's reference page."""
    file = header.relative_to(INCLUDE).as_posix()
    folder = PAGES / "operators"
    guides = [readme for readme in sorted((ROOT / "src" / "ops").rglob("README.md")) if f"include/{file})" in readme.read_text(encoding="utf-8")]
    links = [f"[arguments, errors and numerics]({os.path.relpath(guide, folder)})" for guide in guides]
    links.append("[status codes](../../../errors.md)")
    return f"# {name}\n\nHeader: `{file}` · {' · '.join(links)}\n\n```{{c-operator}} {name}\n```\n"


def write_pages(app):
    folder = PAGES / "operators"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, header in operators().items():
        (folder / f"{name}.md").write_text(page_of_operator(name, header), encoding="utf-8")


class Reference(SphinxDirective):
    def parse(self, lines, holder):
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, holder)

    def start(self, header):
        """Notes that a page shows the header, and returns what its comment says."""
        shown.add(header.relative_to(INCLUDE).as_posix())
        self.env.note_dependency(str(header))
        return render_comment(header_comment(header.read_text(encoding="utf-8")))


class CHeaders(Reference):
    has_content = True

    def run(self):
        holder = nodes.section()
        for pattern in self.content:
            for header in sorted(INCLUDE.glob(pattern)):
                name = header.relative_to(INCLUDE).as_posix()
                if name in WITHOUT_CONTENT or header in operators().values():
                    continue
                holder += nodes.rubric(text=name)
                holder += self.start(header)
                self.parse(["```{doxygenfile} " + header.name, "```"], holder)
        return holder.children


class COperator(Reference):
    required_arguments = 1

    def run(self):
        holder, name = nodes.section(), self.arguments[0]
        holder += self.start(operators()[name])
        for function in (f"{name}GetWorkspaceSize", name):
            self.parse(["```{doxygenfunction} " + function, "```"], holder)
        return holder.children


def make_table(rows):
    table, group = nodes.table(classes=["parameters"]), nodes.tgroup(cols=3)
    for width in (2, 2, 6):
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    cells = [[nodes.paragraph(text=text)] for text in ("Parameter", "Type", "Meaning")]
    for part, contents in ((head, [cells]), (body, rows)):
        for content in contents:
            row = nodes.row()
            for cell in content:
                row += nodes.entry("", *cell)
            part += row
    group += [head, body]
    table += group
    return table


def tabulate(app, domain, kind, content):
    """Turns the fields "param grad" of a function into a table with the types of its signature."""
    if domain != "c":
        return
    parameters = [re.fullmatch(r"(.*?)(\w+)", one.astext(), re.S) for one in content.parent.findall(addnodes.desc_parameter)]
    types = {one[2]: one[1].strip().replace(" *", "*") for one in parameters if one}
    for fields in list(content.findall(nodes.field_list)):
        rows = []
        for field in list(fields):
            word, _, names = field[0].astext().partition(" ")
            if word != "param":
                continue
            names = names.split(", ")
            kinds = ", ".join(dict.fromkeys(types.get(name, "") for name in names))
            rows.append([[nodes.paragraph("", "", nodes.literal(text=", ".join(names)))],
                         [nodes.paragraph("", "", nodes.literal(text=kinds))], field[1].children])
            fields.remove(field)
        if rows:
            at = fields.parent.index(fields)
            fields.parent.insert(at, make_table(rows))
        if not fields.children:
            fields.parent.remove(fields)


def unwrap_anonymous(app, doctree):
    """Shows the constants of an enum without a name, and not the name that Doxygen makes up for it."""
    for node in list(doctree.findall(addnodes.desc)):
        if node["objtype"] == "enum" and re.search(r"@\d|anonymous", node[0].astext()):
            node.replace_self(list(node.findall(addnodes.desc))[1:])


def require_all(app, env):
    missing = {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h")} - WITHOUT_CONTENT - shown
    if missing:
        raise ExtensionError(f"no page of docs/site/c shows {', '.join(sorted(missing))}")


def setup(app):
    app.add_directive("c-headers", CHeaders)
    app.add_directive("c-operator", COperator)
    app.connect("builder-inited", write_pages)
    app.connect("object-description-transform", tabulate)
    app.connect("doctree-read", unwrap_anonymous)
    app.connect("env-check-consistency", require_all)
    return {"parallel_read_safe": False}
