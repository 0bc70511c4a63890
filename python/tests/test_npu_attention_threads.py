# Tests that attention gives the same bits with any number of threads, and what its threads leave behind.
import threading

import pytest

from conftest import torch, torch_version

if torch is None or torch_version() < (2, 1):
    pytest.skip("the functions of torch_npu need PyTorch 2.1", allow_module_level=True)

from npu_attention import COMPRESSED, gradients, random_tensors  # noqa: E402
from openaclnn.compat.npu_ops import attention_blocks  # noqa: E402
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
