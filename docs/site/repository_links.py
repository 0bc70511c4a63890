# Links of the pages to folders and public headers, which a site has not: to their page where they have one, else text.
"""A Sphinx extension. Links to pages and other files need no help: Sphinx warns of dead ones, and source_pages shows the files."""
import os
import pathlib
import re

from c_reference import page_of_header

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]+)\]\((?P<target>[^)#:\s]+)\)")


def resolve_links(app, docname, source):
    page = pathlib.Path(app.env.doc2path(docname))

    def replace(match):
        target = page.parent / match["target"]
        shown_by = page_of_header(target.resolve()) if target.suffix == ".h" else None
        if shown_by:
            return f"[{match['text']}]({os.path.relpath(shown_by, page.parent)})"
        if not target.is_dir():
            return match[0]
        readme = target / "README.md"
        if readme.is_file():
            return f"[{match['text']}]({os.path.relpath(readme, page.parent)})"
        return match["text"] if match["text"].startswith("`") else f"`{match['text']}`"

    source[0] = LINK.sub(replace, source[0])


def setup(app):
    app.connect("source-read", resolve_links)
    return {"parallel_read_safe": True}
