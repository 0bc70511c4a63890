# Draws the speed of each workload below that of its reference traffic, one panel for each operator.
"""Bars are openaclnn, the black marks above them the reference. Circles are the fastest peer. Workloads in memory and workloads in caches have
separate columns, because their speeds differ several times.
"""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

import machine  # noqa: E402
import summary  # noqa: E402

COLOURS = {"f32": "#4477aa", "f16": "#ccbb44", "bf16": "#ee6677"}


def rate(record, contestant):
    return record["workload"]["bytes"] / contestant["seconds"]["median"] / 1e9


def drawable(records):
    """Returns the records with traffic, of the best configuration: the first instruction set, most threads."""
    usable = [r for r in records if "failed" not in r and r["workload"]["bytes"] > 0]
    if not usable:
        return [], ""
    isa, threads = usable[0]["isa"], max(r["threads"] for r in usable)
    return ([r for r in usable if (r["isa"], r["threads"]) == (isa, threads)], f"{isa}, {threads} threads")


def label(workload):
    """Returns the label that distinguishes a workload from its neighbours in a panel."""
    place = [] if workload["size"] == "memory" else [workload["size"]]
    return " ".join([workload["dtype"], *place, workload["variant"]]).strip()


def draw_panel(axes, records, title):
    """Bars of one operator, top to bottom in the order of the records."""
    for place, record in enumerate(records):
        colour = COLOURS.get(record["workload"]["dtype"], "#777777")
        axes.barh(place, rate(record, summary.ours_of(record)), height=0.7, color=colour)
        for reference in summary.contestants_of(record, "reference"):
            speed = rate(record, reference)
            axes.plot([speed, speed], [place - 0.42, place + 0.42], color="black", linewidth=2)
        peer = summary.fastest_peer(record)
        if peer is not None:
            axes.plot(rate(record, peer), place, "o", markerfacecolor="white", markeredgecolor="black", markersize=4)
    axes.set_yticks(range(len(records)), [label(r["workload"]) for r in records], fontsize=7)
    axes.set_ylim(len(records) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("GB/s of the fewest bytes a call must move", fontsize=7)


def draw(path, about, records):
    """Writes the figure."""
    records, configuration = drawable(records)
    if not records:
        raise ValueError("no workload with traffic was measured, so there is nothing to draw")
    operators = list(dict.fromkeys(r["workload"]["operator"] for r in records))
    panels = [[[r for r in records if r["workload"]["operator"] == operator and (r["workload"]["size"] == "memory") == big]
               for big in (True, False)] for operator in operators]
    heights = [max(len(group) for group in row) * 0.17 + 0.8 for row in panels]
    figure, grid = plt.subplots(len(operators), 2, figsize=(12, sum(heights) + 1.2), squeeze=False,
                                gridspec_kw={"height_ratios": heights}, layout="constrained")
    for axes_row, row, operator in zip(grid, panels, operators):
        for axes, group, where in zip(axes_row, row, ("in memory", "in caches")):
            if group:
                draw_panel(axes, group, f"{operator}, {where}")
            else:
                axes.set_axis_off()
    title = f"{configuration}: bars openaclnn, black marks the reference traffic, circles the fastest PyTorch"
    figure.suptitle("\n".join([title, *machine.header_lines(about)]), fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
