"""A tiny call on one stream is done in time while other threads free, allocate, compute or cause faults.

bench/latency makes one call every 20 us beside, in turns: nothing, work without the library, first writes to 2 GiB of new memory, frees of 2 GiB in
huge and of 512 MiB in small pages, allocations, long kernels and faults of another stream. The figure is the time within which 99.9 % of the calls
are done. A stall counts for all calls that would have started during it. Time in which the thread had no core is subtracted.
The quietest of several rounds counts: other programs of the machine disturb some rounds, but the library would disturb each. When munmap ran under a
lock, frees gave 10 ms and more. --fast only tests that it runs, because no verdict of continuous integration may depend on speed.
"""
from workshop import Result

GOAL = "99.9 % of tiny calls done within 1 ms more than idle beside each kind of work (--fast: it runs)"
FAST = True
MOST_US = 1000
KINDS = ("touch", "frees", "small_pages", "allocations", "kernels", "faults")


def run(workshop):
    workshop.build("release", "openaclnn_latency")
    rounds = workshop.pick(fast=1, standard=7, deep=50)
    freed = workshop.pick(fast=256, standard=2048, deep=8192) << 20
    output = workshop.run([workshop.program("release", "openaclnn_latency"), "--rounds", rounds, "--bytes", freed],
                          seconds=workshop.pick(300, 900, 3600), quiet=False)
    figures = output.figures()
    beyond = {kind: figures[f"{kind}_quietest_beyond_idle_us"] for kind in KINDS}
    worst = max(beyond, key=beyond.get)
    in_time = beyond[worst] <= MOST_US or workshop.depth == "fast"
    return Result(f"idle {figures['idle_us']:.0f} us; beyond it: " + ", ".join(f"{kind} {max(us, 0):.0f}" for kind, us in beyond.items())
                  + f"; control {max(figures['control_quietest_beyond_idle_us'], figures['control_touch_quietest_beyond_idle_us'], 0):.0f} us",
                  in_time and figures["rounds"] == rounds)
