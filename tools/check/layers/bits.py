"""The same bits for every instruction set of this machine, number of threads and floating-point state of the caller.

bits_test runs every case of every room with scalar code, AVX2 and AVX-512, on 1, 2, 3 and 7 threads, while the caller rounds up, down
or toward zero or flushes subnormals. It compares one hash per case with the room's verify/golden_hashes.txt. Workers start under a hostile state,
which they inherit. With two threads every state is tried; without --fast, with every number of threads.
To repeat one run: OPENACLNN_ISA=avx2 OPENACLNN_NUM_THREADS=3 build/release/bin/bits_test --print-hashes states.
Limits: an instruction set that the machine lacks is not run, and the program says so. Other inputs belong to properties and fuzz.
"""
from workshop import Result

GOAL = "1 distinct hash per case, ≥ 200 cases, ≥ 28 settings each (≥ 73 without --fast)"
FAST = True


def run(workshop):
    workshop.build("release", "bits_test")
    output = workshop.run([workshop.program("release", "bits_test")], seconds=600,
                          env={"OPENACLNN_TEST_BITS": workshop.pick("some", "all", "all")})
    figures = output.figures()
    cases, runs, hashes = (int(figures.get(name, 0)) for name in ("cases", "runs", "hashes_per_case"))
    settings = runs / cases if cases else 0
    left_out = [line for line in output.text.splitlines() if line.startswith("[ NOT RUN")]
    figure = f"{hashes} distinct hash per case, {cases} cases × {settings:.0f} settings" + "".join(f"; {line}" for line in left_out)
    enough = settings >= workshop.pick(28, 73, 73) or bool(left_out)
    return Result(figure, met=hashes == 1 and cases >= 200 and enough)
