# Measures contestants in rounds: each takes its turn in every round, so that all of them have the same state of the machine.
import dataclasses
import math
import pathlib
import time
import typing

WARM_UP_ROUNDS = 2
LEAST_SECONDS = 5e-3  # of one measurement; shorter ones consist of several calls
SLOW_SECONDS = 0.1  # a contestant with longer calls joins every third round only
MOST_CALLS = 1_000_000
PROBE_TRIES = 5
PROBE_DISTURBED = 0.1  # a probe of the memory regime needs less: regimes differ by far more
DISTURBED = 0.02  # a measurement in which a thread had to wait for a core for more than this share of the time


@dataclasses.dataclass
class Contestant:
    """A contestant: run(calls) returns the seconds of this number of calls."""
    name: str
    kind: str  # ours, reference, arithmetic or peer
    run: typing.Callable[[int], float]
    calls: int = 1
    every: int = 1  # joins the rounds whose number is a multiple
    seconds: list = dataclasses.field(default_factory=list)  # of one call, per round; None where it did not join
    disturbed: int = 0  # measurements in which other programs used the cores for too long
    remarks: dict = dataclasses.field(default_factory=dict)  # for the record

    def prepare(self):
        """Finds the number of calls for a measurement that is long enough."""
        self.run(1)  # the first call starts threads and loads code
        while True:
            # The faster of two, so that an interruption does not count as a long call.
            seconds = min(self.run(self.calls), self.run(self.calls))
            if seconds >= LEAST_SECONDS / 2 or self.calls >= MOST_CALLS:
                break
            wanted = self.calls * LEAST_SECONDS / max(seconds, 1e-9)
            self.calls = min(MOST_CALLS, math.ceil(min(wanted, self.calls * 32)))
        if seconds / self.calls > SLOW_SECONDS:
            self.every = 3


def take_turns(contestants, rounds, pause_seconds=0.0, probe=None):
    """Fills the contestants' seconds: `rounds` rounds, in an order that rotates, after the warm-up. Returns the probes before and after each round."""
    def probed():
        time.sleep(pause_seconds)
        return undisturbed(probe) if probe else None

    for contestant in contestants:
        contestant.prepare()
    probes, before = [], None
    for number in range(-WARM_UP_ROUNDS, rounds):
        if number == 0:
            before = probed()
        first = number % len(contestants)
        for contestant in contestants[first:] + contestants[:first]:
            if number % contestant.every:
                seconds = None
            else:
                if pause_seconds:
                    time.sleep(pause_seconds)
                waited = seconds_waited()
                total = contestant.run(contestant.calls)
                contestant.disturbed += number >= 0 and seconds_waited() - waited > DISTURBED * total
                seconds = total / contestant.calls
            if number >= 0:
                contestant.seconds.append(seconds)
        if number >= 0:
            probes.append([before, probed()])
            before = probes[-1][1]
    return probes


def undisturbed(read):
    """Returns what read() returned while no other program held a core, or None if others always did."""
    for _ in range(PROBE_TRIES):
        waited, start = seconds_waited(), time.perf_counter()
        value = read()
        if seconds_waited() - waited <= PROBE_DISTURBED * (time.perf_counter() - start):
            return value
    return None


def seconds_waited():
    """Returns how long the threads of this process were ready to run without a core; 0 if the kernel does not count it."""
    waited = 0
    for file in pathlib.Path("/proc/self/task").glob("*/schedstat"):
        try:
            waited += int(file.read_text().split()[1])
        except (OSError, IndexError):  # the thread has just ended
            pass
    return waited * 1e-9
