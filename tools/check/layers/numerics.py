"""Every result lies within the bounds that the operators' pages promise, against sums in long double.

numerics_test runs each operator and dtype on data that maximises errors, and compares every element with the promise of docs/numerics.md. The figure
counts the elements and names the largest share of a promise that any of them used.
The seed is fixed, so a finding repeats with build/release/bin/numerics_test --gtest_filter=*<room>*; its message has the element.
A share of 100 % is a tie in the last rounding, where the promise is exactly half a unit.
Limits: cases outside the promise (overflow, subnormal factors) are counted as skipped, not judged.
"""
from workshop import Result

GOAL = "0 results out of bounds, ≥ 10^8 elements (10^7 with --fast)"
FAST = True


def run(workshop):
    workshop.build("release", "numerics_test")
    per_dtype = workshop.pick(500_000, 3_000_000, 100_000_000)
    output = workshop.run([workshop.program("release", "numerics_test")], seconds=workshop.pick(120, 600, 7200),
                          env={"OPENACLNN_TEST_ELEMENTS": str(per_dtype)})
    figures = output.figures()
    elements, failures = int(figures.get("elements", 0)), int(figures.get("failures", -1))
    figure = (f"{failures} out of bounds in {elements:.2e} elements, {int(figures.get('outputs', 0))} outputs by dtype, "
              f"worst {100 * figures.get('worst', 0):.0f} % of the promise")
    return Result(figure, met=failures == 0 and elements >= workshop.pick(10**7, 10**8, 10**9))
