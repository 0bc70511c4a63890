#!/usr/bin/env python3
# Writes the figures of one kept run into the pages and pictures that show them.
"""usage: publish.py RESULT.json | --check

Pages hold blocks of the form

    <!-- bench KIND bench/results/RUN.json -->
    …
    <!-- /bench -->

publish.py RESULT.json makes every block anew from that run, and the pictures. --check only tests whether each block and picture is what its run
gives, and whether all blocks name the same run. Growth has a run of its own.
"""
import os
import pathlib
import re
import subprocess
import sys

import figures
import growth
import growth_svg
import machine
import report
import speed_svg

ROOT = machine.ROOT
BLOCK = re.compile(r"(?P<begin><!-- bench (?P<kind>\w+) )(?P<run>\S+)(?P<middle> -->\n)(?P<text>.*?)(?P<end><!-- /bench -->)", re.S)
IMAGES = pathlib.Path("docs/images")


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def table(heads, rows):
    return "\n".join([row(*heads), "|" + "---|" * len(heads), *(row(*cells) for cells in rows)]) + "\n"


def link(run, page):
    """Returns the path of the run's table, relative to the page."""
    return os.path.relpath(run.path.with_suffix(".md"), (ROOT / page).parent)


def operator_name(operator):
    return f"`aclnn{operator}`"


def share_text(share):
    return f"{share.value:.2f} ({share.label}, {share.regime})"


def factor_text(factor):
    return f"{factor.value:.2f}× {factor.peer} ({factor.label})"


def source_text(run, page):
    """Returns the text that names the run."""
    about = run.about
    lines = [f"[This run]({link(run, page)}) is from {about['date'][:10]}: {run.threads()} threads, {run.isas()[0]}, {about['cpu']}, "
             f"{about['cores']} cores."]
    if about.get("peers"):
        lines.append(f"Peers: {about['peers']}.")
    lines += [f"Memory {line}." for line in about.get("regimes", [])]
    if about.get("disturbed", 0) > 0.1:
        lines.append(f"Other programs held the cores in {about['disturbed']:.0%} of the measurements.")
    return "\n".join(lines) + "\n"


SPEED_HEADS = {"en": ["Operator", "Worst share", "Best share", "Against its fastest peer"], "zh": ["算子", "最差占比", "最好占比", "与最快同类的比较"]}


PROVISIONAL = {"en": "**Provisional:** other programs held the cores in {:.0%} of the measurements. They slow peers more than openaclnn.",
               "zh": "**临时数据：**{:.0%} 的测量中有其他程序占用处理器核，这对同类实现的拖累大于对 openaclnn 的拖累。"}


def language(page):
    return "zh" if page.name.endswith(".zh-CN.md") or "zh" in page.parts else "en"


def speed(run, page):
    """Worst beside best of each operator."""
    shares, factors = run.shares(), run.factors()
    to = " 至 " if language(page) == "zh" else " to "
    rows = []
    for operator in run.operators():
        if operator not in shares:
            continue
        found = factors.get(operator, [])
        against = to.join(dict.fromkeys(factor_text(factor) for factor in found[:1] + found[-1:]))
        rows.append([operator_name(operator), share_text(shares[operator][0]), share_text(shares[operator][-1]), against])
    busy = PROVISIONAL[language(page)].format(run.about.get("disturbed", 0)) + "\n\n" if run.provisional else ""
    return busy + table(SPEED_HEADS[language(page)], rows)


def source(run, page):
    return source_text(run, page)


def ratios(run, page):
    """Each workload far beyond the caches, in each dtype and regime."""
    cells = {}
    for operator, shares in run.shares().items():
        for share in shares:
            row_of = cells.setdefault((operator, share.workload["variant"]), {})
            row_of.setdefault(share.workload["dtype"], []).append(share)
    order = {operator: number for number, operator in enumerate(run.operators())}
    variants = {(r["workload"]["operator"], r["workload"]["variant"]): number for number, r in enumerate(run.records)}
    regimes = {share.regime for shares in run.shares().values() for share in shares}

    def cell(found):
        ordered = sorted(found, key=lambda share: share.regime, reverse=True)
        return ", ".join(f"{share.value:.2f}" + (f" {share.regime}" if len(regimes) > 1 else "") for share in ordered)

    rows = [[f"{operator} {variant}".strip(), *(cell(found.get(dtype, [])) for dtype in figures.DTYPES)]
            for (operator, variant), found in sorted(cells.items(), key=lambda item: (order[item[0][0]], variants[item[0]]))]
    return table(["Workload", *figures.DTYPES.values()], rows)


def one_thread(run, page):
    """Worst beside best with one thread, for each instruction set."""
    isas = run.isas()
    found = {isa: run.shares(isa, 1) for isa in isas}

    def cell(shares):
        texts = dict.fromkeys(f"{share.value:.2f} ({share.label})" for share in shares[:1] + shares[-1:])
        return " to ".join(texts)

    rows = [[operator_name(operator), *(cell(found[isa].get(operator, [])) for isa in isas)] for operator in run.operators()
            if any(operator in found[isa] for isa in isas)]
    return table(["Operator", *isas], rows)


def peers(run, page):
    """Each measured workload against its fastest peer."""
    rows = [[f"{operator} {factor.label}", factor.peer, f"{factor.value:.2f}", f"{factor.of_reference:.2f}" if factor.of_reference else ""]
            for operator, factors in run.factors().items() for factor in factors]
    return table(["Workload", "Fastest peer", "openaclnn is × as fast", "Peer's share of the reference"], rows)


def tiny(run, page):
    """The time of a call that does nearly nothing."""
    names = {"two_phases_sync": "both phases and the wait", "phase1": "phase 1 alone, and the destruction of its executor"}
    return table(["A call on four elements", "Threads of the process", "Time"],
                 [[names[size], str(threads), report.time_text(seconds)] for size, threads, seconds in reversed(run.tiny_calls()) if size in names])


def goals(run, page):
    """Every goal with its verdict."""
    judged = [goal for goal in run.goals if goal["status"] != "skipped"]
    met = sum(goal["status"] == "met" for goal in judged)
    at_limit = sum(goal["limit"].startswith("limit:") for goal in judged)
    rows = []
    for goal in run.goals:
        number = report.time_text if goal["measure"] == "seconds" else "{:.2f}".format
        measured = number(goal["measured"]) if goal["measured"] is not None else ""
        outcome = "met" if goal["status"] == "met" else f"**{goal['status']}**" if goal["status"] != "skipped" else "skipped"
        where = "; ".join(part for part in (goal["workload"], goal["peer"], goal["limit"], goal["reason"]) if part)
        rows.append([goal["goal"], f"{measured}, wanted {'≤' if goal['at_most'] else '≥'} {number(goal['bound'])}".lstrip(", "),
                     f"{outcome} ({goal['rounds']})" if goal["rounds"] else outcome, where if goal["status"] != "met" else goal["workload"]])
    counts = (f"**{met} of {len(judged)} goals are met.** {at_limit} of the misses are at a measured limit. "
              f"{len(run.goals) - len(judged)} rows were skipped.\n\n")
    latency = f"\n```text\n{run.about['latency']}\n```\n" if "latency" in run.about else ""
    return counts + table(["Goal", "Measured", "Verdict (rounds)", "Worst workload, limit, reason"], rows) + latency


def met(run, page):
    """One sentence about the goals."""
    judged = [goal for goal in run.goals if goal["status"] != "skipped"]
    return f"{sum(goal['status'] == 'met' for goal in judged)} of {len(judged)} goals are met.\n"


def growing(run, page):
    """From where to where the cost was measured, and whether it jumps."""
    rows = []
    for (operator, dtype), points in growth.series(run.records).items():
        first, last = points[0], points[-1]
        jumps = growth.jumps(points)
        rows.append([f"{operator} {dtype}, {growth.COUNTS[operator]}", f"{first[0]:,} to {last[0]:,}",
                     f"{report.time_text(growth.seconds_of(first[1]))} to {report.time_text(growth.seconds_of(last[1]))}",
                     "; ".join(f"at {count:,}: {before:.2f} to {after:.2f}" for count, before, after in jumps) or "none"])
    for label, curve in growth_svg.curves_of(run.records).get("threads", {}).items():
        rows.append([f"{label} f32, threads", f"{curve[0][0]} to {curve[-1][0]}", f"{report.time_text(curve[0][1])} to {report.time_text(curve[-1][1])}", ""])
    heads = ["What grows", "From, to", "Time of a call", "Jumps of the ratio beyond 1 MiB"]
    return source_text(run, page) + "\n" + table(heads, rows)


KINDS = {"run": (speed, source, ratios, one_thread, peers, tiny, goals, met), "growth": (growing,)}
RENDERERS = {function.__name__: (owner, function) for owner, functions in KINDS.items() for function in functions}


def pages():
    """Returns the pages that may have blocks."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "zh").glob("*.md"), *(ROOT / "bench").glob("*.md")]
    return sorted(path for path in found if BLOCK.search(path.read_text(encoding="utf-8")))


def with_blocks(page, text, runs):
    """Returns a page with the blocks of the given runs, {"run" or "growth": Run}; blocks of others stay."""
    def renewed(match):
        owner, function = RENDERERS[match["kind"]]
        if owner not in runs:
            return match[0]
        return f"{match['begin']}{runs[owner].name}{match['middle']}{function(runs[owner], page)}{match['end']}"

    return BLOCK.sub(renewed, text)


def pictures(runs):
    """Returns {file name: picture} of the given runs."""
    found = {}
    if "run" in runs:
        found["speed.svg"] = speed_svg.draw(runs["run"])
    if "growth" in runs:
        run = runs["growth"]
        found |= {f"growth_{what}.svg": growth_svg.draw(what, curves, run) for what, curves in growth_svg.curves_of(run.records).items()}
    return found


def translations(*arguments):
    return subprocess.run([sys.executable, "-B", str(ROOT / "tools" / "translations"), *arguments], capture_output=True, text=True, check=False)


def write(runs):
    """Writes pages and pictures; returns the files that changed. Hashes of translations are renewed if these were up to date."""
    current = translations().returncode == 0
    changed = []
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = with_blocks(path.relative_to(ROOT), old, runs)
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    for name, picture in pictures(runs).items():
        path = ROOT / IMAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != picture:
            path.write_text(picture, encoding="utf-8")
            changed.append(path)
    if current and ROOT / "README.md" in changed:
        translations("--renew", "README.md")
    return changed


def renew(path):
    """Writes the pages and the chart of a run of --publish."""
    return write({"run": figures.Run(path)})


def draw_growth(path):
    """Writes the pages and pictures of a run of --growth."""
    return write({"growth": figures.Run(path)})


def errors_in(page, text, loaded):
    """Returns error messages about the blocks of a page. `loaded` collects {owner: Run}."""
    found = []
    for match in BLOCK.finditer(text):
        if match["kind"] not in RENDERERS:
            found.append(f"{page}: there is no block of kind {match['kind']}")
            continue
        owner, function = RENDERERS[match["kind"]]
        try:
            loaded.setdefault(owner, None)
            loaded[owner] = loaded[owner] or figures.Run(match["run"])
        except (OSError, ValueError) as error:
            found.append(f"{page}: block {match['kind']}: {error}")
            continue
        if loaded[owner].name != match["run"]:
            found.append(f"{page}: block {match['kind']} names {match['run']}, others {loaded[owner].name}")
        elif function(loaded[owner], page) != match["text"]:
            found.append(f"{page}: block {match['kind']} isn't what {match['run']} gives; bench/publish.py {match['run']} renews it")
    return found


def check():
    """Returns error messages about blocks and pictures."""
    loaded, found = {}, []
    for path in pages():
        found += errors_in(path.relative_to(ROOT), path.read_text(encoding="utf-8"), loaded)
    for name, picture in pictures({owner: run for owner, run in loaded.items() if run}).items():
        path = ROOT / IMAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != picture:
            found.append(f"{IMAGES / name} isn't what its run gives")
    return found


def main(arguments):
    if len(arguments) != 1 or (arguments[0].startswith("-") and arguments != ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if arguments == ["--check"]:
        found = check()
        print("\n".join(found))
        return 1 if found else 0
    run = figures.Run(pathlib.Path(arguments[0]).resolve())
    write({"run" if run.goals else "growth": run})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
