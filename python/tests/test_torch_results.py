# Tests the memory of large results of openaclnn.torch: it is used again, bounded, and behaves as PyTorch's own in every use.
import gc
import pickle
import subprocess
import sys
import threading

import pytest

from conftest import needs_newer_torch, needs_torch, torch

import openaclnn

if torch is not None:
    import openaclnn.torch as oat
    from openaclnn.torch import results

pytestmark = needs_torch
ROWS, WIDTH = 8192, 128  # 4 MiB


@pytest.fixture(autouse=True)
def nothing_kept():
    if torch is not None:
        results.release()
    yield


def table_gradient(rows=ROWS):
    """A gradient in which all rows are zeros, except row 1, which is ones."""
    return oat.embedding_dense_backward(torch.ones(1, WIDTH), torch.tensor([1]), rows)


def is_right(gradient):
    return bool((gradient[1] == 1).all()) and gradient.count_nonzero().item() == WIDTH


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


def kept_bytes():
    return sum(kept.bytes for kept in results._memory.storages)


def calls():
    """Every operator with a large result. Each call returns the results."""
    table, ids = torch.randn(ROWS, WIDTH), torch.randint(ROWS, (ROWS,))
    rows, ends = torch.randn(ROWS, WIDTH), torch.tensor([3, ROWS - 5])
    tokens, weight = torch.randn(ROWS, 2, 64), torch.randn(8, 2)
    many_ends = torch.arange(1, ROWS + 1)
    windows = torch.randn((ROWS - 8) // 1 + 1, 2, 64)
    return {
        "embedding": lambda: [oat.embedding(table, ids)],
        "embedding_dense_backward": lambda: [oat.embedding_dense_backward(rows, ids, ROWS, 3, True)],
        "embedding_dense_backward, float64": lambda: [oat.embedding_dense_backward(rows.double(), ids, ROWS)],
        "embedding_counts": lambda: [oat.embedding_counts(ids, 1 << 19)],
        "grouped_bias_add": lambda: [oat.grouped_bias_add(rows, torch.ones(2, WIDTH), ends)],
        "grouped_bias_add_grad": lambda: [oat.grouped_bias_add_grad(rows, many_ends)],
        "nsa_compress": lambda: [oat.nsa_compress(tokens, weight, 8, 1)],
        "nsa_compress_grad": lambda: list(oat.nsa_compress_grad(windows, tokens, weight, 8, 1)),
    }


@pytest.mark.parametrize("name", calls() if torch is not None else [])
def test_operators_write_all_of_reused_memory(name):
    call = calls()[name]
    expected = [result.clone() for result in call()]
    results.release()
    first = call()
    address = first[0].data_ptr()
    first[0].fill_(float("nan") if first[0].is_floating_point() else -1)
    del first
    second = call()
    assert second[0].data_ptr() == address
    assert all(torch.equal(got, want) for got, want in zip(second, expected))


def test_small_results_are_not_kept():
    table_gradient(rows=64)
    assert kept_bytes() == 0


@pytest.mark.parametrize("use", ["result", "view", "storage", "array"])
def test_memory_in_use_is_not_reused(use):
    gradient = table_gradient()
    address = gradient.data_ptr()
    used = {"result": lambda: gradient, "view": lambda: gradient[7:9, ::2], "array": gradient.numpy,
            "storage": lambda: storage_of(gradient)}[use]()
    del gradient
    other = table_gradient()
    assert other.data_ptr() != address and is_right(other)
    del used, other
    again = [table_gradient() for _ in range(2)]
    assert all(map(is_right, again))
    assert use == "array" or address in [gradient.data_ptr() for gradient in again]


def test_gradients_of_a_training_loop_are_reused():
    table = oat.Embedding(ROWS, WIDTH)
    addresses = set()
    for _ in range(5):
        table.weight.grad = None
        table(torch.tensor([1])).sum().backward()
        assert is_right(table.weight.grad)
        addresses.add(table.weight.grad.data_ptr())
    assert len(addresses) == 1


@needs_newer_torch(2, 1)
def test_gradients_of_overridden_functions_are_reused():
    table, addresses = torch.nn.Embedding(ROWS, WIDTH), set()
    oat.enable_embedding_backward()
    try:
        for _ in range(5):
            table.weight.grad = None
            table(torch.tensor([1])).sum().backward()
            assert is_right(table.weight.grad)
            addresses.add(table.weight.grad.data_ptr())
    finally:
        oat.disable_embedding_backward()
    assert len(addresses) == 1


def test_a_tied_table_adds_its_gradients():
    table = oat.Embedding(ROWS, WIDTH)
    for _ in range(3):
        table.weight.grad = None
        (table(torch.tensor([1])) + table(torch.tensor([1]))).sum().backward()
        assert is_right(table.weight.grad / 2)


def test_kept_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(results, "_most_kept", 10 << 20)
    gradients = [table_gradient(ROWS + n) for n in range(6)]
    assert kept_bytes() <= 10 << 20
    del gradients
    for n in range(20):
        table_gradient(ROWS + n)
        assert 0 < kept_bytes() <= 10 << 20
    huge = table_gradient(3 * ROWS)  # 12 MiB
    assert is_right(huge) and all(kept.bytes < 12 << 20 for kept in results._memory.storages)


def test_memory_that_no_result_needs_is_released():
    for n in range(200):
        table_gradient(ROWS + n)
    assert len(results._memory.storages) <= results._UNUSED_RESULTS + 1
    before = len(results._memory.storages)
    for _ in range(200):
        table_gradient(ROWS)
    assert len(results._memory.storages) <= before


@pytest.mark.parametrize("use", ["array", "resized", "shared"])
def test_memory_that_cannot_be_reused_is_released(use):
    """A result that was passed to NumPy, resized or shared is forgotten as soon as nothing references it, also if many of its
    size follow."""
    for n in range(20):
        gradient = table_gradient()
        if use == "array":
            assert gradient.numpy().sum() == WIDTH
        elif use == "resized":
            storage_of(gradient).resize_(2 * storage_of(gradient).nbytes())
        else:
            gradient.share_memory_()
        assert kept_bytes() == ROWS * WIDTH * 4
        del gradient
    assert is_right(table_gradient()) and kept_bytes() == ROWS * WIDTH * 4


@needs_newer_torch(2, 0)
def test_memory_of_arrays_is_released_where_another_result_is_reused():
    array, gradient = table_gradient().numpy(), table_gradient()
    address = gradient.data_ptr()
    del array, gradient
    assert table_gradient().data_ptr() == address
    assert kept_bytes() == ROWS * WIDTH * 4


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def test_release_memory_returns_it_to_the_system():
    gradient = table_gradient(32 * ROWS)  # 128 MiB
    used = gradient[0]
    openaclnn.release_memory()  # that of other tests
    before = resident_bytes()
    del gradient
    openaclnn.release_memory()
    assert resident_bytes() > before - (100 << 20)  # a view still uses it
    assert not used.any()
    del used
    openaclnn.release_memory()  # malloc may have kept it
    assert resident_bytes() < before - (100 << 20)
    table_gradient(32 * ROWS)
    assert resident_bytes() > before - (100 << 20)
    openaclnn.release_memory()
    assert resident_bytes() < before - (100 << 20)


def test_storages_can_be_resized():
    gradient = table_gradient()
    storage = storage_of(gradient)
    bytes_before = storage.nbytes()
    assert bytes_before == ROWS * WIDTH * 4
    storage.resize_(0)
    assert storage.nbytes() == 0
    storage.resize_(bytes_before)
    gradient.fill_(5)
    assert is_right(table_gradient()) and bool((gradient == 5).all())
    gradient.resize_(2 * ROWS, WIDTH)
    gradient.fill_(6)
    assert is_right(table_gradient()) and bool((gradient == 6).all())
    del gradient, storage
    assert is_right(table_gradient())


def test_results_can_be_pickled_and_copied():
    gradient = table_gradient()
    copy = pickle.loads(pickle.dumps(gradient))
    clone = gradient.clone()
    gradient.fill_(2)
    del gradient
    assert is_right(copy) and is_right(clone) and is_right(table_gradient())


def test_results_can_be_shared():
    gradient = table_gradient().share_memory_()
    assert gradient.is_shared() and is_right(gradient)
    assert is_right(table_gradient())
    del gradient
    again = table_gradient()
    assert is_right(again) and not again.is_shared()


@needs_newer_torch(2, 2)
def test_lazy_clones_keep_their_values():
    gradient = table_gradient()
    clone = torch._lazy_clone(gradient)
    del gradient
    other = table_gradient().fill_(9)
    assert is_right(clone) and bool((other == 9).all())


def test_threads_get_memory_of_their_own():
    wrong = []

    def work(number):
        for _ in range(20):
            gradient = table_gradient()
            if not is_right(gradient):
                wrong.append("the result of another thread")
            gradient.fill_(number)
            if not bool((gradient == number).all()):
                wrong.append("another thread wrote this result")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_destructors_may_compute_results():
    class Computes:
        def __del__(self):
            done.append(is_right(table_gradient()))

    done = []
    results._memory.storages.append(Computes())
    results.release()  # drops it under the lock
    assert done == [True]
    gc.collect()
    assert is_right(table_gradient())


class OfResults(torch.utils.data.Dataset if torch is not None else object):
    def __init__(self):
        self.mine = table_gradient()

    def __len__(self):
        return 6

    def __getitem__(self, n):
        made = table_gradient()
        assert is_right(self.mine) and is_right(made)
        made += n
        return made


def test_workers_of_a_data_loader():
    table_gradient()  # kept, unused, when the workers start
    for n, batch in enumerate(torch.utils.data.DataLoader(OfResults(), batch_size=None, num_workers=2)):
        assert is_right(batch - n)
    assert is_right(table_gradient())


def run(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


SETUP = """
import os, threading, torch
import openaclnn, openaclnn.torch as oat
from openaclnn.torch import results

def table_gradient():
    return oat.embedding_dense_backward(torch.ones(1, 128), torch.tensor([1]), 8192)

def is_right(gradient):
    return bool((gradient[1] == 1).all()) and int(gradient.sum()) == 128
"""


def test_fork():
    run(SETUP + """
mine, dead = table_gradient(), table_gradient()
address = dead.data_ptr()
del dead
results._memory.lock.acquire()  # as if another thread held it
child = os.fork()
if child == 0:
    torch.set_num_threads(1)  # OpenMP's threads do not survive fork()
    right = is_right(mine) and is_right(table_gradient()) and len(results._memory.storages) == 1
    mine.fill_(3)
    del mine
    first = table_gradient()
    one = first.data_ptr()
    del first
    second = table_gradient()
    os._exit(0 if right and second.data_ptr() == one and is_right(second) else 1)
results._memory.lock.release()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert is_right(mine)
again = table_gradient()
assert again.data_ptr() == address and is_right(again)
""")


def test_results_that_outlive_the_module():
    out = run(SETUP + """
import atexit, sys
class Last:
    def __init__(self):
        self.result = table_gradient()
    def __del__(self):
        print(self.result.sum().item(), flush=True)
torch.last = Last()  # modules are destroyed in an order of their own
sys.last = Last()
mine = table_gradient()
atexit.register(lambda: print(is_right(table_gradient()), flush=True))
thread = threading.Thread(target=table_gradient)
thread.start()
thread.join()
""")
    assert out.splitlines().count("True") == 1 and out.splitlines().count("128.0") >= 1


@pytest.mark.slow
@needs_newer_torch(2, 4)
def test_compiled_functions_reuse_memory():
    @torch.compile
    def loss(table, ids):
        return oat.embedding(table, ids).square().sum()

    table = torch.randn(ROWS, WIDTH, requires_grad=True)
    ids, addresses = torch.randint(ROWS, (ROWS,)), set()
    wanted, = torch.autograd.grad(table[ids].square().sum(), table)
    for n in range(6):
        got, = torch.autograd.grad(loss(table, ids), table)
        assert torch.allclose(got, wanted, atol=1e-4)
        if n > 0:  # the first call compiles
            addresses.add(got.data_ptr())
        del got
    assert len(addresses) <= 2  # of the rows and the gradient, which have the same size


@needs_newer_torch(2, 1)
def test_inference_mode_and_later_training():
    with torch.inference_mode():
        assert is_right(table_gradient())
    assert is_right(table_gradient().add_(0))
    table = oat.Embedding(ROWS, WIDTH)
    table(torch.tensor([1])).sum().backward()
    assert is_right(table.weight.grad)
