# The words of the search: numbers such as status codes, and Chinese, which has no blanks between words.
"""A Sphinx extension. Sphinx's own indexer leaves out numbers and takes a run of Chinese characters for one word. Here a number is
indexed as n161002, because the search page drops terms that are digits only. A run of Chinese is indexed as its characters and its pairs
of neighbours, and a query as its pairs. It works from files as well as from a server."""
import re

from sphinx.search.en import SearchEnglish

CHINESE = "\u3400-\u4dbf\u4e00-\u9fff"
PART = re.compile(rf"[{CHINESE}]+|[^\W{CHINESE}]+")


def split(text):
    """The words of a text, as the index has them."""
    found = []
    for part in PART.findall(text):
        if re.match(f"[{CHINESE}]", part):
            found += [*part, *map("".join, zip(part, part[1:]))]
        else:
            found.append(f"n{part}" if part.isdigit() else part)
    return found


class Words(SearchEnglish):
    lang = "openaclnn"
    language_name = "English"  # Sphinx makes the stemmer's name of it
    # split() for a query, whose pairs must all be found. A single character is looked up as it is.
    js_splitter_code = """
var splitQuery = (query) =>
  query
    .split(/([CHINESE]+)|[^\\p{L}\\p{N}_]+/u)
    .filter((part) => part)
    .flatMap((part) => {
      if (/^[0-9]+$/.test(part)) return ["n" + part];
      if (!/^[CHINESE]{2,}$/.test(part)) return [part];
      return [...part].slice(1).map((character, at) => part[at] + character);
    });
""".replace("CHINESE", CHINESE)

    def split(self, input):
        return split(input)


def setup(app):
    app.add_search_language(Words)
    return {"parallel_read_safe": True}
