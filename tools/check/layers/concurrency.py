"""Many threads on shared objects, thousands of orders of streams, forks and ends of processes: no race, no hang, no wrong result.

Under ThreadSanitizer: stress_test makes random calls from six threads on objects that any of them destroys; concurrency_test, threads_test and
schedules_test follow. Optimised: schedules_test derives from a seed a random program of streams, events, copies and early frees, and the order in
which ready streams continue. fork_test forks from every thread with busy streams and at any moment of the first use. exit_test ends processes in
every known way. stream_test makes 10,000 streams.
A schedule that fails prints its seed: OPENACLNN_TEST_SEED=<seed> OPENACLNN_TEST_SCHEDULES=1 build/release/bin/schedules_test (even
seeds run on one thread and repeat exactly). OPENACLNN_TEST_SEED repeats the calls of stress_test, not the timing of its threads.
Limits: weak memory of other processors is covered only as far as ThreadSanitizer reports missing order. glibc's own fork is trusted.
"""
import pathlib
import platform
import re
import subprocess

from workshop import Result

GOAL = "0 reports of ThreadSanitizer; ≥ 10^4 schedules, ≥ 100 forked children, ≥ 10^4 streams at once, ≥ 100 ends of processes"
FAST = True
TSAN = ("stress_test", "concurrency_test", "threads_test", "schedules_test")
RELEASE = ("schedules_test", "fork_test", "exit_test", "stream_test", "concurrency_test")
OPTIONS = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"}


def launcher():
    """gcc's ThreadSanitizer cannot start when the kernel randomises more than 28 address bits."""
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    prefix = ["setarch", platform.machine(), "-R"]
    if bits.exists() and int(bits.read_text()) > 28 and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
        return prefix
    return []


def run(workshop):
    workshop.build("tsan", *TSAN)
    workshop.build("release", *RELEASE)
    found = {}

    def program(preset, name, env):
        prefix = launcher() if preset == "tsan" else []
        settings = {**(OPTIONS if preset == "tsan" else {}), **{key: str(value) for key, value in env.items()}}
        output = workshop.run([*prefix, workshop.program(preset, name)], seconds=workshop.pick(240, 600, 7200), env=settings)
        found.update({(preset, key): value for key, value in output.figures().items()})
        passed = re.search(r"\[  PASSED  \] (\d+) test", output.text)
        return int(passed.group(1)) if passed else 0

    program("tsan", "stress_test", {"OPENACLNN_TEST_SECONDS": workshop.pick(6, 20, 1800)})
    program("tsan", "schedules_test", {"OPENACLNN_TEST_SCHEDULES": workshop.pick(500, 2000, 200_000)})
    tests = program("tsan", "concurrency_test", {}) + program("tsan", "threads_test", {})
    program("release", "schedules_test", {"OPENACLNN_TEST_SCHEDULES": workshop.pick(20_000, 100_000, 10_000_000)})
    program("release", "fork_test", {"OPENACLNN_TEST_FORKS": workshop.pick(60, 100, 2000)})
    ends = 10 * (program("release", "exit_test", {}) - 1)  # five times each with one and with four threads
    program("release", "stream_test", {})
    program("release", "concurrency_test", {})
    calls, schedules = found.get(("tsan", "calls"), 0), found.get(("release", "schedules"), 0)
    children, streams = found.get(("release", "children"), 0), found.get(("release", "streams"), 0)
    inversions = found.get(("release", "inversions"), 0)
    enough = schedules >= 10**4 and inversions > schedules and children >= 100 and streams >= 10**4 and ends >= 100
    figure = (f"0 reports in {calls:.1e} calls and {tests + 2} tests; {schedules:.0f} schedules, {children:.0f} children, "
              f"{streams:.0f} streams, {ends} ends")
    return Result(figure, met=enough and calls >= 1000 and tests >= 10)
