"""Random calls, arguments and data lead to the specified codes and bits, under AddressSanitizer and UndefinedBehaviorSanitizer.

`./dev fuzz` runs three libFuzzer programs on all cores, in the modes report, silent and strict, with the vendor limits, and on each
instruction set: calls (sequences of API calls with live, dead and forged handles, against a model of objects, streams and
executors), arguments (phase 1 with spoilt arguments, against the schemas' model) and operators (ordinary, extreme and hostile data
in strided tensors of which only the elements may be touched, against the rooms' references). A finding is kept below
build/fuzz/found and its replay command printed. tests/fuzz/corpus holds the inputs to start from, and replays as an
ordinary test in the other presets. One run is one sequence of up to 24 calls, one phase 1, or two phases with their comparison: on
busy cores 60 to 200 microseconds with both sanitizers and the counters of coverage, so that three million take longer than 50 s.
"""
from workshop import Result

GOAL = "0 findings in at least 5000 sanitized runs per second (250000 in 50 s)"
FAST = True
RUNS_PER_SECOND = 5000


def run(workshop):
    seconds = workshop.pick(20, 50, 20000)
    workshop.build("fuzz", "fuzz_programs")
    output = workshop.run([workshop.root / "tools" / "fuzz", "--seconds", seconds], seconds=2 * seconds + 600, accept=(0, 1))
    figures = output.figures()
    runs, findings = int(figures.get("runs", 0)), int(figures.get("findings", -1))
    if output.status:
        print(output.text[-8000:])
    met = output.status == 0 and findings == 0 and runs >= RUNS_PER_SECOND * seconds
    return Result(f"{runs} runs in {seconds} s, {findings} findings", met)
