"""Reads hashes of cases from the output of programs and from the files of rooms."""


def hashes_of(text):
    """Returns {name of the case: hash} of lines "HASH NAME"."""
    pairs = (line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: value for value, name in pairs}


def golden_hashes(root, file="golden_hashes.txt"):
    """Returns {name of the case: hash} of the files with this name in the verify folders of all rooms."""
    found = {}
    for path in sorted((root / "src/ops").rglob(f"verify/{file}")):
        found.update(hashes_of(path.read_text()))
    return found
