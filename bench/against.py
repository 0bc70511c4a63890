# Compares a run with an older one and distinguishes regressions from noise.
import math

import summary

TOLERANCE = 0.05


def regression(old, new):
    """Returns the lost share of the old ratio if it is more than 5 % and more than both spreads together; otherwise 0."""
    lost = old.median - new.median
    if lost > TOLERANCE * old.median and lost > math.hypot(old.spread, new.spread):
        return lost / old.median
    return 0.0


def compare(old_records, new_records):
    """Returns the lines of the comparison and the number of regressions. It compares ratios to the reference, never times."""
    old = {summary.key_of(record): record for record in old_records if "failed" not in record}
    lines, compared, regressions = [], 0, 0
    for record in new_records:
        key = summary.key_of(record)
        before = summary.ratio_to_reference(old[key]) if key in old else None
        if before is None:
            continue
        where = f"{key[0]}, {key[1]}, {key[2]} threads"
        after = summary.ratio_to_reference(record)
        if after is None:
            regressions += 1
            lines.append(f"  {where}: has no ratio any more")
            continue
        compared += 1
        lost = regression(before, after)
        if lost:
            regressions += 1
            lines.append(f"  {where}: {after.median:.2f} [{after.q1:.2f} {after.q3:.2f}] was "
                         f"{before.median:.2f} [{before.q1:.2f} {before.q3:.2f}], {lost:.0%} slower")
    return [f"{compared} ratios compared, {regressions} regressions", *lines], regressions
