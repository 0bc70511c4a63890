# Tests derivatives of the operators of PyTorch: first and higher order, forward mode, transforms of torch.func.
import pytest

from conftest import needs_newer_torch, needs_torch, torch

if torch is not None:
    import openaclnn.torch as oat
    from openaclnn.torch import distributed, kernels

pytestmark = needs_torch
CASES = ["embedding", "grouped_bias_add", "nsa_compress"]


def case(name):
    """A function of openaclnn, the equivalent of PyTorch, and their arguments."""
    ids, ends, group_of_row = torch.tensor([[1, 6], [1, 0]]), torch.tensor([2, 2, 8]), torch.tensor([0, 0, 2, 2, 2, 2, 2, 2])

    def windows(tokens, weight):
        pieces = [tokens[start:end].unfold(0, 4, 2) for start, end in ((0, 9), (9, 20))]
        return torch.einsum("jndl,ln->jnd", torch.cat(pieces), weight)

    return {
        "embedding": (lambda table: oat.embedding(table, ids), lambda table: table[ids], [torch.randn(7, 3)]),
        "grouped_bias_add": (lambda x, bias: oat.grouped_bias_add(x, bias, ends),
                             lambda x, bias: torch.cat([x[:8] + bias[group_of_row], x[8:]]),
                             [torch.randn(9, 4), torch.randn(3, 4)]),
        "nsa_compress": (lambda tokens, weight: oat.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[9, 20]), windows,
                         # Small numbers: derivatives of sin(x**2) grow so fast that two orders of additions differ visibly.
                         [torch.randn(20, 2, 3) / 2, torch.randn(4, 2) / 2])}[name]


def require_close(got, want):
    if isinstance(got, torch.Tensor):
        assert torch.allclose(got, want, atol=1e-4, rtol=1e-4), (got - want).abs().max()
    else:
        assert len(got) == len(want)
        for a, b in zip(got, want):
            require_close(a, b)


def scalar(function):
    return lambda *values: function(*values).square().sin().sum()


def gradients(function, *inputs):
    """Returns gradients of a random projection of the result, the same projection in every call."""
    inputs = [value.detach().clone().requires_grad_() for value in inputs]
    out = function(*inputs)
    generator = torch.Generator().manual_seed(7)
    (out * torch.randn(out.shape, generator=generator)).sum().backward()
    return out.detach(), [value.grad for value in inputs]


def check_against(ours, theirs, *inputs):
    out, grads = gradients(ours, *inputs)
    expected, wanted = gradients(theirs, *inputs)
    assert torch.allclose(out, expected, atol=1e-5)
    for got, want in zip(grads, wanted):
        assert torch.allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("padding, scale", [(-1, False), (2, False), (2, True)])
def test_embedding_against_torch(padding, scale):
    ids = torch.randint(0, 6, (4, 5))
    check_against(lambda table: oat.embedding(table, ids, padding, scale),
                  lambda table: torch.nn.functional.embedding(ids, table, padding if padding >= 0 else None,
                                                              scale_grad_by_freq=scale), torch.randn(6, 3))


def test_grouped_bias_add_against_torch():
    group_of_row = torch.tensor([0, 0, 2, 2, 2])
    check_against(lambda x, bias: oat.grouped_bias_add(x, bias, torch.tensor([2, 2, 5])),
                  lambda x, bias: x + bias[group_of_row], torch.randn(5, 3), torch.randn(3, 3))
    x = torch.randn(5, 3)
    assert torch.equal(oat.grouped_bias_add(x, torch.ones(1, 3), torch.tensor([2]))[2:], x[2:])
    with pytest.raises(IndexError, match=r"group_idx\[1\] = 1"):
        oat.grouped_bias_add(x, torch.ones(2, 3), torch.tensor([2, 1]))


@pytest.mark.parametrize("x, bias, rows, total", [
    ("bfloat16", "float32", [1] * 257, 257), ("bfloat16", "float16", [1] * 257, 257), ("float16", "float32", [2**15] * 4, 2**17),
    ("float16", "bfloat16", [2**15] * 4, 2**17), ("float32", "float16", [2**17, -(2**17), 1, 1], 2)])
def test_gradients_of_a_bias_are_summed_in_the_wider_dtype(x, bias, rows, total):
    """The bias's dtype has the total. The rows' dtype lacks it, except in the last case, where the bias's dtype lacks rows."""
    rows = torch.tensor(rows, dtype=getattr(torch, x)).unsqueeze(1).requires_grad_()
    bias = torch.zeros(1, 1, dtype=getattr(torch, bias), requires_grad=True)
    out = oat.grouped_bias_add(torch.zeros_like(rows), bias, torch.tensor([len(rows)]))
    grad, = torch.autograd.grad(out, bias, rows, create_graph=True)
    assert grad.dtype == bias.dtype and grad.item() == total
    of_rows, = torch.autograd.grad(grad, rows, torch.full_like(grad, 3))
    assert torch.equal(of_rows, torch.full_like(rows, 3))


def count_calls(monkeypatch, name):
    calls, function = [], getattr(kernels._native, name)
    monkeypatch.setattr(kernels._native, name, lambda *given, **named: calls.append(name) or function(*given, **named))
    return calls


def test_gradients_that_nothing_needs_are_not_computed(monkeypatch):
    sums, products = count_calls(monkeypatch, "grouped_bias_add_grad"), count_calls(monkeypatch, "nsa_compress")
    x, bias = torch.randn(5, 3, requires_grad=True), torch.randn(2, 3)
    oat.grouped_bias_add(x, bias, torch.tensor([2, 5])).sum().backward()
    assert x.grad.eq(1).all() and not sums
    grad, tokens, weight = torch.randn(3, 2, 3), torch.randn(8, 2, 3, requires_grad=True), torch.randn(4, 2)
    oat.nsa_compress_grad(grad, tokens, weight, 4, 2)[1].sum().backward()
    assert tokens.grad is not None and not products


def test_nsa_compress_against_torch():
    def formula(tokens, weight):
        pieces = [tokens[s:e].unfold(0, 4, 2) for s, e in ((0, 9), (9, 20))]
        return torch.einsum("jndl,ln->jnd", torch.cat(pieces), weight)

    check_against(lambda tokens, weight: oat.nsa_compress(tokens, weight, 4, 2, actual_seq_len=[9, 20]), formula,
                  torch.randn(20, 2, 3), torch.randn(4, 2))


@pytest.mark.parametrize("name", CASES)
def test_second_and_third_derivatives(name):
    def derivatives(function, values):
        values = [value.clone().requires_grad_() for value in values]
        found = [scalar(function)(*values)]
        for _ in range(3):
            total = sum(value.square().sum() for value in found)
            found = torch.autograd.grad(total, values, create_graph=True)
            yield found

    ours, theirs, values = case(name)
    for got, want in zip(derivatives(ours, values), derivatives(theirs, values)):
        require_close(got, want)


def test_second_derivative_of_embedding():
    ids = torch.tensor([0, 2, 2])
    grad, direction = torch.randn(3, 2, requires_grad=True), torch.randn(4, 2)
    oat.embedding_dense_backward(grad, ids, 4, 0).backward(direction)
    assert torch.equal(grad.grad, direction[ids] * torch.tensor([[0.0], [1.0], [1.0]]))
    for options in (dict(scale_grad_by_freq=True), dict(counts=torch.tensor([1, 0, 2, 0]))):
        grad.grad = None
        oat.embedding_dense_backward(grad, ids, 4, **options).backward(direction)
        assert torch.equal(grad.grad, direction[ids] * torch.tensor([[1.0], [0.5], [0.5]]))


def test_gradients_of_gradient_functions():
    rows = torch.randn(2, 3, 4, requires_grad=True)
    direction = torch.randn(2, 4)
    oat.grouped_bias_add_grad(rows).backward(direction)
    assert torch.equal(rows.grad, direction.unsqueeze(1).expand(2, 3, 4))
    grad, tokens, weight = torch.randn(9, 2, 3), torch.randn(20, 2, 3), torch.randn(4, 2)

    def formula(*values):
        inputs = [value if value.requires_grad else value.clone().requires_grad_() for value in values[1:]]
        out = torch.einsum("jndl,ln->jnd", inputs[0].unfold(0, 4, 2), inputs[1])
        return torch.autograd.grad(out, inputs, values[0], create_graph=True)

    found = []
    for function in (lambda *values: oat.nsa_compress_grad(*values, 4, 2), formula):
        values = [value.clone().requires_grad_() for value in (grad, tokens, weight)]
        first, second = function(*values)
        found.append(torch.autograd.grad(first.sin().sum() + second.cos().sum(), values))
    require_close(*found)


# float16's largest number is 65,504; after 256, bfloat16 has only even ones.
FREQUENCIES = [("float16", 70_000), ("bfloat16", 257), ("float32", 3), ("float64", 3)]


def check_division(function, name, count):
    """The function returns the gradient of a table of two rows, and all its rows have index 0."""
    rows = torch.ones(count, 1, dtype=getattr(torch, name), requires_grad=True)
    direction = torch.full((2, 1), 300, dtype=rows.dtype)
    grad, = torch.autograd.grad(function(rows, torch.zeros(count, dtype=torch.int64)), rows, direction)
    assert torch.equal(grad, (direction[:1].double() / count).to(rows.dtype).expand(count, 1))


@pytest.mark.parametrize("name, count", FREQUENCIES)
def test_derivatives_of_frequent_rows(name, count):
    check_division(lambda rows, ids: oat.embedding_dense_backward(rows, ids, 2, -1, True), name, count)


@pytest.mark.parametrize("name, count", FREQUENCIES[:3])
def test_derivatives_of_frequent_rows_of_a_spread_table(monkeypatch, name, count):
    monkeypatch.setattr(distributed, "vocab_range", lambda rows, group: (0, rows))
    monkeypatch.setattr(distributed.dist, "all_reduce", lambda values, group: None)
    table = distributed.VocabParallelEmbedding(2, 1, scale_grad_by_freq=True, dtype=getattr(torch, name))
    check_division(lambda rows, ids: torch.autograd.grad(table(ids), table.weight, rows, create_graph=True)[0], name, count)


def test_derivatives_and_errors_of_a_spread_table(monkeypatch):
    monkeypatch.setattr(distributed, "vocab_range", lambda rows, group: (0, rows))
    monkeypatch.setattr(distributed.dist, "all_reduce", lambda values, group: None)
    table = distributed.VocabParallelEmbedding(5, 3)
    grad, = torch.autograd.grad(table(torch.tensor([1])).square().sum(), table.weight, create_graph=True)
    grad.sum().backward()
    assert torch.equal(table.weight.grad, torch.tensor([0.0, 2, 0, 0, 0]).unsqueeze(1).expand(5, 3))
    with pytest.raises(TypeError, match="the table is torch.float64; VocabParallelEmbedding has gradients of"):
        distributed.VocabParallelEmbedding(5, 3, dtype=torch.float64)
    with pytest.raises(TypeError, match="the table is torch.float64"):
        table.double()(torch.tensor([1]))
    with pytest.raises(ValueError, match=r"table has shape \[4, 3\]; it must be \[5, 3\]"):
        table.load_whole(torch.ones(4, 3))


@pytest.mark.parametrize("name", CASES)
def test_forward_mode(name):
    ours, theirs, values = case(name)
    directions = [torch.randn_like(value) for value in values]
    forward = torch.autograd.forward_ad

    def tangent(function):
        with forward.dual_level():
            return forward.unpack_dual(function(*map(forward.make_dual, values, directions))).tangent

    require_close(tangent(ours), tangent(theirs))


def test_forward_mode_of_gradient_functions():
    ids, rows = torch.tensor([0, 2, 2]), torch.randn(3, 2)
    grad, tokens, weight = torch.randn(9, 2, 3), torch.randn(20, 2, 3), torch.randn(4, 2)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        for function in (lambda value: oat.embedding_dense_backward(value, ids, 4, 2, True),
                         lambda value: oat.grouped_bias_add_grad(value, torch.tensor([1, 3]))):
            tangent = forward.unpack_dual(function(forward.make_dual(rows, rows + 1))).tangent
            require_close(tangent, function(rows + 1))
        duals = [forward.make_dual(value, value) for value in (grad, tokens, weight)]
        got = [forward.unpack_dual(value).tangent for value in oat.nsa_compress_grad(*duals, 4, 2)]
    require_close(got, [2 * value for value in oat.nsa_compress_grad(grad, tokens, weight, 4, 2)])


@needs_newer_torch(2, 1)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CASES)
def test_transforms(name):
    func = torch.func
    ours, theirs, values = case(name)
    every = tuple(range(len(values)))
    batch = [torch.stack([value, 2 * value]) for value in values]
    directions = tuple(torch.randn_like(value) for value in values)
    for transformed, inputs in (
            (lambda f: func.grad(scalar(f), every), values), (lambda f: func.jacrev(f, every), values),
            (lambda f: func.jacfwd(f, every), values), (lambda f: func.hessian(scalar(f), every), values),
            (lambda f: func.jacrev(func.jacrev(scalar(f), every), every), values),
            (lambda f: lambda *given: func.jvp(f, given, directions), values), (func.vmap, batch),
            (lambda f: func.vmap(func.grad(scalar(f), every)), batch),
            (lambda f: func.grad(lambda *given: func.vmap(scalar(f))(*given).sum(), every), batch)):
        require_close(transformed(ours)(*inputs), transformed(theirs)(*inputs))


@needs_newer_torch(2, 1)
def test_transforms_of_bare_operators_are_refused():
    """A wrong derivative would be worse. Without derivatives they work."""
    operator, tokens, weight = torch.ops.openaclnn.nsa_compress, torch.randn(20, 2, 3), torch.randn(4, 2)
    for call in (lambda: torch.func.grad(lambda value: operator(value, weight, 4, 2).sum())(tokens),
                 lambda: torch.func.jvp(lambda value: operator(value, weight, 4, 2), (tokens,), (tokens,))):
        with pytest.raises(RuntimeError, match="openaclnn.torch.nsa_compress has"):
            call()
    got = torch.func.grad(lambda value: (value * operator(tokens, weight, 4, 2).sum()).sum())(torch.ones(2))
    assert torch.equal(got, operator(tokens, weight, 4, 2).sum().expand(2))
