# Threads for independent parts of a computation: each computes its parts alone.
"""A parallel loop inside every tensor operation would make the threads wait for each other a dozen times in each block of
attention. Another process on one of the cores then delays all of them.

torch.set_num_threads(1) in such a thread would also hold for threads of the program that use PyTorch for the first time soon
after. So the threads call the same functions of OpenMP and MKL as PyTorch does. These hold for the calling thread only.
"""
from __future__ import annotations

import ctypes
import functools
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

_Item = TypeVar("_Item")
_SETTERS = "omp_set_num_threads", "MKL_Set_Num_Threads_Local"


def for_each(function: Callable[[_Item], None], items: Sequence[_Item]) -> None:
    """Calls the function with each item, in as many threads as PyTorch uses, or in this one if there are fewer items.

    The function must be safe to call at the same time with different items. Inside threads no gradients are recorded.
    The first exception is raised again after all threads have ended.
    """
    count = torch.get_num_threads()
    if count < 2 or len(items) < count or not _can_compute_alone():
        for item in items:
            function(item)
        return
    remaining, errors, lock = iter(items), list[BaseException](), threading.Lock()

    def work() -> None:
        _compute_alone()
        with torch.no_grad():
            while not errors:
                with lock:
                    item = next(remaining, None)
                if item is None:
                    return
                try:
                    function(item)
                except BaseException as error:
                    errors.append(error)

    threads = list[threading.Thread]()
    try:
        for number in range(count):
            thread = threading.Thread(target=work, name=f"openaclnn-attention-{number}")
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
    except BaseException as error:  # a thread could not start, or the program is interrupted: threads end after their items
        errors.append(error)
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


@functools.lru_cache(maxsize=None)
def _setters() -> list[Any]:
    """Returns the functions of OpenMP and MKL with _SETTERS' names. PyTorch uses those of the whole program, such as a preloaded
    OpenMP's, or else those among its own libraries. A function that PyTorch does not use does no harm."""
    found = []
    for path in (None, os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        found += [getattr(library, name) for name in _SETTERS if hasattr(library, name)]
    return found


def _compute_alone() -> None:
    """Makes PyTorch's operations use one thread if this thread calls them."""
    torch.get_num_threads()  # gives a new thread the number of the program, which would come later otherwise
    for setter in _setters():
        setter(1)


@functools.lru_cache(maxsize=None)
def _can_compute_alone() -> bool:
    """Returns whether _compute_alone() works: PyTorch may have been built without OpenMP, or with another MKL."""
    reports = list[str]()

    def report() -> None:
        _compute_alone()
        reports.append(torch.__config__.parallel_info())

    thread = threading.Thread(target=report, name="openaclnn-attention-trial")
    thread.start()
    thread.join()
    numbers = re.findall(r"(?:get_num|get_max)_threads\(\) : (\d+)", "".join(reports))
    return bool(numbers) and set(numbers) == {"1"}
