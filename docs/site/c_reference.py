# The reference of the C interface: every public header that matches a pattern, as Doxygen read it.
"""A Sphinx extension with one directive, {c-headers}, whose content are patterns below include/. No header is listed twice, and a
header that no page shows is an error, so a new operator needs no line here."""
import pathlib

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include"
# Headers that only include others or hold one macro.
WITHOUT_CONTENT = {"acl/acl.h", "acl/acl_op.h", "acl/acl_mdl.h", "acl/acl_base_mdl.h", "acl/error_codes/ge_error_codes.h",
                   "aclnnop/aclnn_util.h"}
shown = set()


class CHeaders(SphinxDirective):
    has_content = True

    def run(self):
        holder = nodes.section()
        for pattern in self.content:
            for header in sorted(INCLUDE.glob(pattern)):
                name = header.relative_to(INCLUDE).as_posix()
                if name in WITHOUT_CONTENT:
                    continue
                shown.add(name)
                self.env.note_dependency(str(header))
                holder += nodes.rubric(text=name)
                text = ["```{doxygenfile} " + header.name, "```"]
                self.state.nested_parse(StringList(text, source=self.env.docname), self.content_offset, holder)
        return holder.children


def join_names(app, domain, kind, content):
    """A comment for several parameters ("@param dst, src where") has one field; without blanks Sphinx takes its names for no type."""
    if domain == "c":
        for field in content.findall(nodes.field_name):
            kind, _, names = field.astext().partition(" ")
            field.children = [nodes.Text(f"{kind} " + names.replace(", ", ",\N{ZERO WIDTH SPACE}"))]


def require_all(app, env):
    missing = {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h")} - WITHOUT_CONTENT - shown
    if missing:
        raise ExtensionError(f"no page of docs/site/c shows {', '.join(sorted(missing))}")


def setup(app):
    app.add_directive("c-headers", CHeaders)
    app.connect("object-description-transform", join_names)
    app.connect("env-check-consistency", require_all)
    return {"parallel_read_safe": False}
