# Sphinx's settings: pages lie beside the code, so the source folder is the root of the project.
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

extensions = ["myst_parser", "breathe", "c_reference", "python_reference", "repository_links"]
root_doc = "docs/site/index"
include_patterns = ["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**.md",
                    "src/ops/**/README.md", "src/ops/**/README.zh-CN.md", "examples/*/README.md", "bench/README.md"]
exclude_patterns = ["build", "dist", ".git", "bench/results", "**/.venv", "shared"]

myst_heading_anchors = 4  # #names of headings, as other readers of Markdown make them
myst_enable_extensions = ["colon_fence"]
# Code on these pages may leave things out with an ellipsis, which no highlighter takes for C or Python.
# `typedef enum x {…} x` declares one name twice, as C programs want it.
suppress_warnings = ["misc.highlighting_failure", "duplicate_declaration.c"]
highlight_language = "text"

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
html_theme_options = {"navigation_with_keys": True}
