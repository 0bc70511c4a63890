# Names the memory regime of each round, so that a host that changes between two speeds can't flip a verdict.
"""Some hosts read memory at two speeds and change between them within seconds. Before and after every round the worker probes memory: how fast
all cores together read a block far beyond the caches, and how fast one core alone reads it. A probe that another program disturbed is repeated.

The probes of the whole run decide whether there are two speeds (`split_of`). Noise never splits a run: the two groups must be apart by several
times their own width. Each group then gets a name:

    slow  the cores share a link that limits them: together they read less than SHARED of what as many separate cores would
    fast  every core reads about as fast as it does alone

This needs no figure in GB/s. Such a figure would be right for one kind of machine only. It also says what the goals need to know: in the slow regime,
memory hides arithmetic. In the fast one, each core has the bandwidth of a core alone, so the bounds for two threads are those for one.
"""
import collections
import math
import statistics

SLOW, FAST, MIXED, UNKNOWN, ANY = "slow", "fast", "mixed", "unknown", "any"
SHARED = 0.75
LEAST_SHARE = 0.03  # of the probes: fewer are outliers, not a regime
LEAST_PROBES = 8
LEAST_FACTOR = 1.3  # between the speeds of two regimes
LEAST_WIDTHS = 4.0  # between two groups, in quartile distances of the wider one; halves of a normal distribution are 1.6 apart


def quartile_distance(values):
    q1, _, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return q3 - q1


def split_of(speeds):
    """Returns the speed that separates two groups, or None if the speeds are one group."""
    logs = sorted(math.log(speed) for speed in speeds)
    least = max(LEAST_PROBES, math.ceil(LEAST_SHARE * len(logs)))
    total, below, best = sum(logs), 0.0, (0.0, None)
    for at in range(1, len(logs)):
        below += logs[at - 1]
        if at < least or len(logs) - at < least:
            continue
        apart = (total - below) / (len(logs) - at) - below / at
        best = max(best, (at * (len(logs) - at) * apart * apart, at), key=lambda pair: pair[0])
    at = best[1]
    if at is None:
        return None
    low, high = logs[:at], logs[at:]
    distance = statistics.median(high) - statistics.median(low)
    if distance < math.log(LEAST_FACTOR) or distance < LEAST_WIDTHS * max(quartile_distance(low), quartile_distance(high)):
        return None
    return math.exp((low[-1] + high[0]) / 2)


class Regimes:
    """The regimes of a run. A probe is [bytes per second of all cores, of one core alone], or None if it was disturbed."""

    def __init__(self, probes, cores):
        probes = [probe for probe in probes if probe]
        self.cores = cores
        self.split = split_of([together for together, _ in probes]) if probes else None
        groups = collections.defaultdict(list)
        for probe in probes:
            groups[self._is_upper(probe)].append(probe)
        self.groups = dict(sorted(groups.items()))
        self.names = {upper: self._name(group) for upper, group in self.groups.items()}

    @classmethod
    def of(cls, records, cores):
        return cls([probe for record in records for pair in record.get("probes", []) for probe in pair], cores)

    def _is_upper(self, probe):
        return self.split is not None and probe[0] >= self.split

    def _sharing(self, group):
        return statistics.median(together / (self.cores * alone) for together, alone in group)

    def _name(self, group):
        return SLOW if self._sharing(group) < SHARED else FAST

    def of_round(self, pair):
        """Returns the regime of the round between two probes."""
        if not self.names:
            return UNKNOWN
        if len(set(self.names.values())) == 1:  # also rounds without a valid probe
            return next(iter(self.names.values()))
        found = {self.names[self._is_upper(probe)] for probe in pair if probe}
        if not found:
            return UNKNOWN
        # A disturbed probe beside a valid one doesn't tell whether the regime changed within the round.
        return found.pop() if len(found) == 1 and all(pair) else MIXED if len(found) > 1 else UNKNOWN

    def of_rounds(self, record):
        """Returns the regime of each of a record's rounds."""
        rounds = max((len(c["seconds"]) for c in record.get("contestants", [])), default=0)
        pairs = record.get("probes") or [[None, None]] * rounds
        return [self.of_round(pair) for pair in pairs]

    def lines(self):
        """Returns one line for each regime that the run saw."""
        if not self.groups:
            return ["regime: unknown, because other programs disturbed every probe"]
        found = []
        for upper, group in self.groups.items():
            together, alone = (statistics.median(column) / 1e9 for column in zip(*group))
            found.append(f"regime {self.names[upper]}: {self.cores} cores read {together:.0f} GB/s, one alone {alone:.0f} GB/s "
                         f"({self._sharing(group):.2f} of {self.cores} alone), {len(group)} probes")
        return found


def counted(rounds):
    """Returns the numbers of rounds in words, such as 'slow 12, fast 3'."""
    counts = collections.Counter(rounds)
    return ", ".join(f"{name} {counts[name]}" for name in (SLOW, FAST, MIXED, UNKNOWN) if counts[name])
