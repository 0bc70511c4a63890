"""Random calls, arguments and data lead to the specified codes and bits, under AddressSanitizer and UndefinedBehaviorSanitizer.

`./dev fuzz` runs five libFuzzer programs on all cores, in the modes report, silent and strict, with the vendor limits, and on each
instruction set: calls (sequences of API calls with live, dead and forged handles, against a model of objects, streams and executors), arguments
(phase 1 with invalid arguments, against the schemas' model) and operators (ordinary, extreme and hostile data in strided tensors between guarded
bytes, against the rooms' references). Findings go to build/fuzz/found, and their replay commands are printed. tests/fuzz/corpus holds the first
inputs, and replays as an ordinary test in the other presets. One run is one sequence of up to 24 calls, one phase 1, or two phases with their
comparison: 27 to 65 microseconds on a free core, with both sanitizers and the counters of coverage, or 2.1 million runs on two cores in 50 s.
"""
from workshop import Result

GOAL = "0 findings in at least 10,000 sanitized runs per second (500,000 in 50 s; --fast judges no speed: 1000 runs)"
FAST = True


def run(workshop):
    seconds = workshop.pick(20, 50, 22500)
    fewest = 1000 if workshop.depth == "fast" else 10000 * seconds  # of a fast run only that it ran
    workshop.build("fuzz", "fuzz_programs")
    output = workshop.run([workshop.root / "tools" / "fuzz", "--seconds", seconds], seconds=2 * seconds + 600, accept=(0, 1))
    figures = output.figures()
    runs, findings = int(figures.get("runs", 0)), int(figures.get("findings", -1))
    if output.status:
        print(output.text[-8000:])
    met = output.status == 0 and findings == 0 and runs >= fewest
    return Result(f"{runs} runs in {seconds} s, {findings} findings", met)
