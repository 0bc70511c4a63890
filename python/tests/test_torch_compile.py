# Tests torch.compile beyond single operators: the override of aten's gradient of embeddings, packed sequences, autocast.
import copy
import os
import random
import subprocess
import sys

import pytest

from conftest import needs_newer_torch, needs_torch, torch, torch_version
from training import equal, model

if torch is not None:
    import openaclnn.torch as oat

pytestmark = needs_torch


@needs_newer_torch(2, 1)
def test_override_of_aten():
    ids, weight = torch.randint(0, 50, (600,)), torch.randn(50, 8)

    def gradient():
        table = weight.clone().requires_grad_()
        torch.nn.functional.embedding(ids, table, padding_idx=3, scale_grad_by_freq=True).sin().sum().backward()
        return table.grad

    before = gradient()
    grad = torch.cos(torch.nn.functional.embedding(ids, weight))
    oat.enable_embedding_backward()
    try:
        assert torch.equal(gradient(), oat.embedding_dense_backward(grad, ids, 50, 3, True))
        double = torch.nn.functional.embedding(ids, weight.double().requires_grad_(), padding_idx=3)
        double.sum().backward()
    finally:
        oat.disable_embedding_backward()
    assert torch.equal(gradient(), before) and torch.allclose(before, oat.embedding_dense_backward(grad, ids, 50, 3, True),
                                                              atol=1e-5)


@needs_newer_torch(2, 1)
def test_sparse_gradients_stay_those_of_aten():
    table = torch.nn.Embedding(5, 3, sparse=True)
    oat.enable_embedding_backward()
    try:
        table(torch.tensor([1, 1])).sum().backward()
    finally:
        oat.disable_embedding_backward()
    assert table.weight.grad.is_sparse and table.weight.grad.to_dense()[1].eq(2).all()


@needs_newer_torch(2, 1)
def test_override_of_aten_in_transforms():
    func, ids, table = torch.func, torch.randint(0, 50, (4, 200)), torch.randn(50, 8)

    def loss(table, ids):
        return torch.nn.functional.embedding(ids, table, padding_idx=3).pow(3).sum()

    gradient = func.grad(loss)
    calls = {
        "of each example": lambda: func.vmap(gradient, in_dims=(None, 0))(table, ids),
        "second": lambda: func.grad(lambda table: gradient(table, ids).pow(2).sum())(table),
        "forward over reverse": lambda: func.jvp(lambda table: gradient(table, ids), (table,), (torch.ones_like(table),))[1],
    }
    if torch_version() >= (2, 4):
        torch._dynamo.reset()
        calls["compiled"] = lambda: torch.compile(gradient, backend="aot_eager")(table, ids)
    before = {name: call() for name, call in calls.items()}
    rows = 3 * torch.nn.functional.embedding(ids, table).pow(2)
    oat.enable_embedding_backward()
    try:
        assert torch.equal(gradient(table, ids), oat.embedding_dense_backward(rows, ids, 50, 3))
        for name, call in calls.items():
            assert torch.allclose(call(), before[name], rtol=1e-4, atol=1e-4), name
    finally:
        oat.disable_embedding_backward()


INDUCTOR = """if True:
    import torch
    import openaclnn.torch as oat

    torch.manual_seed(0)
    module = torch.nn.Embedding(50, 8)
    ids, grad = torch.randint(0, 3, (5000,)), torch.randn(5000, 8)
    compiled = torch.compile(module)

    def gradient(function):
        module.weight.grad = None
        function(ids).backward(grad)
        return module.weight.grad

    want = oat.embedding_dense_backward(grad, ids, 50)
    gradient(compiled)  # PyTorch's, in the memory and in the files of the compiler
    oat.enable_embedding_backward()
    assert torch.equal(gradient(module), want), "without the compiler"
    assert torch.equal(gradient(compiled), want), "compiled"
    oat.disable_embedding_backward()
    calls = []
    oat.kernels._native.embedding_dense_backward = lambda *given: calls.append(given)
    gradient(compiled)
    assert not calls, "compiled, after it was given back"
    print("three gradients")
"""


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_override_of_aten_in_compiled_functions(tmp_path):
    """It runs in its own process with its own compiler cache: cached functions must not be used again."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", INDUCTOR], capture_output=True, text=True, env=environment)
    if "No working C++ compiler" in done.stderr or "InvalidCxxCompiler" in done.stderr:
        pytest.skip("torch.compile finds no C++ compiler")
    assert "three gradients" in done.stdout, done.stdout + done.stderr[-3000:]


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_packed_sequences_are_compiled_once_for_a_number_of_sequences():
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    def compress(tokens, weight, lengths):
        return oat.nsa_compress(tokens, weight, 4, 2, actual_seq_len=lengths) * 2

    torch._dynamo.reset()
    function = torch.compile(compress, backend=backend, fullgraph=True)
    values = [torch.randn(64, 2, 3, requires_grad=True), torch.randn(4, 2, requires_grad=True)]
    for _ in range(20):
        ends = [*sorted(random.sample(range(1, 64), 2)), 64]
        got, want = function(*values, ends), compress(*values, ends)
        assert torch.equal(got, want)
        for a, b in zip(*(torch.autograd.grad(out.square().sum(), values) for out in (got, want))):
            assert torch.equal(a, b)
    assert len(compiled) <= 2  # for these numbers, then for any
    function(*values, [30, 64, 64])  # two sequences and an empty one
    assert len(compiled) <= 2


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_steps_of_adam_w_are_compiled_once():
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    torch._dynamo.reset()
    step = torch.compile(oat.apply_adam_w_, backend=backend, fullgraph=True)
    grad, got = torch.randn(5), [torch.ones(5), torch.zeros(5), torch.zeros(5)]
    want = copy.deepcopy(got)
    for steps_done in range(1, 13):
        step(grad, *got, steps_done)
        oat.apply_adam_w_(grad, *want, steps_done)
        assert all(map(torch.equal, got, want))
    assert len(compiled) <= 2  # for this number, then for any


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_autocast_in_compiled_functions():
    torch._dynamo.reset()
    module, tokens = oat.NsaCompress(2, 4, 2), torch.randn(8, 2, 3)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(torch.compile(module, backend="aot_eager", fullgraph=True)(tokens), module(tokens))


COMPILED_STEPS = {
    "default": {}, "capturable": dict(capturable=True, ema_warmup=False), "single": dict(foreach=False, maximize=True),
    "tensor": dict(capturable=True, ema_warmup=False, numbers=lambda: dict(lr=torch.tensor(0.01))),
    "tensor betas": dict(numbers=lambda: dict(lr=0.01, betas=(torch.tensor(0.8), torch.tensor(0.99)))),
    "scaled": dict(amp_scaling=True, ema_warmup=False)}


@needs_newer_torch(2, 4)
@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED_STEPS)
def test_compiled_steps(name):
    """One graph without breaks, also with a schedule if lr is a tensor, after a load, and if a parameter has no gradient."""
    options = dict(COMPILED_STEPS[name])
    numbers = options.pop("numbers", lambda: dict(lr=0.01))
    networks = model(), model()
    optimizers = [oat.FusedEmaAdamW(network.parameters(), **numbers(), **options) for network in networks]
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    torch._dynamo.reset()
    steps = torch.compile(optimizers[0].step, backend=backend, fullgraph=True), optimizers[1].step
    schedulers = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n)) for optimizer in optimizers
                  if name == "tensor"]

    def train_both(start, count):
        for n in range(start, start + count):
            values = torch.randn(16, 6, generator=torch.Generator().manual_seed(n))
            for network, optimizer, step in zip(networks, optimizers, steps):
                optimizer.zero_grad()
                network(values).square().sum().backward()
                if n == 14:
                    network[0].weight.grad = None
                if name in ("capturable", "scaled"):  # as a gradient scaler does
                    optimizer.grad_scale, optimizer.found_inf = torch.ones(1), torch.full((1,), float(n in (8, 15)))
                step()
            for scheduler in schedulers:
                scheduler.step()

    train_both(0, 12)
    assert len(graphs) <= 2  # for the first count of updates, then for any
    for optimizer in optimizers:
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    train_both(12, 6)
    equal(*networks)
    for one, other in zip(*(optimizer.state.values() for optimizer in optimizers)):
        assert torch.equal(one["ema_params"], other["ema_params"]) and torch.equal(one["step"], other["step"])
    assert optimizers[0].param_groups[0]["ema_updates"] == 18


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_errors_of_a_compiled_step_name_the_step():
    torch._dynamo.reset()
    network = model()
    optimizer = oat.FusedEmaAdamW(network.parameters())
    step = torch.compile(optimizer.step, backend="aot_eager", fullgraph=True)
    network(torch.ones(1, 6)).sum().backward()
    step()
    optimizer.state[network[0].weight]["exp_avg"] = torch.zeros(7)
    with pytest.raises(RuntimeError, match=r"^FusedEmaAdamW\.step: .*shape"):
        step()


@needs_newer_torch(2, 4)
@pytest.mark.slow
def test_a_compiled_step_does_not_skip_a_warm_up():
    """The operator reads found_inf, but Python counts the updates of the warm-up."""
    torch._dynamo.reset()
    network = model()
    optimizer = oat.FusedEmaAdamW(network.parameters(), amp_scaling=True)
    network(torch.ones(1, 6)).sum().backward()
    optimizer.found_inf = torch.ones(1)
    with pytest.raises(RuntimeError, match="ema_warmup=False"):
        torch.compile(optimizer.step, backend="aot_eager", fullgraph=True)()
    assert optimizer.param_groups[0]["ema_updates"] == 0
