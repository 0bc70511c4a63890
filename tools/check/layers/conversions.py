"""Every conversion between 16 and 32 bits is right for every bit pattern and every instruction set; fused multiply-adds round once.

conversions_test widens all 2^16 patterns of both formats and narrows all 2^32 floats with each instruction set. It does not use a second conversion:
the expected results are the borders between neighbouring values, computed in double precision from the definition of the formats. --fast tries every
17th block of 2^18 floats and a million floats where rounding decides; --deep tries all six ways to store.
multiply_add_test compares the fused multiply-add of each instruction set, and the one in software, with exact arithmetic on integers: 10^8 random
triples (10^7 with --fast, 10^10 with --deep) of which most are ties, next to ties, subnormal, cancelling or overflowing.
A finding names the instruction set. OPENACLNN_TEST_EVERY=1 build/release/bin/conversions_test and
OPENACLNN_TEST_TRIPLES=1e8 build/release/bin/multiply_add_test repeat it; the seed is fixed.
Limits: one machine's conversion instructions; those of Arm are in bits_arm64.
"""
import re

from workshop import Result

GOAL = "0 mismatches over 2^32 floats to each format (1 of 17 blocks with --fast) and 10^8 products (10^7) with each instruction set"
FAST = True
LINE = re.compile(r"^narrowed (\w+) (\d+) patterns, (\d+) mismatches$", re.M)
PRODUCTS = re.compile(r"^added (\w+) (\d+) products, (\d+) mismatches$", re.M)


def run(workshop):
    workshop.build("release", "conversions_test", "multiply_add_test")
    every, ways = workshop.pick(17, 1, 1), workshop.pick(1, 1, 6)
    output = workshop.run([workshop.program("release", "conversions_test")], seconds=workshop.pick(120, 300, 3600),
                          env={"OPENACLNN_TEST_EVERY": str(every), "OPENACLNN_TEST_WAYS": str(ways)})
    rows = LINE.findall(output.text)
    wrong = sum(int(mismatches) for _, _, mismatches in rows)
    least = 2 * ways * 2**32 // every
    names = ", ".join(name for name, _, _ in rows)
    total = sum(int(patterns) for _, patterns, _ in rows)
    enough = bool(rows) and all(int(patterns) >= least for _, patterns, _ in rows)
    triples = workshop.pick(10**7, 10**8, 10**10)
    output = workshop.run([workshop.program("release", "multiply_add_test")], seconds=workshop.pick(120, 300, 7200),
                          env={"OPENACLNN_TEST_TRIPLES": str(triples)})
    products = PRODUCTS.findall(output.text)
    wrong += sum(int(mismatches) for _, _, mismatches in products)
    enough = enough and len(products) > len(rows) and all(int(count) >= triples for _, count, _ in products)
    added = sum(int(count) for _, count, _ in products)
    figure = f"{wrong} mismatches in {total:.1e} narrowings and {added:.1e} products ({names}), and all widenings"
    return Result(figure, met=wrong == 0 and enough)
