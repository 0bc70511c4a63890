# Tests which objects are arrays: libraries, dtypes, strides, read-only memory, and objects that are rejected with an error
# message.
import array
import ctypes
import sys
import weakref

import numpy as np
import pytest

import openaclnn
from conftest import FLOATS, ml_dtypes, needs_jax, needs_torch, numpy_dtype, torch, torch_version
from openaclnn import _native


def facts(array_like):
    return _native.inspect(array_like)


@pytest.mark.parametrize("name, code", [("float32", 0), ("float16", 1), ("int8", 2), ("int32", 3), ("uint8", 4), ("int16", 6),
                                        ("int64", 9), ("float64", 11), ("bool", 12), ("complex64", 16),
                                        ("complex128", 17), ("bfloat16", 27)])
def test_dtypes_of_all_libraries(name, code):
    values = np.zeros((2, 3), numpy_dtype(name))
    assert facts(values)["dtype"] == code
    if torch is not None:
        assert facts(torch.zeros(2, 3, dtype=getattr(torch, name)))["dtype"] == code


def test_numpy_views_pass_through():
    base = np.zeros((4, 6), np.float32)
    view = base[::2, ::-1]
    found = facts(view)
    assert found["data"] == view.ctypes.data
    assert found["shape"] == (2, 6) and found["strides"] == (12, -1)
    expanded = np.broadcast_to(np.float32(1), (3, 2))
    assert facts(expanded)["strides"] == (0, 0) and not facts(expanded)["writable"]


def test_rank_zero_and_empty():
    assert facts(np.array(1.0, np.float32))["shape"] == ()
    assert facts(np.zeros((0, 3), np.float32))["shape"] == (0, 3)


def test_buffers_and_array_interface_share_memory():
    numbers = array.array("f", [1, 2, 3])
    assert facts(numbers)["data"] == numbers.buffer_info()[0]
    assert facts(memoryview(numbers))["shape"] == (3,)
    held = (ctypes.c_float * 4)(1, 2, 3, 4)

    class Interface:
        __array_interface__ = {"shape": (2, 2), "typestr": "<f4", "data": (ctypes.addressof(held), False), "version": 3}

    assert facts(Interface())["data"] == ctypes.addressof(held)
    assert not facts(memoryview(b"abc"))["writable"]


@needs_torch
def test_torch_views_and_parameters():
    view = torch.zeros(4, 6)[::2, 1:].t()
    found = facts(view)
    assert found["data"] == view.data_ptr() and found["strides"] == (1, 12) and found["shape"] == (5, 2)
    parameter = torch.nn.Parameter(torch.ones(3))
    assert facts(parameter)["data"] == parameter.data_ptr()
    assert facts(torch.tensor(3.0))["shape"] == ()


@needs_torch
def test_torch_dtypes_that_no_operator_accepts_are_named():
    names = ["complex32"] + ["float8_e4m3fn"] * hasattr(torch, "float8_e4m3fn")
    for name in names:
        with pytest.raises(TypeError, match=rf"^weight has dtype torch\.{name}; accepted are float32"):
            openaclnn.embedding(torch.zeros(2, 2, dtype=torch.float16).to(getattr(torch, name)), torch.tensor([1]))


@needs_torch
def test_torch_tensors_without_elements_are_refused():
    refused = (TypeError, ValueError)
    with pytest.raises(refused, match="grad_y"):
        openaclnn.grouped_bias_add_grad(torch.zeros(2, 2, 2, device="meta"))
    with pytest.raises(refused, match="grad_y"):
        openaclnn.grouped_bias_add_grad(torch.zeros(2, 2).to_sparse())
    if torch_version() >= (2, 0):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            with pytest.raises(TypeError, match="holds other tensors"):
                openaclnn.grouped_bias_add_grad(torch.zeros(2, 2, 2))


@needs_jax
def test_jax_arrays_are_read_only():
    import jax
    import jax.numpy as jnp

    values = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    assert facts(values)["shape"] == (2, 3) and not facts(values)["writable"]
    assert facts(jnp.zeros(2, jnp.bfloat16))["dtype"] == 27
    with pytest.raises(ValueError, match="openaclnn.jax"):
        openaclnn.apply_fused_ema_adam_(*[values] * 5, 1)
    with pytest.raises(TypeError, match="traced by JAX"):
        jax.jit(lambda x: openaclnn.grouped_bias_add_grad(x))(values)


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, "text", object()])
def test_other_objects_are_refused_not_copied(value):
    with pytest.raises(TypeError, match="grad_y is of type"):
        openaclnn.grouped_bias_add_grad(value)


def test_odd_numpy_arrays_are_refused():
    with pytest.raises(TypeError, match="dtype >f4"):
        facts(np.zeros(2, ">f4"))
    with pytest.raises(TypeError, match="datetime64"):
        facts(np.zeros(2, "M8[s]"))
    records = np.zeros(4, [("a", "f4"), ("b", "i1")])
    with pytest.raises(ValueError, match="stride of 5 bytes"):
        facts(records["a"])
    with pytest.raises(ValueError, match="rank 9"):
        facts(np.zeros((1,) * 9, np.float32))


def test_read_only_outputs_are_refused():
    var = np.zeros(3, np.float32)
    var.flags.writeable = False
    others = [np.zeros(3, np.float32) for _ in range(4)]
    with pytest.raises(ValueError, match="var is read-only"):
        openaclnn.apply_fused_ema_adam_(others[0], var, *others[1:], 1)
    with pytest.raises(ValueError, match="out is read-only"):
        openaclnn.embedding(np.zeros((2, 2), np.float32), np.array([0]), out=np.broadcast_to(np.float32(0), (1, 2)))


class Namespace:
    """The only required function of the array API standard."""

    @staticmethod
    def empty(shape, dtype, device):
        return np.empty(shape, dtype)


class OnlyDlpack:
    """An array of an unknown library."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return Namespace

    dtype = property(lambda self: self.values.dtype)
    device = property(lambda self: "cpu")


def test_unknown_libraries_come_through_dlpack():
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert facts(OnlyDlpack(table))["data"] == table.ctypes.data
    rows = openaclnn.embedding(OnlyDlpack(table), OnlyDlpack(np.array([3, 1])))
    assert np.array_equal(rows, table[[3, 1]])


@needs_torch
def test_reading_an_array_keeps_no_reference_to_a_library():
    indices = np.array([1, 2]).view(type("Subclass", (np.ndarray,), {}))
    before = sys.getrefcount(torch)
    for _ in range(100):
        openaclnn.embedding_counts(indices, 3)
    assert sys.getrefcount(torch) - before < 10


def test_errors_of_dlpack_are_causes():
    class Deleted(OnlyDlpack):
        def __dlpack__(self, **options):
            raise RuntimeError("the buffer was donated")

    with pytest.raises(TypeError, match="grad_y is of type .*Deleted'>, whose __dlpack__ failed: the buffer was donated") as raised:
        openaclnn.grouped_bias_add_grad(Deleted(np.ones((2, 2), np.float32)), np.array([2]))
    assert isinstance(raised.value.__cause__, RuntimeError)


@pytest.mark.parametrize("name", FLOATS)
def test_results_belong_to_the_library_of_the_arguments(name):
    rows = np.ones((2, 3, 4), numpy_dtype(name))
    assert isinstance(openaclnn.grouped_bias_add_grad(rows), np.ndarray)
    assert openaclnn.grouped_bias_add_grad(rows).dtype == rows.dtype
    if torch is not None:
        result = openaclnn.grouped_bias_add_grad(torch.ones(2, 3, 4, dtype=getattr(torch, name)))
        assert isinstance(result, torch.Tensor) and result.dtype == getattr(torch, name)
        assert torch.equal(result, torch.full((2, 4), 3, dtype=result.dtype))


@needs_jax
@pytest.mark.parametrize("name", FLOATS)
def test_jax_arguments_give_jax_results(name):
    import jax
    import jax.numpy as jnp

    result = openaclnn.grouped_bias_add_grad(jnp.ones((2, 3, 4), name))
    assert isinstance(result, jax.Array) and str(result.dtype) == name
    assert np.array_equal(np.asarray(result).astype(np.float32), np.full((2, 4), 3))


def test_bfloat16_needs_no_import_of_ml_dtypes_by_the_caller():
    assert openaclnn.grouped_bias_add_grad(np.ones((1, 2, 2), ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16


@needs_torch
def test_lazy_conjugates_and_negatives_are_refused():
    numbers = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6 + 0j]])
    with pytest.raises(TypeError, match="weight is a conjugate that PyTorch has not computed yet"):
        openaclnn.embedding(numbers.conj(), torch.tensor([0]))
    assert torch.equal(openaclnn.embedding(numbers.conj().resolve_conj(), torch.tensor([1])), numbers.conj()[1:])
    negative = numbers.conj().imag  # the imaginary parts, with a flag
    for view in (negative, negative[:1, :1], negative.t()[1:]):
        assert view.is_neg()
        with pytest.raises(TypeError, match="weight is a negative that PyTorch has not computed yet"):
            openaclnn.embedding(view, torch.tensor([0]))
    assert torch.equal(openaclnn.embedding(negative.resolve_neg(), torch.tensor([0])), -numbers.imag[:1])
    assert torch.equal(openaclnn.embedding(numbers.imag, torch.tensor([0])), numbers.imag[:1])


def test_entries_of_lists_live_as_long_as_the_call():
    """A list that loses its entries while the package reads them, as by another thread while the operator computes."""
    class Watching:
        memory = np.ones(2, np.float32)

        def __init__(self, then):
            self.then = then

        @property
        def __array_interface__(self):
            self.then()
            return self.memory.__array_interface__

    alive = []

    def look():
        alive.append(entry() is not None)
        raise AttributeError  # ends the call

    class Entry(np.ndarray):  # supports weak references
        pass

    moments = [np.ones(2, np.float32).view(Entry)]
    entry = weakref.ref(moments[0])
    clearing, looking = Watching(moments.clear), Watching(look)
    moments.append(clearing)
    others = [np.ones(2, np.float32) for _ in range(4)]
    with pytest.raises(TypeError, match=r"v\[1\]"):
        openaclnn.apply_fused_ema_adam_(others[:2], others[2:], moments, [others[0], looking], others[:2], 1)
    assert alive and all(alive) and not moments
    assert entry() is None  # and no longer
