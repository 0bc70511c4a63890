"""The same bits with AVX-512 on machines without it: the kernels' AVX-512 code in an emulated PC.

Boots Linux in Bochs, which emulates a processor with AVX-512 (Skylake-X), and runs bits_test --print-hashes there with three threads, half of the
cases in each of two PCs. The hashes must be those of the rooms' verify/golden_hashes.txt. Bochs 2.7 rounds 2^-25 to a FLOAT16 of 2^-24
instead of 0. So cases with other hashes run again with AVX2, whose kernels give the golden hashes on real processors: both must give the same.
build/avx512 keeps the PCs' files. To repeat: ./dev check bits_avx512.
Limits: it needs x86-64 and Debian's packages. Where a machine has AVX-512, the layer bits runs the same code on the real processor.
"""
import platform
from concurrent.futures import ThreadPoolExecutor

import emulated_pc
from golden import golden_hashes, hashes_of
from workshop import Failure, Result

GOAL = "every case has the golden hash, or that of AVX2 in the same PC"
FAST = False
PCS = 2


def hashes(workshop, isa, names):
    """Returns the hashes of the named cases with an instruction set, from PCs that share them."""
    def boot(pc):
        return run_bits(workshop.root / f"build/avx512/{isa}_{pc}", workshop.program("release", "bits_test"), isa, names[pc::PCS])

    with ThreadPoolExecutor(PCS) as pool:
        return {name: value for part in pool.map(boot, range(min(PCS, len(names)))) for name, value in part.items()}


def run(workshop):
    if platform.machine() != "x86_64":
        raise Failure(f"not proved here: the programs are for {platform.machine()}, not x86_64")
    workshop.setup("avx512")
    workshop.build("release", "bits_test")
    emulated_pc.kernel(workshop.root / "build/avx512/kernel")  # before the PCs, which start at the same time and would both download it
    golden = golden_hashes(workshop.root)
    found = hashes(workshop, "avx512", list(golden))
    return judged(golden, found, lambda names: hashes(workshop, "avx2", names))


def run_bits(folder, program, isa, names):
    cases = folder.with_suffix(".txt")
    cases.parent.mkdir(parents=True, exist_ok=True)
    cases.write_text("".join(f"{name}\n" for name in names))
    command = f"OPENACLNN_ISA={isa} OPENACLNN_NUM_THREADS=3 bits_test --print-hashes cases /bin/{cases.name}"
    output, code = emulated_pc.boot(folder, [program, cases], command, seconds=7200)
    if code or not output.startswith(f"# {isa}, 3 threads\n"):
        raise Failure(f"bits_test exited with {code}: {output[-400:]}")
    return hashes_of(output)


def judged(golden, found, run_with_avx2):
    others = [name for name, value in golden.items() if found.get(name) != value]
    again = run_with_avx2(others) if others else {}
    wrong = [name for name in others if name not in found or found[name] != again.get(name)]
    for name in wrong:
        print(f"   AVX-512 gives {found.get(name)} and AVX2 {again.get(name)} for {name}")
    figure = f"{len(golden) - len(wrong)} of {len(golden)} hashes equal, {len(others) - len(wrong)} of them only those of AVX2 in the same PC"
    return Result(figure, met=not wrong and len(golden) >= 200)
