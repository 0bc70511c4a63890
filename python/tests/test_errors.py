# Tests failures: the exception's class, code, name and error message, and that the package works afterwards.
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import openaclnn
from conftest import jax, needs_jax, needs_torch, torch
from openaclnn.errors import error_of


def arrays(*shape, dtype=np.float32, count=5):
    return [np.ones(shape, dtype) for _ in range(count)]


def test_a_refused_argument():
    grad, var, m, v, s = arrays(4, 8)
    with pytest.raises(openaclnn.AclnnError) as caught:
        openaclnn.apply_fused_ema_adam_(np.ones((4, 16), np.float32), var, m, v, s, 1)
    error = caught.value
    assert error.code == 161002 and error.name == "ACLNN_ERR_PARAM_INVALID"
    assert error.message.endswith("var has shape [4, 8] but grad has shape [4, 16]; they must be equal")
    assert "161002" in str(error) and isinstance(error, RuntimeError) and not isinstance(error, IndexError)


def test_a_refused_entry_of_a_list():
    lists = [[np.ones(3, np.float32), np.ones(4, np.float32)] for _ in range(5)]
    lists[2][1] = np.ones(5, np.float32)
    with pytest.raises(openaclnn.AclnnError, match=r"m\[1\] has shape \[5\] but grad\[1\]"):
        openaclnn.apply_fused_ema_adam_(*lists, 1)
    with pytest.raises(TypeError, match=r"var\[0\] is of type"):
        openaclnn.apply_fused_ema_adam_(lists[0], [1, 2], *lists[2:], 1)
    with pytest.raises(TypeError, match="all be lists"):
        openaclnn.apply_fused_ema_adam_(lists[0], lists[1][0], *lists[2:], 1)


@pytest.mark.parametrize("attributes", [dict(mode=2), dict(mode=-1)])
def test_refused_attributes(attributes):
    with pytest.raises(openaclnn.AclnnError, match="mode"):
        openaclnn.apply_fused_ema_adam_(*arrays(3), 1, **attributes)


def test_an_index_out_of_range_is_an_index_error():
    table = np.ones((4, 2), np.float32)
    out = np.full((3, 2), 7, np.float32)
    with pytest.raises(IndexError) as caught:
        openaclnn.embedding(table, np.array([0, 9, 1]), out=out)
    error = caught.value
    assert isinstance(error, openaclnn.AclnnIndexError) and error.code == 507035
    assert "indices[1] = 9 is outside [0, 4)" in error.message
    assert out.tolist() == [[1, 1], [0, 0], [1, 1]]
    with pytest.raises(IndexError, match=r"indices\[2\] = -1"):
        openaclnn.embedding_dense_backward(np.ones((3, 2), np.float32), np.array([0, 1, -1]), 4)
    with pytest.raises(IndexError, match=r"group_idx\[1\] = 2"):
        openaclnn.grouped_bias_add_grad(np.ones((4, 2), np.float32), np.array([3, 2]))
    openaclnn.embedding(table, np.array([0, 1]))  # no error remains


def test_messages_name_arguments_of_python():
    """The operators' error messages contain no C names of arguments or functions."""
    f, i = np.float32, np.int64
    z, table, tokens, weight = np.zeros(3, f), np.zeros((3, 2), f), np.zeros((6, 1, 2), f), np.zeros((2, 1), f)
    small, cache, pages = np.zeros(1, np.int32), np.zeros((4, 1, 2), f), np.zeros((2, 3, 1, 2), f)
    double = np.float64
    o = openaclnn
    calls = {
        "var": lambda: o.apply_fused_ema_adam_(z, table, z, z, z, 1),
        "m": lambda: o.apply_fused_ema_adam_(z, z, table, z, z, 1),
        "s": lambda: o.apply_fused_ema_adam_(z, z, z, z, table, 1),
        r"v\[0\]": lambda: o.apply_fused_ema_adam_([z], [z], [z], [table], [z], 1),
        r"var_copy\[0\]": lambda: o.apply_fused_ema_adam_([z], [z], [z], [z], [z], 1, var_copy=[z]),
        "found_inf": lambda: o.apply_fused_ema_adam_(z, z, z, z, z, 1, found_inf=np.zeros(1, i)),
        "grad_scale": lambda: o.apply_fused_ema_adam_(z, z, z, z, z, 1, grad_scale=np.zeros(1, i)),
        "max_v": lambda: o.apply_adam_w_(z, z, z, z, 0, max_v=table),
        "steps_done": lambda: o.apply_adam_w_(z, z, z, z, np.zeros(2, i)),
        "v": lambda: o.apply_adam_w_(z, z, z, table, 0),
        "num_weights": lambda: o.embedding_dense_backward(table, np.zeros(3, i), 5, out=table),
        "indices": lambda: o.embedding_dense_backward(table, np.zeros(4, i), 2),
        "grad_y": lambda: o.grouped_bias_add_grad(table.astype(double)),
        "group_idx": lambda: o.grouped_bias_add_grad(table, np.zeros((2, 2), i)),
        "group_idx_type": lambda: o.grouped_bias_add_grad(table, np.zeros(2, i), 7),
        "compress_block_size": lambda: o.nsa_compress(tokens, weight, 0, 1),
        "compress_stride": lambda: o.nsa_compress(tokens, weight, 2, 0),
        "actual_seq_len_type": lambda: o.nsa_compress(tokens, weight, 2, 1, actual_seq_len_type=5),
        "actual_seq_len": lambda: o.nsa_compress(tokens, weight, 2, 1, actual_seq_len=[-2]),
        "out": lambda: o.nsa_compress(tokens, weight, 2, 1, out=table),
        r"actual_seq_len\[1\]": lambda: o.nsa_compress_grad(tokens, tokens, weight, 2, 1, actual_seq_len=[2, 1]),
        "grad": lambda: o.nsa_compress_grad(table, tokens, weight, 2, 1),
        r"out\[0\]": lambda: o.nsa_compress_grad(np.zeros((5, 1, 2), f), tokens, weight, 2, 1, out=(table, weight.copy())),
        r"out\[1\]": lambda: o.nsa_compress_grad(np.zeros((5, 1, 2), f), tokens, weight, 2, 1, out=(tokens.copy(), table)),
        "slot_mapping": lambda: o.nsa_compress_with_cache_(tokens, weight, np.zeros(1, i), cache, 2, 1, [2]),
        "cache": lambda: o.nsa_compress_with_cache_(tokens, weight, small, table, 2, 1, [2]),
        "block_table": lambda: o.nsa_compress_with_cache_(pages, weight, small, cache, 2, 1, [2], block_table=table),
        "page_block_size": lambda: o.nsa_compress_with_cache_(pages, weight, small, cache, 2, 1, [2],
                                                              block_table=np.zeros((1, 1), np.int32), page_block_size=9),
    }
    for name, call in calls.items():
        with pytest.raises(openaclnn.AclnnError, match=rf"\b{name}(?!\w)") as caught:
            call()
        words = re.findall(r"\b[a-z]+[A-Z]\w*", caught.value.message)
        assert not words, caught.value.message


def of_numpy(values, dtype):
    return np.array(values, dtype)


def of_torch(values, dtype):
    return torch.tensor(values, dtype=getattr(torch, dtype))


def of_jax(values, dtype):
    return jax.numpy.array(values, dtype)


@pytest.mark.parametrize("make, wrong, accepted", [
    pytest.param(of_numpy, "numpy.float32", ("numpy.int32", "numpy.int64"), id="numpy"),
    pytest.param(of_torch, "torch.float32", ("torch.int32", "torch.int64"), id="torch", marks=needs_torch),
    pytest.param(of_jax, "float32", ("int32", "int64"), id="jax", marks=needs_jax),
])
def test_dtypes_have_the_names_of_the_library(make, wrong, accepted):
    with pytest.raises(openaclnn.AclnnError) as caught:
        openaclnn.embedding(make([[1.0]], "float32"), make([0.0], "float32"))
    expected = f"embedding: indices has dtype {wrong}; it must be {accepted[0]} or {accepted[1]}"
    assert caught.value.message == expected


def test_dtypes_of_other_packages_are_named():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(openaclnn.AclnnError, match="weight has dtype ml_dtypes.bfloat16 but input has dtype numpy.float32"):
        openaclnn.nsa_compress(np.zeros((6, 1, 2), np.float32), np.zeros((2, 1), ml_dtypes.bfloat16), 2, 1)


def test_messages_name_the_function_that_was_called():
    """Neither C functions, streams and tasks nor C dtypes appear."""
    f, i, z = np.float32, np.int64, np.zeros(3, np.float32)
    table, tokens, weight = np.zeros((4, 2), f), np.zeros((6, 1, 2), f), np.zeros((2, 1), f)
    o = openaclnn
    calls = {
        "apply_fused_ema_adam_": lambda: o.apply_fused_ema_adam_(z, table, z, z, z, 1),
        "apply_adam_w_": lambda: o.apply_adam_w_(z, z, z, table, 0),
        "embedding": lambda: o.embedding(table, np.array([4])),
        "embedding_dense_backward": lambda: o.embedding_dense_backward(table, np.array([0, 1, 2, 9]), 4),
        "grouped_bias_add_grad": lambda: o.grouped_bias_add_grad(table, np.array([9])),
        "nsa_compress": lambda: o.nsa_compress(tokens, weight.astype(np.float64), 2, 1),
        "nsa_compress_grad": lambda: o.nsa_compress_grad(table, tokens, weight, 2, 1),
        "nsa_compress_with_cache_": lambda: o.nsa_compress_with_cache_(tokens, weight, np.zeros(1, i), tokens.copy(), 2, 1, [2]),
    }
    for name, call in calls.items():
        with pytest.raises(openaclnn.AclnnError) as caught:
            call()
        message = caught.value.message
        assert message.startswith(f"{name}: "), message
        assert not re.search(r"\b(acl|openacl|ACL)\w+|stream \d|task \d", message), message
    with pytest.raises(IndexError, match=r"^embedding: indices\[0\] = 8 is outside"):
        o.embedding(table, np.array([8]), vocab_start=0, vocab_end=4, vocab_size=8)


def test_indices_that_are_not_aligned_are_rejected():
    table = np.ones((4, 2), np.float32)
    indices = np.frombuffer(bytes(17), np.uint8)[1:].view(np.int64)
    for arguments in ({}, {"vocab_start": 0, "vocab_end": 4}):
        with pytest.raises((openaclnn.AclnnError, ValueError), match="not a multiple of 8 bytes"):
            openaclnn.embedding(table, indices, **arguments)


def test_counts_in_memory_that_is_not_their_own_are_rejected():
    indices = np.array([0, 1, 1])
    shared = np.array([0, 1, 1, 0, 0])
    repeated = np.lib.stride_tricks.as_strided(np.full(1, 9), (3,), (0,))
    unaligned = np.frombuffer(bytearray(b"9" * 25), np.uint8)[1:].view(np.int64)
    for given, out, sentence in ((indices, indices, "out overlaps indices; they must not share memory"),
                                 (shared[:3], shared[2:], "out overlaps indices; they must not share memory"),
                                 (indices, repeated, r"out has shape \[3\] and strides \[0\], so elements may share memory; "),
                                 (indices, unaligned, "out has a data address that is not a multiple of 8 bytes, the size")):
        before = given.copy(), out.copy()
        with pytest.raises(ValueError, match=f"^{sentence}"):
            openaclnn.embedding_counts(given, 3, out=out)
        assert np.array_equal(given, before[0]) and np.array_equal(out, before[1])
    assert openaclnn.embedding_counts(shared[:3], 2, out=shared[3:]).tolist() == [1, 2]


def test_rejected_indices_leave_counts_alone():
    out = np.full(3, 9)
    for indices in (np.zeros(2), np.frombuffer(bytes(17), np.uint8)[1:].view(np.int64)):
        with pytest.raises((TypeError, ValueError), match="^indices"):
            openaclnn.embedding_counts(indices, 3, out=out)
    assert out.tolist() == [9, 9, 9]


def test_numbers_and_arrays_are_named():
    arrays = [np.ones(2, np.float32) for _ in range(5)]
    for step in (1.5, 2**70, -2**64, None):
        sentence = f"is .*{str(step)[-3:]}; an int of 64 bits or an array of one element is needed"
        with pytest.raises(TypeError, match="step " + sentence):
            openaclnn.apply_fused_ema_adam_(*arrays, step)
        with pytest.raises(TypeError, match="steps_done " + sentence):
            openaclnn.apply_adam_w_(*arrays[:4], step)
    with pytest.raises(TypeError, match="indices is of type <class 'NoneType'>; an array"):
        openaclnn.embedding(np.ones((2, 2), np.float32), None)
    with pytest.raises(ValueError, match="out has dtype int32 and shape \\[3\\]; it must be int64 of shape \\[3\\]"):
        openaclnn.embedding_counts(np.array([1]), 3, out=np.zeros(3, np.int32))


@pytest.mark.parametrize("options, sentence", [
    (dict(lr="x"), "lr is of type str; a number is needed"),
    (dict(beta1=10**400), "beta1 is 10+; a number of float64's range is needed"),
    (dict(mode=1.5), "mode is of type float; an int is needed"),
    (dict(mode=2**64), "mode is 18446744073709551616; an int of 64 bits is needed"),
    (dict(bias_correction=None), "bias_correction is of type NoneType; a bool is needed"),
    (dict(bias_correction=2), "bias_correction is 2; a bool is needed"),
])
def test_scalars_are_named(options, sentence):
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}$"):
        openaclnn.apply_fused_ema_adam_(*arrays(3), 1, **options)


def test_scalars_of_other_functions_are_named():
    table = np.ones((2, 2), np.float32)
    for call, name in ((lambda: openaclnn.embedding(table, np.array([0]), vocab_start="0", vocab_end=2), "vocab_start"),
                       (lambda: openaclnn.embedding_dense_backward(table, np.array([0, 1]), None), "num_weights"),
                       (lambda: openaclnn.embedding_counts(np.array([0]), 2.0), "num_weights"),
                       (lambda: openaclnn.grouped_bias_add_grad(table, np.array([2]), "ends"), "group_idx_type"),
                       (lambda: openaclnn.nsa_compress(np.ones((2, 1, 2), np.float32), table[:, :1], 2, None), "compress_stride")):
        with pytest.raises(TypeError, match=f"^{name} is of type .*; an int is needed$"):
            call()


def test_scalars_of_numpy_are_numbers():
    plain, theirs = arrays(3), arrays(3)
    openaclnn.apply_fused_ema_adam_(*plain, 1, lr=0.5, mode=0, bias_correction=False)
    openaclnn.apply_fused_ema_adam_(*theirs, np.int64(1), lr=np.float32(0.5), mode=np.int8(0), bias_correction=np.bool_(False))
    assert all(np.array_equal(mine, other) for mine, other in zip(plain, theirs))


def test_whatever_is_an_int_counts_steps():
    class Index:
        def __index__(self):
            return 3

    for function, count in ((openaclnn.apply_fused_ema_adam_, 5), (openaclnn.apply_adam_w_, 4)):
        expected = arrays(3, count=count)
        function(*expected, 3)
        for step in (np.int32(3), np.uint8(3), np.int64(3), Index(), np.array(3)):
            got = arrays(3, count=count)
            function(*got, step)
            assert all(np.array_equal(a, b) for a, b in zip(expected, got))


@pytest.mark.parametrize("given, sentence", [
    (8, "actual_seq_len is 8; a list of ints is needed"),
    ("88", "actual_seq_len is '88'; a list of ints is needed"),
    ([2, 8.0], r"actual_seq_len\[1\] is (of type float|8.0); an int is needed"),
    (np.ones((1, 2), int), r"actual_seq_len\[0\] is (of type list|\[1, 1\]); an int is needed"),
])
def test_lengths_are_named(given, sentence):
    tokens, weight = np.ones((8, 1, 2), np.float32), np.ones((2, 1), np.float32)
    slots, cache = np.zeros(2, np.int32), np.zeros((2, 1, 2), np.float32)
    with pytest.raises(TypeError, match=sentence):
        openaclnn.nsa_compress(tokens, weight, 2, 1, actual_seq_len=given)
    with pytest.raises(TypeError, match=sentence):
        openaclnn.nsa_compress_with_cache_(tokens, weight, slots, cache, 2, 1, given)
    with pytest.raises(TypeError, match="actual_seq_len is None; a list with the length"):
        openaclnn.nsa_compress_with_cache_(tokens, weight, slots, cache, 2, 1, None)
    if torch is not None:
        import openaclnn.torch as oat

        tensors = map(torch.from_numpy, (tokens, weight, slots, cache))
        with pytest.raises(TypeError, match=sentence):
            oat.nsa_compress_with_cache_(*tensors, 2, 1, given)


@needs_torch
def test_tensors_without_memory_are_named():
    others = [torch.ones(3) for _ in range(3)]
    with pytest.raises(TypeError, match="grad is sparse or quantized; a dense tensor is needed"):
        openaclnn.apply_adam_w_(torch.ones(3).to_sparse(), *others, 0)
    with pytest.raises(ValueError, match="grad is on meta; a tensor in memory is needed"):
        openaclnn.apply_adam_w_(torch.ones(3, device="meta"), *others, 0)


def test_scalars_of_numpy_are_no_outputs():
    """NumPy passes a copy of them, so that an update would be lost."""
    a = [np.array(value, np.float32) for value in (1, 1, 0, 1)]
    with pytest.raises(ValueError, match="v is read-only"):
        openaclnn.apply_fused_ema_adam_(*a[:3], np.float32(0), a[3], 1)
    with pytest.raises(ValueError, match=r"s\[0\] is read-only"):
        openaclnn.apply_fused_ema_adam_(*([x] for x in a), [np.float32(0)], 1)
    openaclnn.apply_fused_ema_adam_(np.float32(1), *a, np.int64(1))


def test_limits_of_a_part_of_a_table():
    table, indices = np.ones((2, 2), np.float32), np.array([0, 3, 8])
    with pytest.raises(IndexError, match=r"indices\[2\] = 8 is outside \[0, 8\)"):
        openaclnn.embedding(table, indices, vocab_start=2, vocab_end=4, vocab_size=8)
    with pytest.raises(IndexError, match="-2 is outside the table"):
        openaclnn.embedding(table, np.array([-2]), vocab_start=2, vocab_end=4)
    with pytest.raises(ValueError, match="pass both or neither"):
        openaclnn.embedding(table, indices, vocab_start=2)
    with pytest.raises(ValueError, match="vocab_start is 4, vocab_end 2; they must be"):
        openaclnn.embedding(table, indices, vocab_start=4, vocab_end=2)
    with pytest.raises(ValueError, match="vocab_end - vocab_start is 3"):
        openaclnn.embedding(table, indices, vocab_start=2, vocab_end=5)


def test_wrong_lengths_of_sequences():
    tokens, weight = np.ones((8, 1, 2), np.float32), np.ones((2, 1), np.float32)
    for wrong in ([5, 3], [-1, 8], [4, 9]):
        with pytest.raises(openaclnn.AclnnError, match="actual_seq_len"):
            openaclnn.nsa_compress(tokens, weight, 2, 1, actual_seq_len=wrong)
    with pytest.raises(openaclnn.AclnnError, match="compress_stride"):
        openaclnn.nsa_compress(tokens, weight, 2, 0)
    with pytest.raises(TypeError, match=r"actual_seq_len\[0\] is of type str; an int is needed"):
        openaclnn.nsa_compress(tokens, weight, 2, 1, actual_seq_len=["a"])


def test_memory_errors_are_memory_errors():
    error = error_of(207001, "ACL_ERROR_RT_MEMORY_ALLOCATION", "EL0004")
    assert isinstance(error, MemoryError) and isinstance(error, openaclnn.AclnnError)


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(error_of(507035, "NAME", "a sentence")))
    assert isinstance(error, IndexError) and (error.code, error.name, error.message) == (507035, "NAME", "a sentence")


def test_faults_stay_with_the_thread_that_made_them():
    """Each thread has its own stream: an index error is raised only in the thread that made it."""
    table = np.ones((4, 2), np.float32)
    wrong, outcomes = np.array([7]), {}

    def work(number):
        seen = 0
        for _ in range(300):
            try:
                openaclnn.embedding(table, wrong if number % 2 else np.array([1]))
            except IndexError:
                seen += 1
        outcomes[number] = seen

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {0: 0, 1: 300, 2: 0, 3: 300}


def test_other_threads_run_while_an_operator_computes():
    """Python's lock is released: a thread continues to count while a large step runs."""
    lists = [np.ones(1 << 22, np.float32) for _ in range(5)]
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counted[0]
        for _ in range(20):
            openaclnn.apply_fused_ema_adam_(*lists, 1)
        assert counted[0] > before
    finally:
        stop.set()
        counter.join()


@needs_torch
def test_torch_raises_the_same_errors():
    with pytest.raises(IndexError, match="indices"):
        openaclnn.embedding(torch.ones(4, 2), torch.tensor([4]))


def test_calls_follow_the_current_device():
    program = """
import os
os.environ["OPENACLNN_CPU_DEVICES"] = "2"
import numpy as np
import openaclnn
import openaclnn.compat.acl as acl

table = np.ones((2, 2), np.float32)
for device in (0, 1, 1, 0):
    assert acl.rt.set_device(device) == 0
    assert (openaclnn.embedding(table, np.array([1])) == 1).all()
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
