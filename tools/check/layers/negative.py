"""Every mistake of every parameter of every operator returns the specified code and error message.

The schema of a room (tests/schema.h) describes a valid call and says what phase 1 rejects. negative_test makes the table of (parameter x mistake) from
it: NULL, destroyed and foreign handles, all dtypes and formats, ranks 0 to 9, extents, strides, offsets and attributes at the borders of 32 and 64
bits, lengths, layouts, outputs that overlap themselves, and the mistakes that the room lists. Then the rooms' own tests run the mistakes of phase 2
(executor, stream, workspace, addresses, aliasing) and all pairs of mistakes. A failure names function, parameter and mistake.
"""
import re

from layers.siblings import read_rooms
from workshop import Result

GOAL = "100 % of at least 9,000 cells, at least 20,000 pairs of mistakes in order"
FAST = True


def run(workshop):
    programs = sorted(f"{room}_test" for room in read_rooms(workshop.root))
    workshop.build("release", "negative_test", *programs)
    table = workshop.run([workshop.program("release", "negative_test")], seconds=120, accept=(0, 1))
    if table.status:
        print(table.text[-6000:])
    pairs = 0
    for program in programs:
        output = workshop.run([workshop.program("release", program), "--gtest_filter=*Phase1*:*Phase2*"], seconds=120)
        pairs += sum(int(count) for count in re.findall(r"(\d+) pairs", output.text))
    figures = table.figures()
    cells, refused, asserted = (int(figures.get(name, 0)) for name in ("cells", "refused", "asserted"))
    met = table.status == 0 and cells >= 9000 and asserted == cells and 2 * refused > cells and pairs >= 20000
    return Result(f"{asserted} of {cells} cells ({refused} refusals), {pairs} pairs of mistakes", met)
