"""Long runs of mixed operators on many streams and threads keep the same bits, and the process doesn't grow.

tests/soak: four threads call every operator with tensors of 18 bytes to 300 KiB, in batches over three streams each with events between them. They
make new streams and events every 50 batches, use a workspace from aclrtMalloc for each call, and inject an error into one of 16 calls, whose code and
error message are compared. Every result must have the bits of the first. Growth is the memory held throughout the last 15 % of the time less the
memory held throughout a stretch after the warm-up. If other programs use the cores, the run continues for up to twenty times as long, until all its
calls are made, because wear depends on calls, not on seconds. The call rate uses seconds of processor time, in the best second of the run, so that
other programs do not affect it.
A finding prints its case and OPENACLNN_TEST_SEED, but the order of threads is not repeatable.
"""
from workshop import Result

GOAL = ("5 million calls (--fast: 1 million), 50,000 per CPU second (--fast judges no speed), all results right, at most 2 MiB of growth, "
        "no thread or descriptor more")
FAST = True
CALLS_PER_SECOND = 100_000  # with two cores
GROWTH_KIB = 2048  # the heaps of the threads settle; one lost byte in each call would be 2 MiB within 20 s


def run(workshop):
    workshop.build("release", "soak")
    seconds = workshop.pick(fast=10, standard=50, deep=3600)
    output = workshop.run([workshop.program("release", "soak"), seconds, CALLS_PER_SECOND * seconds], seconds=21 * seconds + 60, accept=(0, 1))
    figures = output.figures()
    if output.status:
        print(output.text[-8000:])
    met = (output.status == 0 and figures["wrong"] == 0
           and figures["calls"] >= CALLS_PER_SECOND * seconds
           and (workshop.depth == "fast" or figures["calls_per_processor_second"] >= CALLS_PER_SECOND / 2)
           and min(figures["mistakes"], figures["faults"]) >= 100 * seconds
           and figures["rss_growth_kib"] <= GROWTH_KIB
           and figures["threads_growth"] <= 0 and figures["descriptors_growth"] <= 0)
    return Result(f"{figures['calls'] / 1e6:.1f} million calls in {figures['seconds']:.0f} s, "
                  f"{figures['calls_per_processor_second'] / 1e3:.0f},000 per CPU second, {figures['mistakes'] + figures['faults']:,.0f} injected errors, "
                  f"{figures['wrong']:.0f} wrong results; growth: {figures['rss_growth_kib']:.0f} KiB, "
                  f"{figures['threads_growth']:.0f} threads, {figures['descriptors_growth']:.0f} descriptors", met)
