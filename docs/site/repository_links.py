# Links of the pages to folders of the project, which a site has not: to the folder's page where it has one, else text.
"""A Sphinx extension. Links to pages and files need no help: Sphinx turns them into pages and downloads, and warns of dead ones."""
import os
import pathlib
import re

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]+)\]\((?P<target>[^)#:\s]+)\)")


def resolve_folders(app, docname, source):
    page = pathlib.Path(app.env.doc2path(docname))

    def replace(match):
        folder = page.parent / match["target"]
        if not folder.is_dir():
            return match[0]
        readme = folder / "README.md"
        if readme.is_file():
            return f"[{match['text']}]({os.path.relpath(readme, page.parent)})"
        return match["text"] if match["text"].startswith("`") else f"`{match['text']}`"

    source[0] = LINK.sub(replace, source[0])


def setup(app):
    app.connect("source-read", resolve_folders)
    return {"parallel_read_safe": True}
