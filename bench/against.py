# Compares a run with an older one and distinguishes regressions from noise.
import math

import regimes
import summary

TOLERANCE = 0.05


def regression(old, new):
    """Returns the lost share of the old ratio if it is more than 5 % and more than both spreads together; otherwise 0."""
    lost = old.median - new.median
    if lost > TOLERANCE * old.median and lost > math.hypot(old.spread, new.spread):
        return lost / old.median
    return 0.0


def common_regime(old, new):
    """Returns the regime of most rounds among those that both records saw; "any" if neither knows its regimes; None if they saw different ones."""
    shared = {name: min(summary.rounds_in(old, name), summary.rounds_in(new, name)) for name in (regimes.SLOW, regimes.FAST)}
    if any(shared.values()):
        return max(shared, key=shared.get)
    known = [set(record["regimes"]) & {regimes.SLOW, regimes.FAST} for record in (old, new)]
    return None if all(known) else regimes.ANY


def compare(old_records, new_records):
    """Returns the lines of the comparison and the number of regressions. It compares ratios to the reference in the same regime, never times."""
    old = {summary.key_of(record): record for record in old_records if "failed" not in record}
    lines, compared, regressions, other_regime = [], 0, 0, 0
    for record in new_records:
        key = summary.key_of(record)
        if key not in old or summary.ratio_to_reference(old[key]) is None:
            continue
        where = f"{key[0]}, {key[1]}, {key[2]} threads"
        regime = regimes.ANY if "failed" in record else common_regime(old[key], record)
        if regime is None:
            other_regime += 1
            continue
        before, after = (summary.ratio_to_reference(r, regime) for r in (old[key], record))
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
    if other_regime:
        lines.append(f"  {other_regime} ratios were measured in another regime, so they aren't compared")
    return [f"{compared} ratios compared, {regressions} regressions", *lines], regressions
