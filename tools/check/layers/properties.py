"""Random calls follow the formulas, and what must not change results changes no bit.

The program `properties` lets rapidcheck draw shapes, dtypes, strides, attributes and choices for some forty properties: every room's
random cases against its oracle, in other views and with a kept executor; permuted rows and indices, split batches, powers of two, adjoint
identities, sums in pieces, a list against single calls; and cases large enough to be shared, with 1, 3 and 8 threads. A case counts when
most of what it compared is finite and not zero; others are mistrusted, and more than 2 % of them fail the layer. A failing case is made
smaller and printed with the command that repeats it (--seed, --cases, --only). Limits: sizes are small, large ones have tests of their own.
"""
from concurrent.futures import ThreadPoolExecutor

from workshop import Result

GOAL = "0 failures in at least 2e5 cases (--fast: 3e4), at most 2 % mistrusted"
FAST = True


def run(workshop):
    workshop.build("release", "properties")
    seconds = workshop.pick(15, 58, 1200)
    program = workshop.program("release", "properties")

    def part(k):
        command = [program, "--seed", 1 + k * 1000000, "--seconds", seconds]
        # Two processes share the machine; the comparison of numbers of threads is made in processes of their own.
        return workshop.run(command, seconds=seconds + 240, accept=(0, 1), env={"OPENACLNN_NUM_THREADS": "1"})

    with ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(part, range(2)))
    for output in outputs:
        if output.status:
            print(output.text[-6000:])
    total = {name: int(sum(o.figures().get(name, 0) for o in outputs)) for name in ("cases", "mistrusted", "failures")}
    kinds = int(outputs[0].figures().get("properties", 0))
    figure = f"{total['failures']} failures in {total['cases']} cases of {kinds} properties, {total['mistrusted']} mistrusted"
    trusted = 50 * total["mistrusted"] <= total["cases"] + total["mistrusted"]
    met = total["failures"] == 0 and total["cases"] >= workshop.pick(30000, 200000, 2000000) and trusted
    return Result(figure, met and all(o.status == 0 for o in outputs))
