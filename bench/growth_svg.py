# Draws how the time of a call grows: one picture each for elements, indices, groups and threads.
import math

import growth
import report
import summary
import svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 700, 340, 80, 200, 50, 50
COLOURS = ["#2f6f9f", "#c0504d", "#4f8f4f", "#8064a2", "#c88a2a"]


def powers(low, high, base=10):
    """Returns the powers of the base in [low, high]."""
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    return [base ** k for k in range(first, last + 1)]


def ticks(low, high):
    """Returns powers of ten in the range, and their multiples by 2 and 5 if it is small."""
    factors = (1, 2, 5) if high / low < 100 else (1,)
    return [power * factor for power in powers(low / 10, high) for factor in factors if low <= power * factor <= high]


def reference_seconds(record):
    found = summary.contestants_of(record, "reference")
    return found[0]["seconds"]["median"] if found else None


def curves_of(records):
    """Returns {what grows: {label: [(count, seconds, seconds of the reference)]}}."""
    found = {}
    for (operator, dtype), points in growth.series(records).items():
        curve = [(count, growth.seconds_of(record), reference_seconds(record)) for count, record in points]
        found.setdefault(growth.COUNTS[operator], {})[f"{operator} {dtype}"] = curve
    threads = {}
    for record in records:
        if "failed" not in record and record["workload"]["size"] != growth.SIZE:
            threads.setdefault(record["workload"]["operator"], []).append((record["threads"], growth.seconds_of(record), reference_seconds(record)))
    if threads:
        found["threads"] = {operator: sorted(curve) for operator, curve in threads.items()}
    return found


def draw(what, curves, run):
    """Returns the picture: logarithmic axes, ours solid, the reference traffic dashed."""
    points = [point for curve in curves.values() for point in curve]
    xs = [count for count, *_ in points]
    ys = [seconds for _, ours, reference in points for seconds in (ours, reference) if seconds]
    low, high = min(ys) / 1.3, max(ys) * 1.3
    plot_width, plot_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x_of(count):
        return LEFT + plot_width * (math.log(count / min(xs)) / math.log(max(xs) / min(xs)) if max(xs) > min(xs) else 0.5)

    def y_of(seconds):
        return TOP + plot_height * (1 - math.log(seconds / low) / math.log(high / low))

    parts = [svg.text(LEFT, 22, f"Time of a call against {what}", font_weight="bold"),
             svg.text(LEFT, 38, "solid: openaclnn; dashed: loads and stores alone; both axes logarithmic", fill=svg.FAINT, font_size="11")]
    for seconds in ticks(low, high):
        parts += [svg.line(LEFT, y_of(seconds), LEFT + plot_width, y_of(seconds), stroke="#e4e4e4"),
                  svg.text(LEFT - 8, y_of(seconds) + 4, report.time_text(seconds), text_anchor="end", font_size="11")]
    for count in (sorted(set(xs)) if what == "threads" else powers(min(xs), max(xs))):
        parts += [svg.line(x_of(count), TOP, x_of(count), TOP + plot_height, stroke="#e4e4e4"),
                  svg.text(x_of(count), TOP + plot_height + 18, f"{count:,}" if count < 10_000 else f"10^{round(math.log10(count))}", text_anchor="middle",
                           font_size="11")]
    for number, (label, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(svg.path([(x_of(count), y_of(reference)) for count, _, reference in curve if reference], colour, stroke_dasharray="4 3", opacity="0.6"))
        parts.append(svg.path([(x_of(count), y_of(ours)) for count, ours, _ in curve], colour, stroke_width="2"))
        parts += [svg.line(WIDTH - RIGHT + 10, TOP + 12 + 18 * number, WIDTH - RIGHT + 24, TOP + 12 + 18 * number, stroke=colour, stroke_width="2"),
                  svg.text(WIDTH - RIGHT + 28, TOP + 16 + 18 * number, label, font_size="10")]
    parts.append(svg.text(LEFT, HEIGHT - 10, f"{run.about['cpu']}, {run.isas()[0]}, {run.threads()} threads" * (what != "threads")
                          + f"{run.about['cpu']}, {run.isas()[0]}" * (what == "threads") + f", {run.about['date'][:10]}", fill=svg.FAINT, font_size="11"))
    return svg.picture(WIDTH, HEIGHT, f"Time of a call against {what}", run.name, parts)
