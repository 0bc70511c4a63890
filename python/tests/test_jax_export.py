# Programs that jax.export makes of functions of openaclnn.jax, with symbols for dims.
import numpy as np
import pytest

import openaclnn
from conftest import jax, needs_jax

pytestmark = needs_jax
if jax is not None:
    pytest.importorskip("jax.export")  # JAX 0.5 doesn't install all of its dependencies
    import jax.numpy as jnp

    import openaclnn.jax as oj

TARGETS = ["embedding", "embedding_dense_backward", "grouped_bias_add_grad", "nsa_compress", "nsa_compress_grad",
           "apply_fused_ema_adam"]


def values(shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def exported(function, *shapes):
    """Returns the program of a function of arrays with these shapes, such as "b, 3". Integers have the dtype int32."""
    scope = jax.export.SymbolicScope()
    arrays = [jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape.removeprefix("int "), scope=scope),
                                   jnp.int32 if shape.startswith("int ") else jnp.float32) for shape in shapes]
    checks = [jax.export.DisabledSafetyCheck.custom_call(f"openaclnn_{name}") for name in TARGETS]
    return jax.export.export(jax.jit(function), disabled_checks=checks)(*arrays)


def loss_of_windows(tokens, weight):
    return (oj.nsa_compress(tokens, weight, 4, 2) ** 2).sum()


FUNCTIONS = {
    "embedding": (lambda w, i: oj.embedding(w, i, 1), ["v, 3", "int b"], [values((5, 3)), np.array([4, 1, 4], np.int32)]),
    "gradient of embedding": (lambda w, i: jax.grad(lambda w: (oj.embedding(w, i) ** 2).sum())(w), ["v, 3", "int b"],
                              [values((5, 3)), np.array([4, 1, 4], np.int32)]),
    "embedding_dense_backward": (lambda g, i, w: oj.embedding_dense_backward(g, i, w.shape[0]), ["b, 3", "int b", "v, 3"],
                                 [values((2, 3)), np.array([4, 1], np.int32), values((5, 3))]),
    "grouped_bias_add": (oj.grouped_bias_add if jax else None, ["r, 3", "2, 3", "int 2"],
                         [values((5, 3)), values((2, 3)), np.array([2, 4], np.int32)]),
    "grouped_bias_add of known groups": (lambda x, b: oj.grouped_bias_add(x, b, np.array([2, 4])), ["r, 3", "2, 3"],
                                         [values((5, 3)), values((2, 3))]),
    "nsa_compress": (lambda x, w: oj.nsa_compress(x, w, 4, 2), ["t, n, 3", "4, n"], [values((9, 2, 3)), values((4, 2))]),
    "nsa_compress of sequences": (lambda x, w: oj.nsa_compress(x, w, 4, 2, actual_seq_len=[4, 9]), ["t, 2, 3", "4, 2"],
                                  [values((9, 2, 3)), values((4, 2))]),
    "gradients of nsa_compress": (lambda x, w: jax.grad(loss_of_windows, (0, 1))(x, w), ["t, 2, 3", "4, 2"],
                                  [values((12, 2, 3)), values((4, 2))]),
    "apply_fused_ema_adam": (lambda *a: oj.apply_fused_ema_adam(*a, 1), ["n"] * 5, [np.abs(values((6,)))] * 5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_have_the_bits_of_the_functions(name):
    function, shapes, arrays = FUNCTIONS[name]
    for ours, theirs in zip(jax.tree.leaves(exported(function, *shapes).call(*arrays)), jax.tree.leaves(function(*arrays))):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes() and ours.shape == theirs.shape


@pytest.mark.parametrize("tokens, windows", [(1, 0), (3, 0), (4, 1), (5, 1), (6, 2), (12, 5)])
def test_windows_of_an_unknown_number_of_tokens(tokens, windows):
    program = exported(lambda x, w: oj.nsa_compress(x, w, 4, 2), "t, 2, 3", "4, 2")
    assert program.call(values((tokens, 2, 3)), values((4, 2))).shape == (windows, 2, 3)


def test_programs_report_what_is_wrong():
    compress = exported(lambda x, w: oj.nsa_compress(x, w, 4, 2, actual_seq_len=[4, 9]), "t, 2, 3", "4, 2")
    with pytest.raises(Exception, match=r"actual_seq_len\[1\] = 9 exceeds 8"):
        jax.block_until_ready(compress.call(values((8, 2, 3)), values((4, 2))))


@pytest.mark.parametrize("lengths, block, stride, text", [
    (None, 4, 0, "compress_stride is 0; it must be at least 1"), (None, -1, 2, "compress_block_size is -1; it must be at least 1"),
    ([4, 2], 4, 2, r"actual_seq_len\[1\] = 2 is below"), ([4], 4, -1, "compress_stride is -1; it must be at least 1")])
def test_wrong_numbers_are_refused_at_once(lengths, block, stride, text):
    for shape in ("8, 2, 3", "t, 2, 3"):
        with pytest.raises(openaclnn.AclnnError, match=f"^nsa_compress: {text}"):
            exported(lambda x, w: oj.nsa_compress(x, w, block, stride, actual_seq_len=lengths), shape, "4, 2")


def test_the_number_of_groups_is_known():
    with pytest.raises(TypeError, match=r"group_idx has shape \[g\]; the number of groups must be known"):
        exported(oj.grouped_bias_add, "5, 3", "g, 3", "int g")
