# One process of a group for test_distributed_checkpoints.py: trains, writes and reads sharded checkpoints in named stages.
"""usage: ranks_checkpoints.py STAGE RANK SIZE FOLDER; the result goes to FOLDER/STAGE.RANK.json: "ok" or a traceback."""
import json
import os
import pathlib
import signal
import sys
import traceback

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import openaclnn.torch as oat
import ranks
from openaclnn.torch import distributed


def made(mesh=None, lr=0.05, **options):
    """Returns a model, fully sharded if there is a mesh, and its optimizer."""
    from torch.distributed.fsdp import fully_shard

    model = ranks.network()
    if mesh is not None:
        fully_shard(model, mesh=mesh, **options)
    return model, oat.FusedEmaAdamW(model.parameters(), lr=lr, ema_decay=0.9)


def train(model, optimizer, first, last):
    """Takes the steps first to last - 1. Every process has the whole batch, so that gradients are those of one process."""
    for step in range(first, last):
        optimizer.zero_grad()
        model(ranks.batch(step)).square().mean().backward()
        optimizer.step()


def save(model, optimizer, folder):
    checkpoint.save(dict(zip(("model", "optimizer"), get_state_dict(model, optimizer))), checkpoint_id=folder)


def load(model, optimizer, folder, **more):
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    checkpoint.load(state, checkpoint_id=folder, **more)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def whole_of(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def require_as_one_process(model, optimizer, steps):
    """Parameters, moments, averages and counters have the bits of one process that took these steps."""
    expected, other = made()
    train(expected, other, 0, steps)
    for got, want in zip(model.parameters(), expected.parameters()):
        ranks.require_equal(whole_of(got.detach()), want.detach(), "parameter")
        for name in ("step", "exp_avg", "exp_avg_sq", "ema_params"):
            ranks.require_equal(whole_of(optimizer.state[got][name]), other.state[want][name], name)
    updates = optimizer.param_groups[0]["ema_updates"]
    assert updates == steps, f"{updates} updates of the averages"


def require_sharded(optimizer, size):
    """No process holds a whole average."""
    for state in optimizer.state.values():
        average = state["ema_params"]
        held = average.to_local().shape[0]
        assert average.placements == (Shard(0),) and held <= -(-average.shape[0] // size), average


def two(rank, size, folder):
    """Two processes train two steps and save."""
    model, optimizer = made(init_device_mesh("cpu", (size,)))
    train(model, optimizer, 0, 2)
    require_sharded(optimizer, size)
    save(model, optimizer, folder / "of_two")


def four(rank, size, folder):
    """Four processes load what two saved, train two more steps and save."""
    model, optimizer = made(init_device_mesh("cpu", (size,)), lr=0.5)
    load(model, optimizer, folder / "of_two")
    require_sharded(optimizer, size)
    require_as_one_process(model, optimizer, 2)
    train(model, optimizer, 2, 4)
    save(model, optimizer, folder / "of_four")


def one(rank, size, folder):
    """One process without a group loads what four saved, and takes a last step."""
    model, optimizer = made(lr=0.5)
    load(model, optimizer, folder / "of_four", no_dist=True)
    require_as_one_process(model, optimizer, 4)
    train(model, optimizer, 4, 5)
    require_as_one_process(model, optimizer, 5)


def placements(rank, size, folder):
    """DTensors without FSDP: parameters by columns, rows or whole. A checkpoint moves their averages to other placements."""
    mesh = init_device_mesh("cpu", (size,))
    table = torch.randn(8, 12, generator=torch.Generator().manual_seed(5))
    grad = torch.randn(8, 12, generator=torch.Generator().manual_seed(6))
    plain = torch.nn.Parameter(table.clone())
    other = oat.FusedEmaAdamW([plain], lr=0.05, ema_decay=0.9)
    saved = {}
    for placement in (Shard(1), Shard(0), Replicate()):
        parameter = torch.nn.Parameter(distribute_tensor(table, mesh, [placement]))
        optimizer = oat.FusedEmaAdamW([parameter], lr=0.05, ema_decay=0.9)
        for _ in range(3):
            parameter.grad = distribute_tensor(grad, mesh, [placement])
            optimizer.step()
        state = optimizer.state[parameter]
        assert state["ema_params"].placements == (placement,)
        saved[str(placement)] = parameter, state["ema_params"]
    for _ in range(3):
        plain.grad = grad.clone()
        other.step()
    for parameter, average in saved.values():
        ranks.require_equal(parameter.full_tensor().detach(), plain.detach(), "parameter")
        ranks.require_equal(average.full_tensor(), other.state[plain]["ema_params"], "average")
    by_columns, by_rows = saved[str(Shard(1))][1], torch.zeros_like(saved[str(Shard(0))][1])
    checkpoint.save({"average": by_columns}, checkpoint_id=folder / f"placements{size}")
    checkpoint.load({"average": by_rows}, checkpoint_id=folder / f"placements{size}")
    ranks.require_equal(by_rows.full_tensor(), by_columns.full_tensor(), "average by rows")


def zero(rank, size, folder):
    """ZeroRedundancyOptimizer: two processes save a consolidated state, four go on from it."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = ranks.network()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=oat.FusedEmaAdamW, lr=0.05, ema_decay=0.9)
    start = 0 if size == 2 else 2
    if start:
        parts = torch.load(folder / "zero.pt")
        model.load_state_dict(parts["model"])
        optimizer.load_state_dict(parts["optimizer"])
    train(model, optimizer, start, start + 2)
    expected, other = made()
    train(expected, other, 0, start + 2)
    for got, want in zip(model.parameters(), expected.parameters()):
        ranks.require_equal(got.detach(), want.detach(), "parameter")
    optimizer.consolidate_state_dict(0)
    if rank == 0 and start == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "zero.pt")


def cpu_offload(rank, size, folder):
    """CPUOffloadPolicy: parameters, gradients and state stay in memory of the CPU; the bits do not change."""
    from torch.distributed.fsdp import CPUOffloadPolicy

    model, optimizer = made(init_device_mesh("cpu", (size,)), offload_policy=CPUOffloadPolicy(pin_memory=False))
    train(model, optimizer, 0, 2)
    require_as_one_process(model, optimizer, 2)
    for parameter, state in optimizer.state.items():
        assert parameter.device.type == "cpu"
        assert all(value.device.type == "cpu" for value in state.values())


def second_derivatives(rank, size, folder):
    """A penalty of the gradient of a table that is split over processes: the bits are those of a whole table."""
    ids = torch.tensor([[0, 3, 3], [10, 2, 5], [7, 7, 1]])
    for padding, scale in ((None, False), (2, False), (2, True)):
        table = oat.Embedding(ranks.ROWS, ranks.COLUMNS, padding_idx=padding, scale_grad_by_freq=scale)
        with torch.no_grad():
            table.weight.copy_(torch.randn(ranks.ROWS, ranks.COLUMNS, generator=torch.Generator().manual_seed(1)))
        part = distributed.VocabParallelEmbedding(ranks.ROWS, ranks.COLUMNS, padding, scale_grad_by_freq=scale)
        part.load_whole(table.weight)
        found = []
        for module in (part, table):
            first, = torch.autograd.grad(module(ids).sin().sum(), module.weight, create_graph=True)
            second, = torch.autograd.grad(first.square().sum(), module.weight, create_graph=True)
            third, = torch.autograd.grad(second.sin().sum(), module.weight)
            found.append((first, second, third))
        for order, (got, want) in enumerate(zip(*found), 1):
            ranks.require_equal(got.detach(), want.detach()[part.vocab_start:part.vocab_end], f"derivative {order}")


def bits(rank, size, folder):
    """The cases in one group of processes, because starting the processes takes longest."""
    for case in (placements, second_derivatives, cpu_offload):
        case(rank, size, folder)


def killed(rank, size, folder):
    """A checkpoint after every step; in the fourth step the last process is killed."""
    model, optimizer = made(init_device_mesh("cpu", (size,)))
    for step in range(6):
        optimizer.zero_grad()
        loss = model(ranks.batch(step)).square().mean()
        if step == 3 and rank == size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()
        save(model, optimizer, folder / f"after{step + 1}")


def resumed(rank, size, folder):
    """The processes start again from the last complete checkpoint, and end as if nothing had happened."""
    last = max(int(path.parent.name.removeprefix("after")) for path in folder.glob("after*/.metadata"))
    assert last == 3, f"the last complete checkpoint is that of step {last}"
    model, optimizer = made(init_device_mesh("cpu", (size,)), lr=0.5)
    load(model, optimizer, folder / f"after{last}")
    train(model, optimizer, last, 6)
    require_as_one_process(model, optimizer, 6)


def main(stage, rank, size, folder):
    torch.set_num_threads(1)
    if size > 1:
        dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous_{stage}{size}", rank=rank, world_size=size)
    try:
        globals()[stage](rank, size, folder)
        result = "ok"
    except BaseException:  # as errors of checkpoints are
        result = traceback.format_exc()
    (folder / f"{stage}.{rank}.json").write_text(json.dumps(result))
    if result != "ok":
        os._exit(1)  # others may wait in a collective for this process, whose end they notice
    if size > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]))
