# Tests token compression without lengths of sequences: the meaning of None, forward and backward, and invalid lengths.
import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest

import openaclnn
from openaclnn import _native
from conftest import FLOATS, jax, needs_jax, needs_torch, numpy_dtype, torch

if torch is not None:
    import openaclnn.torch as oat

# Three windows of four tokens, with stride 3, fit one sequence of 12 tokens as well as three of 4.
AMBIGUOUS = (12, 4, 3)


def arrays(tokens, block, windows, name="float32"):
    rng = np.random.default_rng(5)
    shapes = (tokens, 2, 3), (block, 2), (windows, 2, 3)
    return [rng.standard_normal(shape).astype(numpy_dtype(name)) for shape in shapes]


def same(results, expected):
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(results, expected))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("windows, lengths", [(9, [160]), (8, [80, 160])])
def test_gradient_takes_the_batches_from_the_windows(name, windows, lengths):
    tokens, weight, grad = arrays(160, 32, windows, name)
    expected = openaclnn.nsa_compress_grad(grad, tokens, weight, 32, 16, actual_seq_len=lengths)
    for given in (None, []):
        assert same(openaclnn.nsa_compress_grad(grad, tokens, weight, 32, 16, actual_seq_len=given), expected)
    out = np.empty_like(grad)
    openaclnn.nsa_compress(tokens, weight, 32, 16, out=out)
    assert same([out], [openaclnn.nsa_compress(tokens, weight, 32, 16, actual_seq_len=lengths)])


def test_forward_without_lengths_is_one_sequence():
    tokens, weight, _ = arrays(160, 32, 9)
    assert same([openaclnn.nsa_compress(tokens, weight, 32, 16)],
                [openaclnn.nsa_compress(tokens, weight, 32, 16, actual_seq_len=[160])])


def test_windows_that_no_batches_have():
    tokens, weight, grad = arrays(160, 32, 7)
    with pytest.raises(openaclnn.AclnnError, match="one sequence of the 160 tokens has 9 windows"):
        openaclnn.nsa_compress_grad(grad, tokens, weight, 32, 16)


@pytest.mark.parametrize("lengths", [[1, -2**63], [2**63 - 1, 1], [2**63 - 1, -2**63], [-2**63, 2**63 - 1], [2**62, 2**62]])
@pytest.mark.parametrize("kind", [0, 1])
def test_lengths_beyond_any_sum(lengths, kind):
    tokens, weight, grad = arrays(8, 2, 7)
    options = dict(actual_seq_len=lengths, actual_seq_len_type=kind)
    with contextlib.suppress(openaclnn.AclnnError):  # some of these are wrong for any number of tokens
        assert openaclnn.nsa_windows(lengths, 2**63 - 1, 2, 1, kind) >= 0
    with pytest.raises(openaclnn.AclnnError, match=f"tokens is {-2**63}; it must be at least 0"):
        openaclnn.nsa_windows(lengths, -2**63, 2**63 - 1, 2**63 - 1, kind)
    for call in (lambda: openaclnn.nsa_compress(tokens, weight, 2, 1, **options),
                 lambda: openaclnn.nsa_compress_grad(grad, tokens, weight, 2, 1, **options)):
        with pytest.raises(openaclnn.AclnnError, match=r"actual_seq_len\[[01]\] = "):
            call()


@pytest.mark.parametrize("lengths, block, stride, kind", [
    ([-8], 4, 2, 0), ([-8], 4, 2, 1), ([8, 4], 4, 2, 0), ([20], 4, 2, 0), ([6, 5], 4, 2, 1), ([8], 4, 2, 7), ([8], 4, 2, -1),
    ([8], 4, 0, 0), ([8], 4, -4, 0), ([8], 0, 2, 0), ([-8], -1, -1, 7), ([-8], 4, -1, 7)])
def test_windows_of_wrong_arguments_have_the_errors_of_the_operator(lengths, block, stride, kind):
    tokens, weight, _ = arrays(8, max(block, 0), 1)
    with pytest.raises(openaclnn.AclnnError) as theirs:
        openaclnn.nsa_compress(tokens, weight, block, stride, actual_seq_len=lengths, actual_seq_len_type=kind)
    with pytest.raises(openaclnn.AclnnError) as ours:
        openaclnn.nsa_windows(lengths, 8, block, stride, kind)
    assert ours.value.code == theirs.value.code
    assert str(ours.value) == str(theirs.value).replace("nsa_compress:", "nsa_windows:").replace(" of input [", " [")


class Described:
    """An array with an arbitrary description of itself."""

    def __init__(self, shape, strides=None, dtype="<i8"):
        self.memory = np.zeros(4, dtype)
        self.__array_interface__ = dict(self.memory.__array_interface__, shape=shape, strides=strides)


@pytest.mark.parametrize("shape", [(0, 2**62, 2**62), (2**62, 0, 2**62), (2**62, 2**62, 0)])
def test_huge_shapes_without_elements_do_not_crash(shape):
    """NumPy itself rejects some of them, and so may the library."""
    table = np.ones((3, 2), np.float32)
    try:
        openaclnn.embedding_counts(Described(shape), 3)
        openaclnn.embedding(table, Described(shape))
    except (ValueError, openaclnn.AclnnError, MemoryError):
        pass


def test_strides_of_single_elements_may_be_anything():
    indices = np.lib.stride_tricks.as_strided(np.array([1, 2, 1, 0]), (4, 1, 1), (8, 2**62, -2**62))
    assert openaclnn.embedding_counts(indices, 3).tolist() == [1, 2, 1]


@needs_torch
@pytest.mark.parametrize("windows, ends", [(9, [20]), (8, [10, 20])])
def test_derivatives_of_the_gradient_have_its_batches(windows, ends):
    """Tests the double backward, the forward mode and the operator itself, for one sequence and for two batches."""
    generator = torch.Generator().manual_seed(3)
    shapes = (windows, 2, 3), (20, 2, 3), (4, 2)
    values = [torch.randn(shape, generator=generator) for shape in shapes]

    def derivatives(function):
        inputs = [value.clone().requires_grad_() for value in values]
        first, second = function(*inputs)
        found = torch.autograd.grad(first.sin().sum() + second.cos().sum(), inputs)
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            duals = [forward.make_dual(value, value) for value in values]
            found += tuple(forward.unpack_dual(value).tangent for value in function(*duals))
        return [value.numpy() for value in found]

    expected = derivatives(lambda *inputs: oat.nsa_compress_grad(*inputs, 4, 2, actual_seq_len=ends))
    assert same(derivatives(lambda *inputs: oat.nsa_compress_grad(*inputs, 4, 2)), expected)
    assert same(derivatives(lambda *inputs: torch.ops.openaclnn.nsa_compress_grad(*inputs, 4, 2)), expected)


def in_a_process(program, **environment):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr


STRICT = f"""if True:
    import numpy as np, pytest, openaclnn
    T, L, d = {AMBIGUOUS}
    tokens, weight = np.arange(T * 2, dtype=np.float32).reshape(T, 1, 2), np.ones((L, 1), np.float32)
    grad = np.ones((3, 1, 2), np.float32)
    not_ambiguous = "no live block of aclrtMalloc"
"""


def in_strict_mode(program):
    """The mode is read once, at the start. It rejects Python's memory, but only if the call is not ambiguous."""
    in_a_process(STRICT + program, OPENACLNN_CHECK="strict")


def test_ambiguous_batches_in_strict_mode():
    in_strict_mode("""
    for function in (lambda **more: openaclnn.nsa_compress(tokens, weight, L, d, out=grad, **more),
                     lambda **more: openaclnn.nsa_compress_grad(grad, tokens, weight, L, d, **more)):
        with pytest.raises(openaclnn.AclnnError, match="fit 1 as well as 3 equally long sequences"):
            function()
        with pytest.raises(openaclnn.AclnnError, match=not_ambiguous):
            function(actual_seq_len=[T])
    with pytest.raises(openaclnn.AclnnError, match=not_ambiguous):
        openaclnn.nsa_compress(tokens, weight, L, d)
""")


@needs_torch
def test_autograd_passes_the_lengths_of_the_forward(monkeypatch):
    """This includes windows that fit several numbers of batches, among which the operator would have to choose."""
    given = []

    def recording(function):
        def call(*arguments, actual_seq_len, **more):
            given.append(actual_seq_len)
            return function(*arguments, actual_seq_len=actual_seq_len, **more)
        return call

    monkeypatch.setattr(_native, "nsa_compress_grad", recording(_native.nsa_compress_grad))
    count, block, stride = AMBIGUOUS
    arguments = [torch.from_numpy(array) for array in arrays(count, block, 3)]
    expected = openaclnn.nsa_compress_grad(torch.ones(3, 2, 3), *arguments[:2], block, stride, actual_seq_len=[count])
    module = oat.NsaCompress(2, block, stride)
    for function in (oat.nsa_compress, torch.ops.openaclnn.nsa_compress, lambda tokens, weight, *_: module(tokens) + 0 * weight.sum()):
        inputs = [value.clone().requires_grad_() for value in arguments[:2]]
        given.clear()
        function(*inputs, block, stride).sum().backward()
        assert given == [[count]]
        if inputs[1].grad.any():
            assert same([value.grad.numpy() for value in inputs], expected)
    inputs = [value.clone().requires_grad_() for value in arguments[:2]]
    given.clear()
    first = torch.autograd.grad(oat.nsa_compress(*inputs, block, stride).square().sum(), inputs, create_graph=True)
    torch.autograd.grad(sum(value.square().sum() for value in first), inputs)
    assert given and all(lengths == [count] for lengths in given)


@needs_jax
def test_gradients_of_jax_are_never_ambiguous():
    in_strict_mode("""
    import jax
    import openaclnn.jax as oj
    for function in (lambda t, w: oj.nsa_compress(t, w, L, d),
                     jax.grad(lambda t, w: oj.nsa_compress(t, w, L, d).sum(), (0, 1))):
        with pytest.raises(Exception, match=not_ambiguous):
            jax.block_until_ready(jax.jit(function)(tokens, weight))
""")


@needs_jax
def test_gradients_of_jax_are_those_of_one_sequence():
    import openaclnn.jax as oj
    count, block, stride = AMBIGUOUS
    tokens, weight, _ = arrays(count, block, 3)
    got = jax.grad(lambda t, w: oj.nsa_compress(t, w, block, stride).sum(), (0, 1))(tokens, weight)
    want = openaclnn.nsa_compress_grad(np.ones((3, 2, 3), np.float32), tokens, weight, block, stride, actual_seq_len=[count])
    assert same(got, want)


@needs_torch
def test_torch_npu_has_the_same_rule():
    in_a_process("""if True:
    import openaclnn.compat.torch_npu
    import torch
    import torch_npu
    tokens, weight, grad = torch.randn(160, 2, 3), torch.randn(32, 2), torch.randn(8, 2, 3)
    got = torch_npu.npu_nsa_compress_grad(grad, tokens, weight, 32, 16)
    want = torch_npu.npu_nsa_compress_grad(grad, tokens, weight, 32, 16, actual_seq_len=[80, 160])
    assert all(torch.equal(a, b) for a, b in zip(got, want))
    assert len(torch_npu.npu_nsa_compress(tokens, weight, 32, 16)) == 9
""")
