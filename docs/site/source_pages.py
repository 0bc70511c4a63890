# Shows the sources that pages link to as pages of the site, with highlighting, instead of offering them as downloads.
"""A Sphinx extension. The page of src/ops/embedding/math.h is code/src/ops/embedding/math.h.html."""
import html
import pathlib

from docutils import nodes
from sphinx import addnodes

LANGUAGES = {".h": "c++", ".cc": "c++", ".cpp": "c++", ".cu": "cuda", ".c": "c", ".py": "python", ".sh": "bash"}


def link_sources(app, doctree, docname):
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(addnodes.download_reference)):
        _, path = app.env.relfn2path(node["reftarget"], docname)
        name = pathlib.Path(path).relative_to(app.srcdir).as_posix()
        app.env.linked_sources.add(name)
        node.replace_self(nodes.reference("", "", *node.children, internal=True,
                                          refuri=app.builder.get_relative_uri(docname, f"code/{name}")))


def forget_downloads(app, env):
    """Keeps the builder from also copying the files."""
    env.linked_sources = set()
    env.dlfiles.clear()


def make_pages(app):
    for name in sorted(app.env.linked_sources):
        text = (pathlib.Path(app.srcdir) / name).read_text(encoding="utf-8")
        code = app.builder.highlighter.highlight_block(text, LANGUAGES.get(pathlib.Path(name).suffix, "text"))
        title = html.escape(name)
        yield f"code/{name}", {"title": title, "body": f"<h1>{title}</h1>{code}"}, "page.html"


def setup(app):
    app.connect("env-updated", forget_downloads)
    app.connect("doctree-resolved", link_sources)
    app.connect("html-collect-pages", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
