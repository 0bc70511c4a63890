# Tests the list of public tests that are written again here: callers.md.
import ast
import pathlib

FOLDER = pathlib.Path(__file__).parent


def rows():
    """Returns (public file, public test, test here, result) of each row."""
    lines = (FOLDER / "callers.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [tuple(row) for row in cells if row[0] != "Public file" and set(row[0]) != {"-"}]


def test_every_test_exists():
    known = {}
    for public_file, public_test, here, _ in rows():
        file, _, name = here.partition("::")
        if file not in known:
            tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in known[file], f"{public_file} {public_test}: {here} does not exist"


def test_most_tests_pass():
    listed = rows()
    assert len({row[:2] for row in listed}) == len(listed), "a public test is listed twice"
    assert all(row[3] for row in listed)
    passing = sum(row[3] == "passes" for row in listed)
    print(f"{passing} of {len(listed)} public tests pass")
    assert len(listed) >= 60 and passing >= 55
