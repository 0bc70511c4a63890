"""The table of a run of ./dev check: for the terminal, between two marks in docs/reliability.md, and the log of deep runs."""
import datetime
import pathlib
import platform
import re
import subprocess

BEGIN, END = "<!-- figures: written by ./dev check --save -->\n", "<!-- end of figures -->\n"
COLUMNS = ("layer", "figure", "goal", "verdict")


def with_separators(text):
    """Returns the text with commas in its numbers of five and more digits."""
    return re.sub(r"(?<![\w.,:/#+^-])\d{5,}(?![\w^-]|[.,:]\w)", lambda number: f"{int(number[0]):,}", text)


def cells(row):
    return row["layer"], with_separators(row["figure"]), row["goal"], "met" if row["met"] else "MISSED"


def print_table(rows):
    table = [COLUMNS] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    print()
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    missed = sum(not row["met"] for row in rows)
    print(f"\n{len(rows) - missed} of {len(rows)} layers hold, {sum(row['seconds'] for row in rows):.0f} s")


def commit_of(root):
    command = ["git", "-C", str(root), "-c", "safe.directory=*", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "no commit"


def write_document(path: pathlib.Path, rows):
    """Replaces the rows of the layers that ran; other rows keep their dates."""
    text = path.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    kept = {line.split("**")[1]: line for line in old.splitlines() if line.startswith("| **")}
    stamp = f"{datetime.date.today()}, {commit_of(path.parent)}, {platform.machine()}"
    for row in rows:
        layer, figure, goal, verdict = cells(row)
        kept[layer] = f"| **{layer}**: {row['proves']} | {figure} | {goal} | {verdict}, {stamp} |"
    from layers import NAMES
    lines = ["| Layer and what it proves | Figure | Goal | Verdict, date, commit, machine |", "|---|---|---|---|"]
    lines += [kept[name] for name in NAMES if name in kept]
    path.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


def append_deep_run(path: pathlib.Path, row):
    """Adds a row to the log's table, which is the end of the page."""
    run = f"{datetime.date.today()}, {commit_of(path.parent)}, {platform.machine()}, {row['seconds'] / 60:.0f} min"
    with path.open("a") as log:
        log.write(f"| {run} | {row['layer']} | {with_separators(row['figure'])} | {'met' if row['met'] else 'MISSED'} |\n")
