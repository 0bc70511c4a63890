#!/usr/bin/env python3
# Draws the figure of README.md from the results in bench/results: speed against the limit of memory, and against PyTorch.
"""usage: speed_svg.py [--check]

Writes docs/images/speed.svg; --check only tests whether the file matches the results. The left figure of an operator is the ratio to reference
traffic from the table of memory workloads. The right one is the speed-up over the fastest peer from the table of goals. Both are for FLOAT and the
workload that the table of goals names.
"""
import json
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATIOS = ROOT / "bench" / "results" / "2026-11-21-memory-zen5-2vcpu.json"
GOALS = ROOT / "bench" / "results" / "2026-11-21-goals-pytorch-zen5-2vcpu.md"
PICTURE = ROOT / "docs" / "images" / "speed.svg"
OURS, INK, FAINT = "#2f6f9f", "#222222", "#8a8a8a"
ROW, TOP, LEFT, WIDTH, HEIGHT_OF_BAR = 34, 74, 200, 900, 16
LIMIT_SCALE, PEERS_LEFT, PEERS_WIDTH = 170, 538, 150
ROW_OF_GOALS = re.compile(r"^(?P<operator>\w+), .*speed-up over .*?\s{2,}(?P<times>[\d.]+)\s+>=.*?(?:met|missed)\s+"
                          r"(?P<workload>\S+/f32/memory\S*): (?P<peer>.+)$")


def ratios():
    """{workload: ratio to the reference} with two threads."""
    records = json.loads(RATIOS.read_text(encoding="utf-8"))["records"]
    return {record["workload"]["name"]: contestant["ratio"]["median"] for record in records for contestant in record["contestants"]
            if contestant["kind"] == "reference" and (record["isa"], record["threads"]) == ("avx512", 2)}


def figures():
    """Returns (operator, ratio to the reference, times as fast as the peer, peer): the fastest peer of each operator."""
    best, known = {}, ratios()
    for line in GOALS.read_text(encoding="utf-8").splitlines():
        match = ROW_OF_GOALS.match(line)
        if match and match["workload"] in known:
            row = (match["operator"], known[match["workload"]], float(match["times"]), match["peer"])
            if match["operator"] not in best or row[2] < best[match["operator"]][2]:
                best[match["operator"]] = row
    return list(best.values())


def text(x, y, what, **style):
    given = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(what)}</text>'


def bar(x, y, width):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{HEIGHT_OF_BAR}" fill="{OURS}"/>'


def line(x, bottom):
    return f'<line x1="{x:g}" x2="{x:g}" y1="{TOP - 8}" y2="{bottom:g}" stroke="{INK}" stroke-dasharray="4 3"/>'


def draw(rows):
    highest = max(row[2] for row in rows)
    bottom = TOP + ROW * len(rows)
    per_factor = PEERS_WIDTH / math.log(highest)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" font-family="sans-serif" font-size="13" '
             f'fill="{INK}">', '<title>Speed of the operators on a CPU, against the limit of memory and against PyTorch</title>',
             f'<rect width="{WIDTH}" height="{bottom + 44}" fill="#ffffff"/>',
             text(LEFT, 28, "Share of what memory allows", font_weight="bold"),
             text(LEFT, 46, "dashed: plain loads and stores of the same bytes", fill=FAINT),
             text(PEERS_LEFT, 28, "Times as fast as PyTorch 2.15's fastest way", font_weight="bold"),
             text(PEERS_LEFT, 46, "dashed: equally fast; logarithmic", fill=FAINT),
             line(LEFT + LIMIT_SCALE, bottom), line(PEERS_LEFT, bottom)]
    for at, (operator, ratio, times, peer) in enumerate(rows):
        y = TOP + ROW * at
        parts += [text(LEFT - 12, y + 13, operator, text_anchor="end"),
                  bar(LEFT, y, ratio * LIMIT_SCALE), text(LEFT + 8, y + 13, f"{ratio:.2f}", fill="#ffffff"),
                  bar(PEERS_LEFT, y, max(math.log(times) * per_factor, 1)),
                  text(PEERS_LEFT + math.log(times) * per_factor + 8, y + 13, f"{times:.1f}× {peer}")]
    parts.append(text(LEFT, bottom + 26, "FLOAT, far beyond the caches; two threads, AVX-512, AMD Zen 5, a shared virtual machine, 2026-11-21",
                      fill=FAINT))
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    made = draw(figures())
    if arguments:
        if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == made:
            return 0
        print("docs/images/speed.svg is not what bench/results gives; bench/speed_svg.py draws it again")
        return 1
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
