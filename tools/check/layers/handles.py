"""No forged, stale, foreign or twice destroyed handle is accepted by any exported function.

Every parameter of every exported function that takes a handle (or an address that is looked up) is a door of handles_test. A function of
tests/abi/exported_symbols.txt without a door fails. Each door gets random bits, bits of the right kind, live handles with one flipped bit of the
generation, live handles of other kinds, destroyed ones, small numbers and addresses. They come from four seeds that OPENACLNN_TEST_SEED moves.
OPENACLNN_TEST_VALUES sets their number.
"""
from workshop import Result

GOAL = "2^24 values (fast: 2^22), 0 accepted, every exported function has its door"
FAST = True


def run(workshop):
    values = workshop.pick(1 << 22, 1 << 24, 1 << 28)
    workshop.build("release", "handles_test")
    output = workshop.run([workshop.program("release", "handles_test")], seconds=workshop.pick(120, 300, 6000),
                          env={"OPENACLNN_TEST_VALUES": str(values)}, accept=(0, 1))
    figures = output.figures()
    tried, accepted, doors = (int(figures.get(name, 0)) for name in ("values", "accepted", "doors"))
    if output.status:
        print(output.text[-4000:])
    # A forged value that happens to be zero is NULL, which another test covers.
    enough = tried >= values * 0.999 and doors >= 100
    return Result(f"{tried} values through {doors} doors, {accepted} accepted", met=enough and accepted == 0 and output.status == 0)
