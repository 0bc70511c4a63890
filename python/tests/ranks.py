# One process of a group for test_distributed.py: runs every case, compares with one process, and writes the results.
"""usage: ranks.py RANK SIZE FOLDER; results go to FOLDER/RANK.json: a case's name, then "ok" or its traceback."""
import json
import pathlib
import sys
import traceback

import torch
import torch.distributed as dist

import openaclnn.torch as oat
from openaclnn.torch import distributed, versions

ROWS, COLUMNS = 11, 6


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(oat.Embedding(ROWS, COLUMNS), torch.nn.Linear(COLUMNS, 8), torch.nn.Tanh(),
                               torch.nn.Linear(8, 4))


def batch(step, count=16):
    return torch.randint(0, ROWS, (count, 3), generator=torch.Generator().manual_seed(step))


def train(model, optimizer, steps, part=slice(None)):
    for step in range(steps):
        optimizer.zero_grad()
        model(batch(step)[part]).square().mean().backward()
        optimizer.step()


def whole(steps=4, **options):
    """Computes the results of a single process."""
    model = network()
    optimizer = oat.FusedEmaAdamW(model.parameters(), lr=0.05, ema_decay=0.9, **options)
    train(model, optimizer, steps)
    return model, optimizer


def require_equal(got, want, what, tolerance=None):
    equal = torch.equal(got, want) if tolerance is None else torch.allclose(got, want, atol=tolerance, rtol=tolerance)
    assert equal, f"{what}: {(got - want).abs().max()} apart"


def require_raises(error, call, text=""):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
        return
    raise AssertionError(f"{error.__name__} was not raised")


def require_same_on_all_ranks(tensor):
    every = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(every, tensor.detach().contiguous())
    for other in every:
        assert torch.equal(other, tensor), "ranks differ"


def data_parallel(rank, size, folder):
    """DDP over parts of the batch: ranks agree bit by bit, and with one process up to the order of the batch's sum."""
    model = torch.nn.parallel.DistributedDataParallel(network())
    optimizer = oat.FusedEmaAdamW(model.parameters(), lr=0.05, ema_decay=0.9)
    train(model, optimizer, 4, slice(rank * 16 // size, (rank + 1) * 16 // size))
    expected, other = whole()
    for got, want in zip(model.parameters(), expected.parameters()):
        require_same_on_all_ranks(got)
        require_equal(got, want, "parameter", 2e-3)
        require_equal(optimizer.state[got]["ema_params"], other.state[want]["ema_params"], "average", 2e-3)


def zero_redundancy_without_a_share(rank, size, folder):
    """ZeroRedundancyOptimizer with fewer parameters than processes: processes without parameters count steps as the others
    do."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = ZeroRedundancyOptimizer([parameter], optimizer_class=oat.FusedEmaAdamW, lr=0.05)
    for _ in range(3):
        parameter.grad = torch.ones(3)
        optimizer.step()
    assert optimizer.param_groups[0]["ema_updates"] == 3, optimizer.param_groups[0]["ema_updates"]


def zero_redundancy(rank, size, folder):
    """ZeroRedundancyOptimizer: each process updates some parameters; the bits are those of one process."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = network()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=oat.FusedEmaAdamW, lr=0.05, ema_decay=0.9)
    train(model, optimizer, 4)
    expected, other = whole()
    optimizer.consolidate_state_dict(0)
    if rank == 0:
        state = optimizer.state_dict()
        averages = [state["state"][n]["ema_params"] for n in range(len(list(model.parameters())))]
        for average, want in zip(averages, expected.parameters()):
            require_equal(average, other.state[want]["ema_params"], "average")
        torch.save(state, folder / "zero.pt")
    for got, want in zip(model.parameters(), expected.parameters()):
        require_equal(got, want, "parameter")


def fully_sharded(rank, size, folder):
    """FSDP2: state consists of DTensors. Its bits and the checkpoint are those of one process."""
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_optimizer_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (size,))
    model = fully_shard(network(), mesh=mesh)
    optimizer = oat.FusedEmaAdamW(model.parameters(), lr=0.05, ema_decay=0.9)
    train(model, optimizer, 4)
    expected, other = whole()
    for got, want in zip(model.parameters(), expected.parameters()):
        average = optimizer.state[got]["ema_params"]
        assert versions.is_dtensor(average) and average.placements == got.placements
        require_equal(got.full_tensor(), want.detach(), "parameter")
        require_equal(average.full_tensor(), other.state[want]["ema_params"], "average")
    with optimizer.swap_ema():
        require_equal(next(model.parameters()).full_tensor(), other.state[next(expected.parameters())]["ema_params"], "swap")
    saved = get_optimizer_state_dict(model, optimizer, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(saved, folder / "fsdp.pt")
    # sharded checkpoint: into another optimizer of the same group
    sharded = get_optimizer_state_dict(model, optimizer)
    checkpoint.save({"optimizer": sharded}, checkpoint_id=folder / "sharded")
    second = fully_shard(network(), mesh=mesh)
    again = oat.FusedEmaAdamW(second.parameters(), lr=0.5, ema_decay=0.9)
    loaded = {"optimizer": get_optimizer_state_dict(second, again)}
    checkpoint.load(loaded, checkpoint_id=folder / "sharded")
    set_optimizer_state_dict(second, again, loaded["optimizer"])
    for got, want in zip(second.parameters(), model.parameters()):
        require_equal(again.state[got]["ema_params"].full_tensor(), optimizer.state[want]["ema_params"].full_tensor(), "loaded")
    assert again.param_groups[0]["ema_updates"] == 4, again.param_groups[0]["ema_updates"]


def sequence_parallel(rank, size, folder):
    """Tensor parallelism over a sequence: each process's gradient of a whole parameter is a part of a sum."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module

    tokens = torch.randn(3, 8, COLUMNS, generator=torch.Generator().manual_seed(8))
    part = slice(rank * 8 // size, (rank + 1) * 8 // size)
    model, expected = torch.nn.LayerNorm(COLUMNS), torch.nn.LayerNorm(COLUMNS)
    parallelize_module(model, init_device_mesh("cpu", (size,)), SequenceParallel())
    ours, theirs = (oat.FusedEmaAdamW(module.parameters(), lr=0.05, ema_decay=0.9) for module in (model, expected))
    for _ in range(3):
        model(tokens[:, part]).to_local().sin().sum().backward()
        expected(tokens).sin().sum().backward()
        assert any(placement.is_partial() for placement in model.weight.grad.placements)
        for optimizer in (ours, theirs):
            optimizer.step()
            optimizer.zero_grad()
    for got, want in zip(model.parameters(), expected.parameters()):
        require_same_on_all_ranks(got.to_local())
        require_equal(got.to_local(), want, "parameter", 1e-4)
        require_equal(ours.state[got]["exp_avg"].to_local(), theirs.state[want]["exp_avg"], "moment", 1e-4)


def tensor_parallel(rank, size, folder):
    """torch.nn.Embedding with a table split by rows or columns, while openaclnn computes gradients: one process's gradient."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh, ids, table = init_device_mesh("cpu", (size,)), batch(1), torch.randn(12, 8, generator=torch.Generator().manual_seed(9))
    oat.enable_embedding_backward()
    try:
        expected = table.clone().requires_grad_()
        torch.nn.functional.embedding(ids, expected).sin().sum().backward()
        for style in (RowwiseParallel(input_layouts=Replicate()), ColwiseParallel(output_layouts=Replicate())):
            module = parallelize_module(torch.nn.Embedding.from_pretrained(table, freeze=False), mesh, style)
            module(ids).sin().sum().backward()
            require_equal(module.weight.grad.full_tensor(), expected.grad, "gradient", 1e-5)
            ours = parallelize_module(oat.Embedding.from_pretrained(table, freeze=False), mesh, style)
            require_raises(NotImplementedError, lambda: ours(ids), "use torch.nn.Embedding after")
    finally:
        oat.disable_embedding_backward()


def vocabulary_parallel(rank, size, folder):
    """A table split over processes: forward and gradients have the bits of a whole table."""
    ids = batch(1)
    for padding, scale in ((None, False), (2, False), (2, True)):
        table = oat.Embedding(ROWS, COLUMNS, padding_idx=padding, scale_grad_by_freq=scale)
        with torch.no_grad():
            table.weight.copy_(torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(1)))
        part = distributed.VocabParallelEmbedding(ROWS, COLUMNS, padding, scale_grad_by_freq=scale)
        part.load_whole(table.weight)
        got, want = part(ids), table(ids)
        require_equal(got, want, "rows")
        got.sin().sum().backward()
        want.sin().sum().backward()
        require_equal(part.weight.grad, table.weight.grad[part.vocab_start:part.vocab_end], "gradient")
    last = distributed.VocabParallelEmbedding(ROWS, COLUMNS, -1)  # the last row, as in torch.nn.Embedding
    assert last.padding_idx == ROWS - 1
    if last.vocab_end == ROWS:
        assert last.weight[-1].eq(0).all() and last.weight[:-1].ne(0).all()
    else:
        assert last.weight.ne(0).all()
    last(torch.tensor([0, ROWS - 1])).sum().backward()
    if last.vocab_end == ROWS:
        assert last.weight.grad[-1].eq(0).all()
    require_raises(IndexError, lambda: part(torch.tensor([ROWS])))
    assert f"(11, 6, padding_idx=10, rows=[{last.vocab_start}, {last.vocab_end}))" in repr(last), last
    if versions.VERSION >= (2, 0):
        made = distributed.VocabParallelEmbedding(ROWS, COLUMNS, -1, device="meta").to_empty(device="cpu")
        torch.manual_seed(4)
        made.reset_parameters()
        torch.manual_seed(4)
        require_equal(made.weight, distributed.VocabParallelEmbedding(ROWS, COLUMNS, -1).weight, "first values")
    few = torch.ones(part.vocab_end - part.vocab_start, dtype=torch.int64)
    require_raises(ValueError, lambda: part(ids, counts=few), "it must be [11]")
    require_raises(ValueError, lambda: part(ids, counts=torch.ones(ROWS, 1, dtype=torch.int64)), "it must be [11]")
    require_raises(TypeError, lambda: part(ids, counts=[1] * ROWS), "a tensor int64 [11] is needed")
    require_raises(TypeError, lambda: part(ids, counts=torch.ones(ROWS)), "counts is torch.float32")
    for padding in (ROWS, -ROWS - 1):
        require_raises(ValueError, lambda: distributed.VocabParallelEmbedding(ROWS, COLUMNS, padding))


def counts_of_the_batch(rank, size, folder):
    """scale_grad_by_freq with a batch that is split over processes: counts of all of it."""
    ids, grad = batch(2), torch.randn(16, 3, COLUMNS, generator=torch.Generator().manual_seed(4))
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    counts = distributed.global_counts(ids[mine], ROWS)
    assert torch.equal(counts, torch.bincount(ids.reshape(-1), minlength=ROWS))
    part = oat.embedding_dense_backward(grad[mine].contiguous(), ids[mine], ROWS, counts=counts)
    dist.all_reduce(part)
    require_equal(part, oat.embedding_dense_backward(grad, ids, ROWS, -1, True), "gradient", 1e-5)


def experts(rank, size, folder):
    """Biases of experts that are split over processes: each has its groups; the bits are those of one process."""
    sizes = torch.tensor([5, 0, 9, 2, 7, 1, 3, 6])
    rows = torch.randn(int(sizes.sum()), COLUMNS, generator=torch.Generator().manual_seed(6))
    expected = oat.grouped_bias_add_grad(rows, sizes, 1)
    mine = slice(rank * 8 // size, (rank + 1) * 8 // size)
    start = int(sizes[:mine.start].sum())
    local = rows[start:start + int(sizes[mine].sum())]
    require_equal(oat.grouped_bias_add_grad(local, sizes[mine], 1), expected[mine], "sums")


def token_compression(rank, size, folder):
    """Heads, or windows of one sequence, split over processes."""
    generator = torch.Generator().manual_seed(7)
    tokens, weight = torch.randn(50, 4, 5, generator=generator), torch.randn(8, 4, generator=generator)
    expected = oat.nsa_compress(tokens, weight, 8, 4)
    grad = torch.randn(expected.shape, generator=generator)
    wanted = oat.nsa_compress_grad(grad, tokens, weight, 8, 4)
    heads = slice(rank * 4 // size, (rank + 1) * 4 // size)
    require_equal(oat.nsa_compress(tokens[:, heads], weight[:, heads], 8, 4), expected[:, heads], "heads")
    for got, want in zip(oat.nsa_compress_grad(grad[:, heads], tokens[:, heads], weight[:, heads], 8, 4), wanted):
        require_equal(got, want[:, heads], "gradient of heads")
    start, end, first, after = distributed.nsa_piece(50, 8, 4)
    piece = oat.nsa_compress(tokens[start:end], weight, 8, 4)
    require_equal(piece, expected[first:after], "windows")
    whole_grad, whole_weight = torch.zeros_like(tokens), torch.zeros_like(weight)
    whole_grad[start:end], whole_weight[...] = oat.nsa_compress_grad(grad[first:after], tokens[start:end], weight, 8, 4)
    dist.all_reduce(whole_grad)
    dist.all_reduce(whole_weight)
    require_equal(whole_grad, wanted[0], "gradient of tokens", 1e-5)
    require_equal(whole_weight, wanted[1], "gradient of weights", 1e-4)


CASES = [data_parallel, zero_redundancy, zero_redundancy_without_a_share, fully_sharded, sequence_parallel, tensor_parallel,
         vocabulary_parallel, counts_of_the_batch, experts, token_compression]
NEEDS = {"fully_sharded": (2, 6), "sequence_parallel": (2, 6), "tensor_parallel": (2, 6)}
ARE_WAITED_FOR = {"fully_sharded", "sequence_parallel", "tensor_parallel"}  # if one rank fails, others may wait in a collective


def main(rank, size, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=size)
    dist.barrier()  # otherwise one that fails could end before the others have their connections
    results = {}
    for case in CASES:
        if versions.VERSION < NEEDS.get(case.__name__, (1, 13)):
            continue
        try:
            case(rank, size, folder)
            results[case.__name__] = "ok"
        except Exception:
            results[case.__name__] = traceback.format_exc()
        (folder / f"{rank}.json").write_text(json.dumps(results))
        if results[case.__name__] != "ok" and size > 1 and case.__name__ in ARE_WAITED_FOR:
            break
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
