# Memory of large results on the CPU: it is kept after a result dies and used again, and it has huge pages.
"""New pages of the system cost more than most operators. Results of LEAST_BYTES or more therefore use storages of PyTorch
that this module also references. A storage that nothing else references is used for the next result of its size.

They are ordinary storages of PyTorch, so views, resize_(), share_memory_(), pickling and fork() work as for other tensors.
"""
from __future__ import annotations

import ctypes
import functools
import math
import os
import sys
import threading

import torch

from openaclnn import _native, errors

# Smaller results use torch.empty: malloc mostly has memory for them, and looking for a storage takes 2 us longer.
LEAST_BYTES = 2 << 20
_MOST_KEPT_OF_UNKNOWN = 64 << 20  # if the memory of the machine is unknown
_MOST_STORAGES = 256
_UNUSED_RESULTS = 64  # the number of results after which unused memory is released, if a result needs new memory


class _Kept:
    """A storage, and what must be unchanged before it is used again."""

    __slots__ = ("address", "bytes", "storage", "used_at")

    def __init__(self, size, used_at=0):
        self.storage = torch.UntypedStorage(size, device="cpu")
        self.address, self.bytes, self.used_at = self.storage.data_ptr(), size, used_at

    def counts(self):
        """Returns the references to the storage from Python and from PyTorch."""
        return sys.getrefcount(self.storage), _use_count(self.storage)

    def is_in_use(self):
        """Returns whether anything but this object references the storage."""
        return self.counts() != _alone()

    def is_reusable(self):
        """Returns whether a storage that is not in use can be used again. One that was resized, moved to shared memory or passed
        to NumPy, which forbids resizing, never can."""
        # Reading the address ends copy-on-write of a lazy clone, which changes the address.
        return self.storage.nbytes() == self.bytes and self.storage.data_ptr() == self.address and _is_resizable(self.storage)


def _use_count(storage):
    # Older versions have the count behind the pointer to the table of functions, which _alone() checks. Some have 32 bits for it, others 64.
    if hasattr(torch._C, "_storage_Use_Count"):
        return torch._C._storage_Use_Count(storage._cdata)
    return ctypes.c_uint32.from_address(storage._cdata + ctypes.sizeof(ctypes.c_void_p)).value


def _is_resizable(storage):
    return not hasattr(storage, "resizable") or storage.resizable()


def _tensor(storage, shape, dtype):
    strides, stride = [], 1
    for dim in reversed(shape):
        strides.append(stride)
        stride *= max(dim, 1)
    return torch.empty(0, dtype=dtype, device="cpu").set_(storage, 0, tuple(shape), tuple(reversed(strides)))


@functools.lru_cache(maxsize=None)
def _alone():
    """Returns the counts of a storage that only a _Kept references, or None if this PyTorch does not count as expected. Then
    nothing is kept."""
    kept = _Kept(64)
    alone = kept.counts()
    tensor = _tensor(kept.storage, [4, 4], torch.float32)
    in_use = kept.counts()
    del tensor
    return alone if alone[1] == 1 and in_use[1] == 2 and kept.counts() == alone else None


class _Memory:
    """The kept storages, those that were used last at the end. Only one thread uses them at a time; others make new tensors,
    because waiting could be waiting for itself: a destructor may run anywhere and compute a result."""

    def __init__(self):
        self.lock = threading.Lock()
        self.storages = []
        self.results = 0

    def take(self, size):
        """Returns a storage of this size, kept for later results unless it is larger than all that may be kept."""
        self.results += 1
        storages = self.storages
        for kept in tuple(storages):
            if kept.bytes == size and not kept.is_in_use():
                storages.remove(kept)
                if not kept.is_reusable():
                    continue
                storages.append(kept)
                kept.used_at = self.results
                vars(kept.storage).clear()  # a program's attributes, such as the format of torch_npu, belong to the former result
                return kept.storage
        self.make_space(size)
        try:
            kept = _Kept(size, self.results)
        except RuntimeError:  # memory is exhausted
            self.storages = []
            kept = _Kept(size, self.results)
        _native.allow_huge_pages(kept.address, size)
        if size <= most_kept():
            self.storages.append(kept)
        return kept.storage

    def make_space(self, size):
        """Forgets storages that no result can use, and others so that the rest and `size` together are at most most_kept():
        first unused ones, then those in use, which are released with their tensors."""
        limit = self.results - _UNUSED_RESULTS
        storages = [kept for kept in self.storages if kept.is_in_use() or (kept.used_at > limit and kept.is_reusable())]
        kept_bytes = sum(kept.bytes for kept in storages)
        for only_unused in (True, False):
            n = 0
            while n < len(storages) and (kept_bytes + size > most_kept() or len(storages) >= _MOST_STORAGES):
                if only_unused and storages[n].is_in_use():
                    n += 1
                    continue
                kept_bytes -= storages.pop(n).bytes
        self.storages = storages


_memory = _Memory()
_most_kept = None


def most_kept():
    """Returns how many bytes are kept at most: an eighth of the memory of the machine or its control group."""
    global _most_kept
    if _most_kept is None:
        try:
            _most_kept = _native.memory_info()[1] // 8
        except errors.AclnnError:
            _most_kept = _MOST_KEPT_OF_UNKNOWN
    return _most_kept


def empty(shape, dtype):
    """Returns a new contiguous CPU tensor with any contents. Operators write all of it."""
    size = math.prod(shape) * torch.empty(0, dtype=dtype, device="cpu").element_size()
    if size < LEAST_BYTES or _alone() is None or not _memory.lock.acquire(blocking=False):
        return torch.empty(shape, dtype=dtype, device="cpu")
    try:
        storage = _memory.take(size)
    finally:
        _memory.lock.release()
    return _tensor(storage, shape, dtype)


def empty_of(tensor, *shape):
    """Returns a new contiguous tensor with any contents, with the dtype and device of another one."""
    return empty(shape, tensor.dtype) if tensor.device.type == "cpu" else tensor.new_empty(shape)


def release():
    """Forgets all storages: unused memory returns to the system now, other memory with its tensor."""
    is_locked = _memory.lock.acquire(timeout=1)  # longer only if this is a destructor that interrupted take()
    _memory.storages = []
    if is_locked:
        _memory.lock.release()


def _after_fork_in_child():
    """The child keeps nothing of its parent's: a thread that vanished may hold the lock, and pages that both have would be
    copied when the parent writes them."""
    _memory.lock = threading.Lock()
    release()


os.register_at_fork(after_in_child=_after_fork_in_child)
_native.set_torch_results(empty, release, LEAST_BYTES)
