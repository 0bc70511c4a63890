"""The built library is hardened against its own errors, has only the allowed imports and exports, and has a bill of materials.

tools/check_hardening inspects the file: segments, relocations, imports, exports, machine code. tools/tests/test_hardening.py shows that it rejects
libraries that lack any one protection. The largest stack frame is that of the layer frames, which also tries small stacks. tools/sbom writes build/release/openaclnn.spdx.json and checks it.
"""
from layers.frames import LARGEST_FRAME, largest_frame
from workshop import Result

GOAL = f"0 faults under 14 rules; largest stack frame <= {LARGEST_FRAME} bytes; the bill of materials (SPDX) is complete"
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
    frame, _ = largest_frame(library.parent.parent)
    met = figures["faults"] == 0 and figures["rules"] >= 13 and 0 < frame <= LARGEST_FRAME
    return Result(f"{figures['faults']:.0f} faults under {figures['rules']:.0f} rules; largest stack frame {frame} bytes; bill of materials written", met)
