# Sphinx's settings: pages lie beside the code, so the source folder is the root of the project.
import contextlib
import io
import pathlib
import re
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parent.parent
sys.path.insert(0, str(SITE))

project = "openaclnn"
author = "the contributors of openaclnn"
release = re.search(r"project\(openaclnn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
language = "en"

with contextlib.redirect_stdout(io.StringIO()):  # it says that it draws no cards without matplotlib; the card below is drawn
    import sphinxext.opengraph  # noqa: F401

extensions = ["myst_parser", "breathe", "sphinx_copybutton", "sphinx_design", "sphinxext.opengraph",
              "c_reference", "python_reference", "repository_links", "search_words", "source_pages", "status_codes"]
root_doc = "docs/site/index"
include_patterns = ["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**.md",
                    "src/ops/**/README.md", "src/ops/**/README.zh-CN.md", "examples/*/README.md", "bench/*.md", "bench/results/*.md"]
exclude_patterns = ["build", "dist", ".git", "**/.venv", "shared"]

myst_heading_anchors = 4  # #names of headings, as other readers of Markdown make them
myst_enable_extensions = ["colon_fence"]
# Code on these pages may leave things out with an ellipsis, which no highlighter takes for C or Python.
# `typedef enum x {…} x` declares one name twice, as C programs want it.
suppress_warnings = ["misc.highlighting_failure", "duplicate_declaration.c"]
highlight_language = "text"
maximum_signature_line_length = 90  # longer declarations have one parameter per line

linkcheck_timeout = 10  # seconds
linkcheck_rate_limit_timeout = 30

breathe_projects = {"openaclnn": str(ROOT / "build" / "docs" / "doxygen" / "xml")}
breathe_default_project = "openaclnn"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

html_theme = "furo"
html_title = f"openaclnn {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
html_search_language = "openaclnn"  # search_words
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"

copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not part of a command

# ./dev docs --url sets html_baseurl and ogp_site_url, which cards of other sites need as whole addresses.
ogp_image = "_static/card.png"
ogp_image_alt = "openaclnn: CANN aclnn training code without an NPU"
ogp_enable_meta_description = True


def set_language(app, pagename, templatename, context, doctree):
    """Pages in Chinese say so, for browsers, screen readers and search engines."""
    if pagename.startswith("docs/zh/") or pagename.endswith(".zh-CN"):
        context["language"] = "zh-CN"


def setup(app):
    app.connect("html-page-context", set_language)
