# Writes the measurements: a table to read, JSON for --against and goals, CSV for other programs, Markdown for results/.
import csv
import json

import machine
import regimes
import summary

FORMAT = 2  # of the JSON file


def time_text(seconds):
    """Returns three digits and a suitable unit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def rate(bytes_per_second):
    return f"{bytes_per_second / 1e9:.1f}"


def rate_text(size, seconds):
    """Returns GB/s of the least bytes that a call must move."""
    return f"{size / seconds / 1e9:.1f}" if size else ""


def range_text(ratio, digits=2):
    return f"[{ratio['q1']:.{digits}f} {ratio['q3']:.{digits}f}]"


def regimes_text(record):
    """Returns the rounds of each regime and, if there were several, the ratio in each."""
    rounds, reference = record["regimes"], summary.contestants_of(record, "reference")[0]
    if len(set(rounds)) == 1:
        return regimes.counted(rounds)
    ratios = {name: summary.figure(reference, "ratio", name) for name in (regimes.SLOW, regimes.FAST)}
    return ", ".join([f"{name} {ratio:.2f} ({rounds.count(name)})" for name, ratio in ratios.items() if ratio]
                     + [f"{name} ({rounds.count(name)})" for name in (regimes.MIXED, regimes.UNKNOWN) if name in rounds])


def aligned(rows, right):
    """Rows of cells as lines; the columns whose number is in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def rows_of(record):
    """Returns the rows of one record: ours, then each peer, the fastest with a star."""
    name, isa, threads = summary.key_of(record)
    if "failed" in record:
        return [[f"  {name}", str(threads), isa, "failed", "", "", "", record["failed"]]]
    size = record["workload"]["bytes"]
    ours = summary.ours_of(record)["seconds"]["median"]
    row = [f"  {name}", str(threads), isa, time_text(ours), rate_text(size, ours)]
    reference = summary.contestants_of(record, "reference")
    if reference and "ratio" in reference[0]:
        ratio = reference[0]["ratio"]
        row += [rate_text(size, reference[0]["seconds"]["median"]), f"{ratio['median']:.2f}", f"{range_text(ratio)} {regimes_text(record)}"]
    else:
        row += ["", "", ""]
    rows = [row]
    fastest = summary.fastest_peer(record)
    for peer in summary.contestants_of(record, "peer"):
        star, seconds, ratio = "*" if peer is fastest else " ", peer["seconds"]["median"], peer["ratio"]
        comment = f"ours is {ratio['median']:.2f}x as fast {range_text(ratio)}"
        if peer.get("inexact"):
            comment += f"; its result is off by {peer['difference']:.1%}"
        rows.append([f"   {star}{peer['name']}", "", "", time_text(seconds), rate_text(size, seconds), "", "", comment])
    for skipped in record["skipped"]:
        rows.append([f"    {skipped['name']}", "", "", "skipped", "", "", "", skipped["reason"]])
    return rows


HEADS = ["", "threads", "isa", "time", "GB/s", "reference", "ratio", "quartiles, rounds of each regime"]


def table(records):
    """The lines of the table: one paragraph for each operator, in the order of the records."""
    operators = {}
    for record in records:
        operators.setdefault(record["workload"].get("operator", "failed"), []).append(record)
    rows, titles = [HEADS], {}
    for operator, group in operators.items():
        references = dict.fromkeys(r["workload"].get("reference", "") for r in group)
        titles[len(rows)] = operator + "".join(f"; reference: {text}" for text in references if text)
        rows += [row for record in group for row in rows_of(record)]
    lines = []
    for number, line in enumerate(aligned(rows, {1, 3, 4, 5, 6})):
        lines += ["", titles[number], line] if number in titles else [line]
    return ["", *lines]


def to_json(about, records, **more):
    return {"format": FORMAT, "machine": about, **more, "records": records}


def write_json(path, about, records, **more):
    """Writes one line for each record, so that a run is a file of moderate size whose changes can be read."""
    def line(value):
        return json.dumps(value, ensure_ascii=False)

    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n")
        for key, value in to_json(about, records, **more).items():
            if isinstance(value, list):
                file.write(f"{line(key)}: [\n" + ",\n".join(line(entry) for entry in value) + "\n]" + ("\n" if key == "records" else ",\n"))
            else:
                file.write(f"{line(key)}: {line(value)},\n")
        file.write("}\n")


def read_json(path):
    """Returns the records of a file that write_json wrote."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} isn't a result of ./dev bench --json in format {FORMAT}")
    return content["records"]


CSV_COLUMNS = ["date", "library", "cpu", "operator", "workload", "dtype", "size", "variant", "bytes", "isa", "threads",
               "contestant", "kind", "rounds", "seconds_median", "seconds_q1", "seconds_q3", "gigabytes_per_second",
               "ratio_median", "ratio_q1", "ratio_q3", "slow_rounds", "ratio_slow", "fast_rounds", "ratio_fast"]


def write_csv(path, about, records):
    """Writes one line for each contestant; its ratio is how many times longer than openaclnn it takes, paired by rounds."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for record in records:
            workload = record["workload"]
            for contestant in record.get("contestants", []):
                seconds, ratio = contestant["seconds"], contestant.get("ratio", {})
                writer.writerow(
                    [about["date"], about["library"], about["cpu"]]
                    + [workload[key] for key in ("operator", "name", "dtype", "size", "variant", "bytes")]
                    + [record["isa"], record["threads"], contestant["name"], contestant["kind"], contestant["rounds"]]
                    + [f"{seconds[key]:.4g}" for key in ("median", "q1", "q3")]
                    + [rate_text(workload["bytes"], seconds["median"])]
                    + [f"{ratio[key]:.4g}" if ratio else "" for key in ("median", "q1", "q3")]
                    + [cell for name in (regimes.SLOW, regimes.FAST) for cell in regime_cells(contestant["in"].get(name, {}))])


def regime_cells(figures):
    return [figures.get("rounds", 0), f"{figures['ratio']['median']:.4g}" if "ratio" in figures else ""]


def write_markdown(path, about, lines):
    """The header and lines of a report as a page."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("# Measured by `./dev bench`\n\n```text\n")
        file.write("\n".join(machine.header_lines(about) + lines))
        file.write("\n```\n")
