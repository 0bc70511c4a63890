# The streams between the host and a GPU for openaclnn.torch.offload, emulated in the host's memory.
import itertools
import random

from conftest import torch


class LaterLink:
    """A GPU in the host's memory whose streams, also those of the caller, run their functions in a random legal order. An update
    that does not wait for what it needs therefore reads or writes too early."""

    is_remote = True
    inward, updates, outward = "inward", "updates", "outward"
    random = random.Random(7)

    def __init__(self, device):
        self.waiting = {name: [] for name in (self.inward, self.updates, self.outward)}  # (number, events before, function)
        self.done, self.numbers = set(), itertools.count()
        self.caller, self.moment = "caller", None  # the caller's stream, and the last event of now()

    def enqueue(self, stream, after, function, *arguments):
        assert stream != self.updates or self.moment in after, "an update does not wait for its gradients"
        number = next(self.numbers)
        self.waiting[stream].append((number, tuple(after), lambda: function(*arguments)))
        return number

    def now(self):
        self.run(lambda: self.random.random() < 0.5)
        self.moment = self.add_to_caller(lambda: None)
        return self.moment

    def add_to_caller(self, function):
        number = next(self.numbers)
        self.waiting.setdefault(self.caller, []).append((number, (), function))
        return number

    def run(self, stops):
        """Runs functions until a condition holds or nothing is left."""
        while not stops():
            able = [queue for queue in self.waiting.values() if queue and all(event in self.done for event in queue[0][1])]
            if not able:
                assert not any(self.waiting.values()), "streams wait for each other"
                return
            number, _, function = self.random.choice(able).pop(0)
            function()
            self.done.add(number)

    def wait(self, event):
        self.run(lambda: event in self.done)

    join = wait

    def host_rows(self, rows, columns, dtype):
        return torch.zeros(rows, columns, dtype=dtype)

    def buffer(self, count):
        return torch.full((count,), 0x7F, dtype=torch.uint8)  # NaN, where nothing was copied


class LinkWithFreedMemory(LaterLink):
    """The allocator returns memory that the caller has freed, and that a kernel of its stream still reads."""
    made = []

    def __init__(self, device):
        super().__init__(device)
        self.freed, self.read = torch.ones(6144, dtype=torch.uint8), []
        self.add_to_caller(lambda: self.read.append(int(self.freed.sum())))
        self.made.append(self)

    def buffer(self, count):
        return self.freed[:count]
