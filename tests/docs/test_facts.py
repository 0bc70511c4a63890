#!/usr/bin/env python3
# Compares the pages' facts with the code: signatures, settings, verbs, commands, operators, codes, and the lists of pages.
"""usage: test_facts.py BUILD_FOLDER

tests/cli compares rows of docs/errors.md with the headers. Each test also gets a wrong text and must report it.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import pages

sys.path.append(str(pages.ROOT / "tools"))
from rooms import rooms  # noqa: E402  a file of tools/

ROOT = pages.ROOT
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build/release").resolve()
TEXTS = {page: pages.read(page) for page in pages.pages()}
# CMake's options and macros also have the prefix of settings.
SETTING = re.compile(r"(?<![\w/])OPENACLNN_[A-Z][A-Z_]*[A-Z]\b")

READS_SETTING = r"(?:getenv|environ\.get|environ\.setdefault)\(\"(OPENACLNN_\w+)\""
# Only the emulation of CUDA reads these, which no package contains.
ONLY_FOR_TESTS = {"OPENACLNN_FAKE_CUDA", "OPENACLNN_PTX_COUNTS", "OPENACLNN_SIMT_SCHEDULE"}


def page_of(room):
    """Returns the page of an operator, as pages name it."""
    return (rooms(ROOT)[room] / "README.md").relative_to(ROOT).as_posix()


def matches(folders, suffixes, pattern):
    """Returns the matches of a pattern in the sources of folders."""
    found = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes or path.name in suffixes:
                found |= set(re.findall(pattern, path.read_text(encoding="utf-8")))
    return found


def without_blanks(text):
    return re.sub(r"\s*([*(),;])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def prototypes():
    """Returns {function: its prototype in the public headers}."""
    found = {}
    for header in (ROOT / "include").rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        for match in re.finditer(r"(?:ACLNN_API|ACL_FUNC_VISIBILITY)\s+([\w\s*]+?\b(\w+)\([^;]*\);)", text):
            found[match[2]] = without_blanks(match[1])
    return found


def wrong_prototypes(text, known):
    """Returns prototypes on a page that differ from those of the headers."""
    found = re.findall(r"^((?:aclnnStatus|aclError) (\w+)\([^;]*\);)", text, re.M)
    return [name for prototype, name in found if known.get(name) != without_blanks(prototype)]


def unnamed_parameters(page, prototype):
    """Returns parameters of a phase 1 that the page of its operator does not name; `a … b` names those from a to b."""
    names = [re.search(r"(\w+)$", part)[1] for part in prototype[prototype.index("(") + 1: -2].split(",")]
    named = {name for name in names if re.search(rf"\b{name.removesuffix('Optional')}(?:Optional)?\b", page)}
    for first, last in re.findall(r"\b(\w+) … (\w+)\b", page):
        if first in names and last in names:
            named |= set(names[names.index(first): names.index(last)])
    return [name for name in names if name not in named | {"workspaceSize", "executor"}]


def tables_of_settings(texts):
    """Returns [(page, name, values, default)] of all rows that explain a setting."""
    return [(page, *row) for page, text in texts.items()
            for row in re.findall(r"^\| `(OPENACLNN_\w+)` \| ([^|]*) \| ([^|]*) \| [^|]* \|$", text, re.M)]


def wrong_settings(rows, settings):
    """Returns error messages about settings that the library reads and rows that do not agree. settings: name → (accepted, default)."""
    wrong = []
    for name, (accepted, default) in settings.items():
        mine = [row for row in rows if row[1] == name]
        if len(mine) != 1:
            wrong.append(f"{name} has {len(mine)} rows in tables of settings; it must have one")
            continue
        values, says = re.findall(r"`([^`]+)`", mine[0][2]), mine[0][3].strip("`")
        if "|" in accepted and values != accepted.split("|"):
            wrong.append(f"{name} accepts {accepted}, its row says {mine[0][2]}")
        if default and says != default:
            wrong.append(f"{name} is '{default}' by default, its row says '{says}'")
        if not default and "`" in mine[0][3]:
            wrong.append(f"{name} has no default, its row says {mine[0][3]}")
    return wrong + [f"{row[0]} explains {row[1]}, which nothing reads" for row in rows if row[1] not in settings]


def pictures_of(texts):
    """Returns the pictures of the project that pages show, as paths below its root."""
    return {os.path.normpath(pathlib.PurePosixPath(page).parent / target) for page, text in texts.items()
            for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text) if "://" not in target}


STATED_VERSION = {  # file: the pattern of each place where it states the version of openaclnn
    "CITATION.cff": r"^version: (.*)$",
    "CHANGELOG.md": r"\A(?:(?!^## ).*\n)*## \[(.*?)\]",  # its newest entry
    "docs/faq.md": r"\b[Vv]ersion (\d+\.\d+\.\d+)",
    "docs/installation.md": r"^library      (\S+), ",
    "docs/why.md": r"\b[Vv]ersion (\d+\.\d+\.\d+)",
}


def other_versions(texts, version):
    """Returns {file: what it states} for files that state no version or another one."""
    stated = {name: re.findall(pattern, texts[name], re.M) for name, pattern in STATED_VERSION.items()}
    return {name: found for name, found in stated.items() if set(found) != {version}}


def rules_of_page(text):
    """Returns {rule: (what it accepts, what it needs)} of the table of rules, and {rule: source} of the sections."""
    table = text.partition("| Rule | Accepts |")[2].partition("\n\n")[0].replace("\\|", "¦")
    rows = {name: (accepts.replace("¦", "|"), needs)
            for name, accepts, needs in re.findall(r"^\| \[([\w-]+)\]\(#\1\) \| ([^|]*) \| ([^|]*?) ?\| [^|]+ \|$", table, re.M)}
    sections = {part.partition("\n")[0]: part for part in re.split(r"^### (?=[a-z][\w-]*$)", text, flags=re.M)[1:]}
    return rows, {name: re.sub(r"\s+", " ", part.partition("Source: ")[2]).strip() for name, part in sections.items()}


def wrong_rules(text, rules):
    """Returns error messages about rules of the library that the page doesn't describe as they are, and about others."""
    rows, sources = rules_of_page(text)
    known = {one["name"]: one for one in rules}
    wrong = [f"{name} has no {what}" for what, there in (("row", rows), ("section", sources)) for name in known.keys() - there.keys()]
    wrong += [f"there is no rule {name}" for name in (rows.keys() | sources.keys()) - known.keys()]
    for name, one in known.items():
        needs = "a bound" if one["needsBound"] else "third" if one["needsThird"] else ""
        if rows.get(name, (one["summary"], needs)) != (one["summary"], needs):
            wrong.append(f"the row of {name} differs from the program's")
        if not sources.get(name, one["source"]).startswith(one["source"]):
            wrong.append(f"the section of {name} has another source")
    return wrong


def missing_examples(page, text):
    """Returns the languages in which a page of an operator has no example that tests run: Python, and C with a main."""
    run = [block for block in pages.blocks(page, text) if "not run" not in block.says]
    return {"python", "c"} - {block.language for block in run if block.language == "python" or "int main(" in block.text}


class Facts(unittest.TestCase):
    def test_the_version_is_the_same_everywhere(self):
        version = re.search(r"^project\(openaclnn VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        told = subprocess.run([BUILD / "bin" / "openaclnn", "--version"], capture_output=True, text=True).stdout
        self.assertEqual(told, version + "\n")
        texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in STATED_VERSION}
        self.assertEqual(other_versions(texts, version), {})
        for name, text in texts.items():
            with self.subTest(name):
                self.assertEqual(other_versions({**texts, name: text.replace(version, "9.9.9", 1)}, version).keys(), {name})
                self.assertEqual(other_versions({**texts, name: text.replace(version, "")}, version).keys(), {name})

    def test_signatures_are_those_of_the_headers(self):
        known = prototypes()
        self.assertGreater(len(known), 100)
        self.assertEqual({page: wrong for page, text in TEXTS.items() if (wrong := wrong_prototypes(text, known))}, {})
        good = "aclError aclrtSetDevice(int32_t deviceId);"
        self.assertEqual(wrong_prototypes(good, known), [])
        self.assertEqual(wrong_prototypes(good.replace("int32_t", "int"), known), ["aclrtSetDevice"])

    def test_pages_of_operators_name_every_parameter(self):
        operators = re.findall(r"^OPENACLNN_OPERATOR\((\w+), (\w+)\)", (ROOT / "src/ops/ops.def").read_text(), re.M)
        known, seen = prototypes(), 0
        for room, name in operators:
            for function, prototype in known.items():
                if re.fullmatch(rf"(?:open)?aclnn{name}(?:V\d)?GetWorkspaceSize", function):
                    seen += 1
                    with self.subTest(function):
                        self.assertEqual(unnamed_parameters(TEXTS[page_of(room)], prototype), [])
        self.assertGreaterEqual(seen, len(operators))
        self.assertEqual(unnamed_parameters("a … c, x", "f(int a,int b,int c,int xOptional,int y);"), ["y"])

    def test_pages_of_operators_have_examples_that_run(self):
        for page in [page_of(room) for room in rooms(ROOT)]:
            with self.subTest(page):
                self.assertEqual(missing_examples(page, TEXTS[page]), set())
        python, main = "```python\nx = 1\n```\n", "```c\nint main(void) { return 0; }\n```\n"
        self.assertEqual(missing_examples("a.md", python + main), set())
        self.assertEqual(missing_examples("a.md", python + main.replace("main", "f")), {"c"})
        self.assertEqual(missing_examples("a.md", f"<!-- not run: why -->\n{python}\n{main}"), {"python"})

    def test_pages_of_operators_list_the_formats(self):
        plain = re.search(r"kPlain\[\] = \{(.*?)\}", (ROOT / "src/ops/require.h").read_text(), re.S)[1]
        accepted = re.findall(r"ACL_FORMAT_(\w+)", plain)
        declared = re.search(r"ACL_FORMAT_UNDEFINED = -1.*?\}", (ROOT / "include/acl/acl_base_rt.h").read_text(), re.S)[0]
        refused = [name for name in re.findall(r"\bACL_(?:FORMAT_)?(\w+) = ", declared) if name not in accepted]
        self.assertEqual((len(accepted), len(refused)), (9, 11))
        for page in [page for page in TEXTS if page.startswith("src/ops/")]:
            with self.subTest(page):
                yes, no = re.search(r"^Formats: (.*?) are accepted (.*?) are rejected", TEXTS[page], re.M | re.S).groups()
                self.assertEqual(re.findall(r"\b[A-Z]\w+", yes), accepted)
                self.assertEqual(sorted(re.findall(r"\b[A-Z][A-Z0-9]+\w*", no)), sorted(refused))

    def test_functions_that_pages_name_exist(self):
        known = set(prototypes()) | matches(["src/compat"], {".cc"}, r"\b(acl\w+)\b")
        known |= matches(["include"], {".h"}, r"\b(acl[A-Z]\w+|aclrt[A-Z]\w+|aclnn[A-Z]\w+)\b")  # includes types
        known |= {"aclnnXxx", "aclnnXxxGetWorkspaceSize", "aclnnScaledCopy"}  # any operator, and the one that CONTRIBUTING.md creates
        def names(text):
            return set(re.findall(r"`(?:::)?((?:aclnn|acl|aclrt|openaclnn)[A-Z]\w+)(?:\([^`]*\))?`", text))

        lacking = re.search(r"^## Functions that openaclnn lacks\n.*?(?=^## )", TEXTS["docs/porting.md"], re.M | re.S)[0]
        self.assertGreater(len(names(lacking)), 5)
        self.assertEqual(names(lacking) & known, set())
        for page, text in TEXTS.items():
            with self.subTest(page):
                self.assertEqual(names(text.replace(lacking, "")) - known, set())

    def test_settings_have_one_row_each(self):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("OPENACLNN_")}
        told = json.loads(subprocess.run([BUILD / "bin" / "openaclnn", "doctor", "--json"], env=clean, capture_output=True,
                                         text=True).stdout)["library"]["environment"]
        settings = {one["name"]: (one["accepted"], one["inForce"]) for one in told}
        read = matches(["src", "cli", "python/src", "python/openaclnn"], {".cc", ".h", ".py"}, READS_SETTING) - ONLY_FOR_TESTS
        read = {name for name in read if not name.startswith("OPENACLNN_TEST_")}  # settings of src/verify
        self.assertEqual(read - set(settings), set())
        rows = tables_of_settings(TEXTS)
        self.assertEqual(wrong_settings(rows, settings), [])
        name = rows[0][1]
        for changed in (rows[1:], rows + rows[:1], [(*rows[0][:3], "`other`"), *rows[1:]], [("page", "OPENACLNN_NEW", "", ""), *rows]):
            self.assertEqual(len(wrong_settings(changed, settings)), 1, name)

    def test_pages_speak_of_no_other_setting(self):
        known = {row[1] for row in tables_of_settings(TEXTS)}
        words = matches(["src", "cmake", "tests", "CMakeLists.txt", "python"], {".h", ".cc", ".def", "CMakeLists.txt", ".cmake", ".in"}, SETTING)
        words |= set(SETTING.findall((ROOT / "CMakeLists.txt").read_text())) | {"OPENACLNN_UPPER"}
        for page, text in TEXTS.items():
            with self.subTest(page):
                self.assertEqual(set(SETTING.findall(text)) - known - words, set())

    def test_verbs_of_dev(self):
        text = (ROOT / "dev").read_text()
        usage = set(re.findall(r"^  (\w+)(?: |$)", text[text.index("<<'HELP'"): text.index("\nHELP")], re.M))
        self.assertEqual(usage, set(re.search(r'^verbs="(.*)"', text, re.M)[1].split(", ")))
        spoken = {page: set(re.findall(r"\./dev (\w+)", text)) for page, text in TEXTS.items()}
        self.assertEqual({page: named - usage for page, named in spoken.items() if named - usage}, {})
        self.assertEqual(usage - spoken["CONTRIBUTING.md"], {"help"} - spoken["CONTRIBUTING.md"])

    def test_commands_of_the_program(self):
        told = subprocess.run([BUILD / "bin" / "openaclnn", "--help"], capture_output=True, text=True).stdout
        commands = set(re.findall(r"^  ([\w-]+) {2,}\S", told.split("Subcommands:")[1], re.M))
        page = TEXTS["docs/cli.md"]
        rows = set(re.findall(r"^\| `([\w-]+)(?: [^`]*)?` \|", page.partition("## ")[0], re.M))
        self.assertEqual(commands - rows, {"completion", "man"})
        self.assertEqual(rows - commands, set())
        for name, text in TEXTS.items():
            with self.subTest(name):
                commands_in_blocks = "\n".join(block.text for block in pages.blocks(name, text) if block.language in ("sh", "console"))
                spoken = set(re.findall(r"`openaclnn ([a-z][\w-]*)", text)) | set(re.findall(r"^(?:\$ )?openaclnn ([a-z][\w-]*)",
                                                                                             commands_in_blocks, re.M))
                self.assertEqual(spoken - commands, set())

    def test_acceptance_rules(self):
        told = subprocess.run([BUILD / "bin" / "openaclnn", "judge", "--list-rules", "--json"], capture_output=True, text=True, check=True)
        rules, page = json.loads(told.stdout), TEXTS["docs/rules.md"]
        self.assertEqual(wrong_rules(page, rules), [])
        self.assertEqual(wrong_rules(page.replace("### quick\n", "### quicker\n"), rules), ["quick has no section", "there is no rule quicker"])
        self.assertEqual(wrong_rules(page.replace("| [binary](#binary) ", "| binary "), rules), ["binary has no row"])
        self.assertEqual(wrong_rules(page.replace("| equal bits |", "| equal |"), rules), ["the row of bitwise differs from the program's"])
        self.assertEqual(wrong_rules(page.replace("Source: KernelBench", "Source: a paper"), rules), ["the section of kernelbench has another source"])

    def test_causes_of_the_judge(self):
        sources = [*ROOT.glob("src/judge/causes*.cc"), *ROOT.glob("src/ops/**/verify/faults.h"), *ROOT.glob("src/ops/**/verify/window_reading.h")]
        known = {name for path in sources for name in re.findall(r'"((?:[a-z0-9]+-)+[a-z0-9]+)"', path.read_text())} | {"truncated"}
        table = TEXTS["docs/judge.md"].partition("| Operators | Causes |")[2].partition("\n\n")[0]
        self.assertEqual(set(re.findall(r"`([\w-]+)`", table)), known)

    def test_every_operator_is_listed(self):
        self.assertEqual([room for room in rooms(ROOT) if f"({page_of(room)})" not in TEXTS["README.md"]], [])

    def test_pages_and_pictures_show_the_figures_of_the_run_that_they_name(self):
        told = subprocess.run([sys.executable, "-B", ROOT / "bench" / "publish.py", "--check"], capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_pictures_are_shown_and_there(self):
        """Pages show every picture of docs/images, and no other."""
        there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "images").iterdir()}
        self.assertEqual(pictures_of(TEXTS), there)
        self.assertEqual(pictures_of({"docs/a.md": "![x](images/b.svg)", "c.md": "[y](docs/images/d.svg)"}), {"docs/images/b.svg"})

    def test_every_page_is_listed(self):
        missing = [page for page in TEXTS if page.startswith("docs/") and page != "docs/index.md" and
                   f"({pathlib.Path(page).name})" not in TEXTS["docs/index.md"]]
        self.assertEqual(missing, [])

    def test_codes_on_pages_exist(self):
        known = matches(["include"], {".h"}, r"\b([1-5]\d{5})\b") | matches(["src/base"], {"codes.cc"}, r"\{([1-5]\d{5}), \"")
        for page, text in TEXTS.items():
            text = re.sub(r"^\w+ out  .*$", "", text, flags=re.M)  # figures of `openaclnn check`, which may look like codes
            spoken = re.findall(r"\b(?:161|361|561|107|207|507)[01]\d\d\b|\b507899\b", text)
            with self.subTest(page):
                self.assertEqual(set(spoken) - known, set())

    def test_python_functions_on_pages_exist(self):
        stub = (ROOT / "python/openaclnn/__init__.pyi").read_text()
        known = set(re.findall(r"^def (\w+)|^from openaclnn\S* import \w+ as (\w+)", stub, re.M))
        known = {name for names in known for name in names} | {"__version__"}
        modules = {path.stem if path.name != "__init__.py" else path.parent.name for path in (ROOT / "python/openaclnn").glob("**/*.py")}
        for page, text in TEXTS.items():
            with self.subTest(page):
                spoken = set(re.findall(r"`openaclnn\.([a-zA-Z]\w+)", text))
                self.assertEqual(spoken - known - modules - {"h"}, set())


if __name__ == "__main__":
    unittest.main(verbosity=1)
