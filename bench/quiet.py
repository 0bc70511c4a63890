# Checks before a run whether other programs use the cores.
"""Two figures tell. The kernel counts the programs that want a core. And loops that need nothing but their cores say how long they waited for them."""
import os
import pathlib
import time

import machine

SECONDS = 0.4
MOST_WANTED = 0.25  # cores that others want, on average
MOST_WAITED = 0.02  # of the time of the loops


def wanted_by_others(seconds=SECONDS, samples=20):
    """Returns how many other threads are running or ready on average, from /proc/loadavg; this one doesn't count."""
    ready = []
    for _ in range(samples):
        field = machine.read("/proc/loadavg").split()[3:4]
        ready.append(max(0, int(field[0].split("/")[0]) - 1) if field else 0)
        time.sleep(seconds / samples)
    return sum(ready) / samples


def waited(process):
    """Returns the seconds that a process was ready without a core; 0 if the kernel doesn't count them."""
    try:
        return int(pathlib.Path(f"/proc/{process}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError):
        return 0.0


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def share_waited(cores, seconds=SECONDS):
    """Returns the share of the time that loops on all cores waited for them."""
    loops = []
    for _ in range(cores):
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            before = waited("self")
            spin(seconds)
            os.write(writer, str(waited("self") - before).encode())
            os._exit(0)
        os.close(writer)
        loops.append((process, reader))
    total = 0.0
    for process, reader in loops:
        with os.fdopen(reader) as pipe:
            total += float(pipe.read() or 0)
        os.waitpid(process, 0)
    return total / (cores * seconds)


def check(cores):
    """Returns whether the machine is quiet, and a line that says why."""
    wanted, share = wanted_by_others(), share_waited(cores)
    quiet = wanted <= MOST_WANTED and share <= MOST_WAITED
    return quiet, (f"machine: {'quiet' if quiet else 'not quiet'}; before the run, other programs wanted {wanted:.1f} cores, "
                   f"and a loop on {cores} cores waited {share:.0%} of its time")
