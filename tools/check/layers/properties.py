"""Random calls follow the formulas, and changes that must not matter leave every bit unchanged.

In the program `properties`, rapidcheck draws shapes, dtypes, strides, attributes and choices for some forty properties: every room's random cases
against its oracle, in other views and with a kept executor; permuted rows and indices, split batches, powers of two, adjoint identities, sums in
pieces, a list against single calls; and cases large enough to be shared, with 1, 3 and 8 threads. A case counts if most of the compared results are
finite and nonzero. Other cases prove little, and more than 2 % of them fail the layer. A failing case is shrunk and printed with the command that
repeats it (--seed, --cases, --only).
Limits: sizes are small; large ones have their own tests.
"""
from workshop import Result

GOAL = "0 failures in at least 2e5 cases (--fast: 3e4), at most 2 % mistrusted"
FAST = True


def run(workshop):
    workshop.build("release", "properties")
    seconds = workshop.pick(15, 58, 1200)
    program = workshop.program("release", "properties")

    shares = [[program, "--seed", 1 + k * 1000000, "--seconds", seconds] for k in range(2)]
    # Two processes share the machine. The comparison of thread counts runs in separate processes.
    total, passed = workshop.run_shares(shares, seconds + 240, env={"OPENACLNN_NUM_THREADS": "1"})
    kinds = total["properties"] // len(shares)  # each has all of them
    figure = f"{total['failures']} failures in {total['cases']:,} cases of {kinds} properties, {total['mistrusted']:,} skipped because their results are mostly zero or not finite"
    trusted = 50 * total["mistrusted"] <= total["cases"] + total["mistrusted"]
    met = total["failures"] == 0 and total["cases"] >= workshop.pick(30000, 200000, 2000000) and trusted
    return Result(figure, met and passed)
