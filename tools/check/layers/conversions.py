"""Every conversion between 16 and 32 bits is right for every bit pattern and every instruction set.

conversions_test widens all 2^16 patterns of both formats and narrows all 2^32 floats with each instruction set. It does not use a second conversion:
the expected results are the borders between neighbouring values, computed in double precision from the definition of the formats. --fast tries every
17th block of 2^18 floats and a million floats where rounding decides; --deep tries all six ways to store.
A finding names the instruction set. OPENACLNN_TEST_EVERY=1 build/release/bin/conversions_test repeats it; nothing is random.
Limits: one machine's conversion instructions; those of Arm are in bits_arm64.
"""
import re

from workshop import Result

GOAL = "0 mismatches over 2^32 floats to each format with each instruction set (1 of 17 blocks with --fast)"
FAST = True
LINE = re.compile(r"^narrowed (\w+) (\d+) patterns, (\d+) mismatches$", re.M)


def run(workshop):
    workshop.build("release", "conversions_test")
    every, ways = workshop.pick((17, 1), (1, 1), (1, 6))
    output = workshop.run([workshop.program("release", "conversions_test")], seconds=workshop.pick(120, 300, 3600),
                          env={"OPENACLNN_TEST_EVERY": str(every), "OPENACLNN_TEST_WAYS": str(ways)})
    rows = LINE.findall(output.text)
    wrong = sum(int(mismatches) for _, _, mismatches in rows)
    least = 2 * ways * 2**32 // every
    names = ", ".join(name for name, _, _ in rows)
    total = sum(int(patterns) for _, patterns, _ in rows)
    enough = bool(rows) and all(int(patterns) >= least for _, patterns, _ in rows)
    return Result(f"{wrong} mismatches in {total:.1e} narrowings ({names}) and all widenings", met=wrong == 0 and enough)
