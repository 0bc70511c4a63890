# State of an optimizer in the host's memory: pieces of it visit the GPU for each update, beside other work of the GPU.
"""Moments and averages of parameters on a GPU lie in pinned memory of the host. An update copies a bucket of them to the GPU, runs
the same native call as without offloading, and copies the bucket back. Three streams do this for three buckets at a time, so that
the bus works in both directions."""
from __future__ import annotations

import threading

import torch

from openaclnn import _native
from openaclnn.torch import host_memory, kernels, versions

NAMES = ("exp_avg", "exp_avg_sq", "ema_params")
NAMES_OF = {None: (), "average": NAMES[2:], "state": NAMES}  # the state that each value of the option "offload" moves

BUCKET_ELEMENTS = 1 << 22  # of each kind of state: 16 MiB of float32, a third of a millisecond on the bus
# Buckets on a GPU at a time. Four keep the bus busy in both directions. More can arrive before their gradients are complete, so that
# less is left to do at the end of a backward pass. They may take an eighth of the memory that offloading saves.
LEAST_SLOTS, MOST_SLOTS = 4, 16
ALIGNMENT = 64  # elements, so that the kernels can always read vectors


def offloaded(group):
    """Returns the names of the state of a group that is in the host's memory."""
    return NAMES_OF[group["offload"]]


def require_dense(parameter):
    """Raises ValueError for a parameter whose elements don't fill its memory, because buckets take them by their addresses."""
    if torch.empty_like(parameter, device="meta").stride() != parameter.stride():
        raise ValueError(f"offload needs parameters without gaps or overlaps in memory; one of shape {list(parameter.shape)} has the "
                         f"strides {list(parameter.stride())}")


def _same_order(a, b):
    """Returns whether two tensors have their elements in the same order of addresses."""
    return a.shape == b.shape and all(n == 1 or s == t for n, s, t in zip(a.shape, a.stride(), b.stride()))


def elements(tensor, begin, end):
    """Returns some elements of a dense tensor as a vector, in the order of their addresses."""
    return tensor.as_strided((end - begin,), (1,), tensor.storage_offset() + begin)


class GpuLink:
    """The streams and buffers between the host and a GPU."""

    is_remote = True

    def __init__(self, device):
        self.device = device
        self.inward, self.outward = torch.cuda.Stream(device), torch.cuda.Stream(device)
        # With the same priority, an update would wait until the running kernel of the backward pass has no blocks left to start.
        self.updates = torch.cuda.Stream(device, priority=-1)
        self._callers = set()  # streams that gradients came from since the last join

    def enqueue(self, stream, after, function, *arguments):
        """Runs a function on a stream after some events. Returns the event of its end."""
        for event in after:
            stream.wait_event(event)
        with torch.cuda.stream(stream):
            function(*arguments)
        return stream.record_event()

    def now(self):
        """Returns the event of all work of the caller's stream up to here."""
        stream = torch.cuda.current_stream(self.device)
        self._callers.add(stream)
        return stream.record_event()

    def join(self, event):
        """Delays later work of the caller's streams until an event."""
        for stream in self._callers | {torch.cuda.current_stream(self.device)}:
            stream.wait_event(event)
        self._callers.clear()

    def wait(self, event):
        """Returns after an event."""
        event.synchronize()

    def host_rows(self, rows, columns, dtype):
        return host_memory.pinned(rows, columns, dtype, self.device)

    def buffer(self, count):
        return torch.empty(count, dtype=torch.uint8, device=self.device)


class HostLink:
    """For parameters in the host's memory, like their state: nothing is copied, and updates run at once."""

    is_remote = False

    @staticmethod
    def host_rows(rows, columns, dtype):
        return torch.zeros(rows, columns, dtype=dtype, device="cpu")


def make_link(device):
    return GpuLink(device) if device.type == "cuda" else HostLink()


class Bucket:
    """Neighbouring elements of an arena that are updated together."""

    def __init__(self, arena, begin, end):
        self.arena, self.begin, self.end = arena, begin, end
        self.pieces = []  # (parameter, first and last element in it, first element in the bucket)
        self.stored = None  # the event after which the host has the last update
        self.missing = 0  # parameters without a gradient yet, during a backward pass
        self.ready = []  # events of the gradients that came


class Arena:
    """State of some parameters of a group, one row of memory for each name. Parameters are in the reverse of their order in
    the group, which is about the order in which a backward pass reaches them."""

    def __init__(self, link, names, dtype, parameters):
        self.link, self.names = link, names
        self.places, self.tensors = {}, {}
        at = 0
        for parameter in reversed(parameters):
            self.places[parameter] = at
            at += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
        self.rows = link.host_rows(len(names), at, dtype)
        for parameter, begin in self.places.items():
            self.tensors[parameter] = {name: row[begin:begin + parameter.numel()].as_strided(parameter.shape, parameter.stride())
                                       for name, row in zip(names, self.rows)}
        self.buckets = [Bucket(self, begin, min(begin + BUCKET_ELEMENTS, at)) for begin in range(0, at, BUCKET_ELEMENTS)]
        self.buckets_of = {parameter: self._divide(parameter, begin) for parameter, begin in self.places.items()}

    def _divide(self, parameter, begin):
        """Gives each bucket its piece of a parameter. Returns the buckets."""
        end = begin + parameter.numel()
        buckets = self.buckets[begin // BUCKET_ELEMENTS:-(-end // BUCKET_ELEMENTS)] if parameter.numel() else []
        for bucket in buckets:
            first, last = max(begin, bucket.begin), min(end, bucket.end)
            bucket.pieces.append((parameter, first - begin, last - begin, first - bucket.begin))
        return buckets


class Slot:
    """Memory of a GPU for one bucket at a time."""

    def __init__(self, link):
        self.link = link
        self.memory = link.buffer(0)
        self.free = None

    def rows(self, like):
        """Returns rows for a copy. The memory grows to the largest bucket."""
        count = like.numel() * like.element_size()
        if self.memory.numel() < count:
            if self.free is not None:
                self.link.wait(self.free)
            self.memory = self.link.buffer(count)
            # The allocator may return memory that was freed, but that earlier work of the caller's stream still uses.
            self.free = self.link.now()
        return self.memory[:count].view(like.dtype).view(like.shape)


def _copy(to, source):
    """Copies rows one by one: PyTorch would first copy rows with gaps between them within the host."""
    for row, source_row in zip(to, source):
        row.copy_(source_row, non_blocking=True)


def ordered(grad, parameter):
    """Returns a gradient whose elements are in the order of the parameter's, and checks it before anything is written."""
    if grad.dtype not in kernels.FLOATS:
        raise TypeError(f"a gradient is {grad.dtype}; it must be float32, float16 or bfloat16")
    if grad.shape != parameter.shape:
        raise ValueError(f"a gradient has shape {list(grad.shape)}, but its parameter has {list(parameter.shape)}; they must be equal")
    return grad if _same_order(grad, parameter) else torch.empty_like(parameter, dtype=grad.dtype).copy_(grad)


class Update:
    """Numbers of a step that parameters of a group share, and for each of them the number of the step."""

    def __init__(self, numbers, scale, counts):
        self.numbers, self.scale, self.counts = numbers, scale, counts


def _update(rows, names, pieces, given):
    """Runs the native call for pieces of one bucket, whose rows are where the parameters are. Parameters that took other
    numbers of steps, or moved to another group, need calls of their own."""
    lists_of = {}
    for parameter, first, last, at in pieces:
        grad, state, update = given[parameter]
        moved = {name: row[at:at + last - first] for name, row in zip(names, rows)}
        lists = lists_of.setdefault((update, update.counts[parameter]), ([], [], [], [], []))
        lists[0].append(elements(grad, first, last))
        lists[1].append(elements(parameter, first, last))
        for values, name in zip(lists[2:], NAMES):
            values.append(moved[name] if name in moved else elements(state[name], first, last))
    for (update, count), lists in lists_of.items():
        _native.apply_fused_ema_adam_(*lists, count, *update.numbers, grad_scale=update.scale)
        versions.increment_versions(lists[1])


class OffloadedState:
    """The state of an optimizer that is offloaded, and its updates."""

    def __init__(self):
        self._links, self._slots = {}, {}
        self._arena_of, self._arenas = {}, []
        self._lock = threading.Lock()  # backward passes of several GPUs have a thread each
        self._used = []  # gradients that updates may still read
        self._updated = {}  # for each link the event of the last update
        self.begun = {}  # parameters whose gradients came inside step_in_backward()
        self._is_open = False  # whether they may come

    # ---- where state is

    def place(self, group, state, parameter, dtype):
        """Moves the offloaded state of a parameter to its memory, in which it then stays."""
        names = offloaded(group)
        arena = self._arena_of.get(parameter)
        if not self._suits(arena, parameter, names) or arena.rows.dtype != dtype:
            self._make_arenas(group, parameter, names, dtype)
            arena = self._arena_of[parameter]
        for name, tensor in arena.tensors[parameter].items():
            if state[name] is not tensor:
                self._wait_for(arena.buckets_of[parameter])
                tensor.copy_(state[name])
                state[name] = tensor
        for name in NAMES:
            if name not in names and not _same_order(state[name], parameter):
                state[name] = torch.empty_like(parameter, dtype=dtype).copy_(state[name])

    def is_placed(self, group, state, parameter):
        """Returns whether the state is where place() moves it. Programs may replace state, and parameters their memory."""
        arena = self._arena_of.get(parameter)
        if not self._suits(arena, parameter, offloaded(group)):
            return False
        own = arena.tensors[parameter]
        return all(state[name] is own[name] if name in own else _same_order(state[name], parameter) for name in NAMES)

    @staticmethod
    def _suits(arena, parameter, names):
        return arena is not None and arena.names == names and _same_order(next(iter(arena.tensors[parameter].values())), parameter)

    def _make_arenas(self, group, parameter, names, dtype):
        """Makes the memory of a parameter, and that of all others of the group that will need the same."""
        def is_alike(other):
            return (other.device, other.dtype) == (parameter.device, parameter.dtype) and not self._suits(self._arena_of.get(other), other, names)

        self.settle()
        alike = [other for other in group["params"] if other is parameter or (other.requires_grad and is_alike(other))]
        for other in alike:
            require_dense(other)
        arena = Arena(self._link(parameter.device), names, dtype, alike)
        self._arena_of.update((other, arena) for other in alike)
        used = set(self._arena_of.values())
        self._arenas = [other for other in [*self._arenas, arena] if other in used]

    def _link(self, device):
        if device not in self._links:
            self._links[device] = make_link(device)
        return self._links[device]

    # ---- updates. `given` has the gradient, the state and the Update of each parameter that takes part.

    def run(self, given):
        """Updates parameters. Returns at once; the caller's stream waits."""
        try:
            for bucket in self._buckets_of(given):
                self._launch(bucket, given)
        finally:
            self.join()

    def join(self):
        """Lets the caller's streams wait for all updates that were begun. Gradients may change afterwards."""
        for link, event in self._updated.items():
            link.join(event)
        self._updated.clear()
        self._used.clear()

    def settle(self):
        """Waits until the host has all updates."""
        self._wait_for(bucket for arena in self._arenas for bucket in arena.buckets)

    @staticmethod
    def _wait_for(buckets):
        for bucket in buckets:
            if bucket.stored is not None:
                bucket.arena.link.wait(bucket.stored)
                bucket.stored = None

    def _buckets_of(self, parameters):
        return dict.fromkeys(bucket for parameter in parameters for bucket in self._arena_of[parameter].buckets_of[parameter])

    def _launch(self, bucket, given):
        """Updates those pieces of a bucket whose parameters are given."""
        arena = bucket.arena
        link, host = arena.link, arena.rows[:, bucket.begin:bucket.end]
        pieces = self._pieces_of(bucket, given)
        if not link.is_remote:
            _update(host, arena.names, pieces, given)
            return
        self._used += (given[parameter][0] for parameter, *_ in pieces)
        slot = self._next_slot(link)
        rows = slot.rows(host)
        loaded = link.enqueue(link.inward, [event for event in (slot.free, bucket.stored) if event is not None], _copy, rows, host)
        ready, bucket.ready = [link.now(), *bucket.ready, loaded], []
        updated = link.enqueue(link.updates, ready, _update, rows, arena.names, pieces, given)
        slot.free = bucket.stored = link.enqueue(link.outward, [updated], _copy, host, rows)
        self._updated[link] = updated

    def _pieces_of(self, bucket, parameters):
        """Returns the pieces of some parameters. Others may have left the bucket's arena."""
        return [piece for piece in bucket.pieces if piece[0] in parameters and self._arena_of[piece[0]] is bucket.arena]

    def _next_slot(self, link):
        """Returns the slot that will be free first."""
        slots = self._slots.setdefault(link, [])
        buckets = sum(len(arena.buckets) for arena in self._arenas if arena.link is link)
        is_full = len(slots) >= min(max(LEAST_SLOTS, buckets // 8), MOST_SLOTS)
        slots.append(slots.pop(0) if is_full else Slot(link))
        return slots[-1]

    # ---- updates during a backward pass

    def expect(self, parameters):
        """Counts the gradients that each bucket waits for."""
        for bucket in self._buckets_of(parameters):
            bucket.missing, bucket.ready = len(self._pieces_of(bucket, parameters)), []
        self._is_open = True

    def accept(self, parameter, state, update):
        """Takes the gradient of a parameter, which is complete, and updates the buckets for which it was the last one."""
        with self._lock:
            if not self._is_open:  # a backward pass of another GPU failed
                return
            if parameter in self.begun:
                raise RuntimeError("a parameter got a second gradient inside step_in_backward(), after its update had begun; only "
                                   "the last backward pass of a step may run inside")
            self.begun[parameter] = (ordered(parameter.grad, parameter), state, update)
            arena = self._arena_of[parameter]
            ready = arena.link.now() if arena.link.is_remote else None
            for bucket in arena.buckets_of[parameter]:
                bucket.missing -= 1
                bucket.ready.append(ready)
                if bucket.missing == 0:
                    self._launch(bucket, self.begun)

    def flush(self):
        """Updates the buckets that still wait for gradients, with those that came. Later ones are ignored."""
        with self._lock:
            self._is_open = False
            try:
                for bucket in self._buckets_of(self.begun):
                    if bucket.missing > 0:
                        bucket.missing = 0
                        self._launch(bucket, self.begun)
            finally:
                self.join()
