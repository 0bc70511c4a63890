# Draws the figure of README.md: each operator's worst and best workload, against the limit of memory and against the fastest peer.
import math

import svg

ROW, TOP, LEFT, WIDTH, HEIGHT_OF_BAR = 34, 74, 200, 900, 16
LIMIT_SCALE, PEERS_LEFT, PEERS_WIDTH = 190, 560, 180
TITLE = "Speed of the operators on a CPU, against the limit of memory and against PyTorch"


def dashed(x, bottom):
    return svg.line(x, TOP - 8, x, bottom, stroke_dasharray="4 3")


def of_limit(shares, y):
    """The dark bar ends at the worst workload, the light one at the best."""
    worst, best = shares[0].value, shares[-1].value
    return [svg.bar(LEFT, y, best * LIMIT_SCALE, HEIGHT_OF_BAR, svg.OURS, 0.35), svg.bar(LEFT, y, worst * LIMIT_SCALE, HEIGHT_OF_BAR, svg.OURS),
            svg.text(LEFT + max(best, 1) * LIMIT_SCALE + 8, y + 13, f"{worst:.2f} – {best:.2f}")]


def of_peers(factors, y, per_factor):
    worst, best = factors[0].value, factors[-1].value

    def width(value):
        return math.log(max(value, 1)) * per_factor

    return [svg.bar(PEERS_LEFT, y, max(width(best), 1), HEIGHT_OF_BAR, svg.OURS, 0.35), svg.bar(PEERS_LEFT, y, max(width(worst), 1), HEIGHT_OF_BAR, svg.OURS),
            svg.text(PEERS_LEFT + width(best) + 8, y + 13, f"{worst:.1f} – {best:.1f}×")]


def draw(run):
    """Returns the picture of a run."""
    shares, factors = run.shares(), run.factors()
    operators = [operator for operator in run.operators() if operator in shares]
    bottom = TOP + ROW * len(operators)
    per_factor = PEERS_WIDTH / math.log(max([2.0, *(f[-1].value for f in factors.values())]))
    parts = [svg.text(LEFT, 28, "Share of what memory allows", font_weight="bold"),
             svg.text(LEFT, 46, "dark: worst; light: best; dashed: loads and stores alone", fill=svg.FAINT, font_size="11"),
             svg.text(PEERS_LEFT, 28, "Times as fast as the fastest peer", font_weight="bold"),
             svg.text(PEERS_LEFT, 46, "dashed: equally fast; logarithmic", fill=svg.FAINT, font_size="11"),
             dashed(LEFT + LIMIT_SCALE, bottom), dashed(PEERS_LEFT, bottom)]
    for at, operator in enumerate(operators):
        y = TOP + ROW * at
        parts += [svg.text(LEFT - 12, y + 13, operator, text_anchor="end"), *of_limit(shares[operator], y)]
        parts += of_peers(factors[operator], y, per_factor) if operator in factors else [svg.text(PEERS_LEFT + 8, y + 13, "no peer", fill=svg.FAINT)]
    regimes = sorted({share.regime for found in shares.values() for share in found})
    parts.append(svg.text(20, bottom + 26, f"far beyond the caches, {run.threads()} threads, {run.isas()[0]}, {run.about['cpu']}, memory regime "
                          f"{' and '.join(regimes)}, {run.about['peers'] or 'no peers'}, {run.about['date'][:10]}{', provisional: busy machine' * run.provisional}", fill=svg.FAINT, font_size="11"))
    return svg.picture(WIDTH, bottom + 44, TITLE, run.name, parts)
