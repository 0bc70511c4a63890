"""A failed allocation, mapping, thread or file returns a code and leaks nothing, and the call succeeds when repeated.

The program `failures` runs each of its scenarios once undisturbed, and once for each request that the library makes in it. Each run uses a process
that has not used the library before. In a run either one request fails, or one and all that follow it until the call returns: allocations of any kind
(also those of fopen, of the C++ runtime and of thread creation), mmap, pthread_create, open, read and fopen. The CUDA plugin, which is opened by
dlopen, has its own injected failures: tests/cuda.
Afterwards the code must be documented and stand in the error message. The call must succeed when tried again, with the results of the undisturbed
run. No allocations, mapped bytes, files or threads may be left over. Memory that is kept for later calls must stay bounded when the call fails 300
times in a row. A finding prints the command that repeats it.
Limits: failures of munmap, mprotect and of kernel resources beyond these, and glibc only.
"""
from workshop import Result

GOAL = "100 % of at least 18,000 points survived, 0 leaks (--fast: 4500)"
FAST = True


def run(workshop):
    workshop.build("release", "failures")
    step = workshop.pick(4, 1, 1)
    program = workshop.program("release", "failures")

    shares = [[program, "--share", f"{k}/2", "--step", step] for k in range(2)]
    total, passed = workshop.run_shares(shares, seconds=600)
    figure = (f"{total['survived']} of {total['points']} points survived ({total['scenarios']} scenarios; refused {total['memory']} "
              f"allocations, {total['mappings']} mappings, {total['threads']} threads, {total['files']} files), {total['leaks']} leaks")
    enough = workshop.pick(4500, 18000, 18000)
    kinds = all(total[kind] > 0 for kind in ("memory", "mappings", "threads", "files"))
    met = total["survived"] == total["points"] >= enough and total["leaks"] == 0 and kinds
    return Result(figure, met and passed)
