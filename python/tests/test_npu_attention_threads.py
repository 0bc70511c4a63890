# Tests that attention gives the same bits with any number of threads, and what its threads leave behind.
import re
import threading
import time

import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_attention import COMPRESSED, gradients, random_tensors  # noqa: E402
from openaclnn.compat.npu_ops import attention_blocks, attention_threads  # noqa: E402
from openaclnn.compat.npu_ops.attention import npu_fusion_attention  # noqa: E402
from openaclnn.compat.npu_ops.attention_threads import for_each  # noqa: E402


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def test_threads_give_the_same_bits(monkeypatch):
    """Four heads of keys in two batch elements are eight pieces; pse has a gradient that all batch elements add to."""
    monkeypatch.setattr(attention_blocks, "BLOCK", 40)
    *tensors, grad = random_tensors(heads=4, kv_heads=4)
    tensors.append(torch.randint(-8, 8, (1, 4, 13, 19)).double())

    def call(query, key, value, pse):
        return npu_fusion_attention(query, key, value, 4, "BNSD", pse, atten_mask=COMPRESSED, sparse_mode=3)[:3]

    got = gradients(call, tensors, grad)
    torch.set_num_threads(1)
    want = gradients(call, tensors, grad)
    torch.set_num_threads(3)
    for one, other in zip([*got[0], *got[1][:3]], [*want[0], *want[1][:3]]):
        assert torch.equal(one, other)
    assert torch.allclose(got[1][3], want[1][3], rtol=0, atol=1e-12)  # batch elements are added in any order


def test_every_item_is_computed_by_a_thread_of_its_own():
    seen, lock = [], threading.Lock()
    arrived = threading.Barrier(3, timeout=60)

    def note(item):
        if item < 3:
            arrived.wait()  # three threads are here at the same time
        with lock:
            seen.append((item, torch.get_num_threads(), torch.is_grad_enabled()))

    for_each(note, range(10))
    assert sorted(seen) == [(item, 1, False) for item in range(10)]


def test_mkl_has_one_thread_in_each():
    """PyTorch gives threads that start after torch.set_num_threads() a number for MKL, which hides OpenMP's."""
    reports = []
    for_each(lambda item: reports.append(torch.__config__.parallel_info()), range(10))
    assert len(reports) == 10
    assert {number for report in reports for number in re.findall(r"get_max_threads\(\) : (\d+)", report)} <= {"1"}


def test_other_threads_of_the_program_keep_their_number(monkeypatch):
    """Each thread that starts while attention's threads do uses PyTorch for the first time."""
    started, seen = threading.Thread.start, []

    def start(self):
        started(self)
        if self.name.startswith("openaclnn-attention"):
            for _ in range(50):
                other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
                started(other)
                other.join()

    monkeypatch.setattr(threading.Thread, "start", start)
    for_each(lambda item: None, range(5))
    assert len(seen) >= 150 and set(seen) == {3}


def test_without_a_number_for_each_thread_items_are_computed_here(monkeypatch):
    monkeypatch.setattr(attention_threads, "_setters", lambda: [])
    can = attention_threads._can_compute_alone.__wrapped__
    assert not can()
    monkeypatch.setattr(attention_threads, "_can_compute_alone", can)
    seen = []
    for_each(lambda item: seen.append((item, threading.current_thread())), range(5))
    assert seen == [(item, threading.current_thread()) for item in range(5)]


def test_an_interrupt_waits_for_the_threads(monkeypatch):
    """After Ctrl+C no thread still writes results."""
    attention_threads._can_compute_alone()
    joined, interrupted, ended = threading.Thread.join, threading.Event(), []

    def join(self, timeout=None):
        monkeypatch.setattr(threading.Thread, "join", joined)
        interrupted.set()
        raise KeyboardInterrupt

    def compute(item):
        assert interrupted.wait(60)
        time.sleep(0.01)
        ended.append(item)

    monkeypatch.setattr(threading.Thread, "join", join)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        for_each(compute, range(1000))
    assert threading.active_count() == before and len(ended) < 1000


def test_few_items_are_computed_here():
    seen = []
    for_each(lambda item: seen.append((item, threading.current_thread())), [1, 2])
    assert seen == [(1, threading.current_thread()), (2, threading.current_thread())]


def test_exceptions_of_threads_are_raised():
    before = threading.active_count()

    def fail(item):
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        for_each(fail, range(5))
    assert threading.active_count() == before


def test_threads_that_cannot_start(monkeypatch):
    started = threading.Thread.start
    names = []

    def start(self):
        names.append(self.name)
        if len(names) == 3:
            raise RuntimeError("can't start new thread")
        started(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        for_each(lambda item: None, range(5))
