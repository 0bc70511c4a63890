# Gives each status code in the tables of the errors page an anchor, and an entry in the index, which the search reads first.
"""A Sphinx extension: docs/errors.md#code-161002 is the row of 161002."""
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

PAGE = "docs/errors"


class StatusCodes(SphinxTransform):
    default_priority = 500  # before Sphinx's index reads the page

    def apply(self):
        if self.env.docname != PAGE:
            return
        for table in list(self.document.findall(nodes.table)):
            entries = []
            for row in table.findall(nodes.row):
                code = row[0].astext()
                if re.fullmatch(r"\d{6}", code):
                    row["ids"].append(f"code-{code}")
                    for term in (code, row[1].astext()):
                        entries.append(("single", term, f"code-{code}", "main", None))
            if entries:
                table.parent.insert(table.parent.index(table), addnodes.index(entries=entries))


def setup(app):
    app.add_transform(StatusCodes)
    return {"parallel_read_safe": True}
