"""The built library is hardened against errors of its own, needs and exports only what it should, and says what it is made of.

tools/check_hardening inspects the file: segments, relocations, imports, exports, machine code. tools/tests/test_hardening.py shows that it rejects
libraries that lack any one protection. tools/sbom writes build/release/openaclnn.spdx.json and checks it.
"""
from workshop import Result

GOAL = "0 faults under 13 rules; the bill of materials (SPDX) is complete"
FAST = True


def run(workshop):
    library = workshop.build("release", "openaclnn") / "lib" / "libopenaclnn.so"
    golden = workshop.root / "tests" / "abi" / "exported_symbols.txt"
    output = workshop.run([workshop.root / "tools" / "check_hardening", library, golden], seconds=120, accept=(0, 1))
    figures = output.figures()
    if figures["faults"]:
        print(output.text)
    bill = library.parent.parent / "openaclnn.spdx.json"
    workshop.run([workshop.root / "tools" / "sbom", library, bill], seconds=60)
    # On AArch64 one rule less can be read from machine code.
    met = figures["faults"] == 0 and figures["rules"] >= 12
    return Result(f"{figures['faults']:.0f} faults under {figures['rules']:.0f} rules; bill of materials written", met)
