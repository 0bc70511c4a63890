# Threads for independent parts of a computation: each computes its parts alone.
"""A parallel loop inside every tensor operation would make the threads wait for each other a dozen times in each block of
attention. Another process on one of the cores then delays all of them."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

_Item = TypeVar("_Item")


def for_each(function: Callable[[_Item], None], items: Sequence[_Item]) -> None:
    """Calls the function with each item, in as many threads as PyTorch uses, or in this one if there are fewer items.

    The function must be safe to call at the same time with different items. Inside threads no gradients are recorded.
    The first exception is raised again after all threads have ended.
    """
    count = torch.get_num_threads()
    if count < 2 or len(items) < count:
        for item in items:
            function(item)
        return
    remaining, errors, ready = iter(items), list[BaseException](), threading.Barrier(count + 1)
    lock = threading.Lock()

    def work() -> None:
        torch.set_num_threads(1)  # of this thread, and of new ones until the call below
        torch.get_num_threads()  # otherwise PyTorch starts to count threads later, with the number of that call
        try:
            ready.wait()
        except threading.BrokenBarrierError:
            return
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

    threads = [threading.Thread(target=work, name=f"openaclnn-attention-{number}") for number in range(count)]
    try:
        for thread in threads:
            thread.start()
        ready.wait()
    except BaseException:
        ready.abort()
        raise
    finally:
        torch.set_num_threads(count)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
