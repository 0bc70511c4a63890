# Measures PyTorch on the same GPU beside openaclnn's times, as a program without these operators.
"""usage: torch_peers.py SPEED_LOG     the lines of openaclnn_gpu_bench; prints a table of ratios, theirs by ours"""
import json
import statistics
import sys

import torch

try:
    import triton_pool
except ImportError as error:
    triton_pool = None
    print(f"The Triton kernel was not measured: {error}")

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WARM_UPS, RUNS = 3, 20


def microseconds(call):
    """Returns the median time of one call."""
    times = []
    for run in range(WARM_UPS + RUNS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(2_000_000)  # about a millisecond: Python enqueues the launches in this time, and only kernels are timed
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if run >= WARM_UPS:
            times.append(1e3 * start.elapsed_time(end))
    return statistics.median(times)


def scratch_bytes(call):
    """Returns the memory that a call needs in addition to its result."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = call()
    return torch.cuda.max_memory_allocated() - before - result.numel() * result.element_size()


def adam(dtype):
    """Makes one step of the optimizer and of an average of the parameters."""
    numel = 64 << 20
    parameter = torch.zeros(numel, dtype=dtype, device="cuda", requires_grad=True)
    parameter.grad = torch.zeros_like(parameter)
    average = [torch.zeros_like(parameter)]
    for name, options, goal in (("fused AdamW and lerp", {"fused": True}, 1.15), ("default AdamW and lerp", {}, 2.5)):
        optimizer = torch.optim.AdamW([parameter], lr=1e-3, weight_decay=0.01, **options)

        def step():
            optimizer.step()
            torch._foreach_lerp_(average, [parameter.detach()], 0.001)

        yield "ApplyFusedEmaAdam", "64 Mi elements", name, goal, step


def bias(dtype):
    columns, groups = 4096, 64
    rows = (512 << 20) // (columns * dtype.itemsize)
    grad = torch.zeros(rows, columns, dtype=dtype, device="cuda")
    for case, ends in (("512 MiB, equal groups", [rows * (j + 1) // groups for j in range(groups)]),
                       ("512 MiB, one group has nearly all", [*range(groups - 1), rows])):
        sizes = [end - begin for begin, end in zip([0, *ends], ends)]
        group = torch.repeat_interleave(torch.arange(groups, device="cuda"), torch.tensor(sizes, device="cuda"))
        lengths = torch.tensor(sizes, device="cuda")
        balanced = "equal" in case
        yield "GroupedBiasAddGrad", case, "loop of sums", 1.5, lambda: [part.sum(0) for part in grad.split(sizes)]
        yield ("GroupedBiasAddGrad", case, "index_add_", 4,
               lambda: torch.zeros(groups, columns, dtype=dtype, device="cuda").index_add_(0, group, grad))
        yield ("GroupedBiasAddGrad", case, "segment_reduce", 3 if balanced else 50,
               lambda: torch.segment_reduce(grad, "sum", lengths=lengths, unsafe=True))


def embedding(dtype):
    columns = 4096
    rows = (1 << 30) // (columns * dtype.itemsize)
    for count, goal in ((8 << 10, 1.6), (32 << 10, 2)):
        grad = torch.zeros(count, columns, dtype=dtype, device="cuda")
        indices = torch.randint(rows, (count,), device="cuda")
        yield ("EmbeddingDenseBackward", f"{count >> 10} Ki indices, uniform", "embedding_dense_backward", goal,
               lambda grad=grad, indices=indices: torch.ops.aten.embedding_dense_backward(grad, indices, rows, -1, False))


def compression(dtype):
    """Computes the gradient of the weighted-pool token compression: in Triton, and by autograd through a view of all windows."""
    heads, dim = 16, 128
    tokens = (256 << 20) // (heads * dim * dtype.itemsize)
    for block, stride in ((32, 16), (64, 16)):
        case = f"256 MiB, windows of {block} every {stride}"
        input = torch.zeros(tokens, heads, dim, dtype=dtype, device="cuda", requires_grad=True)
        weight = torch.zeros(block, heads, dtype=dtype, device="cuda", requires_grad=True)
        windows = (tokens - block) // stride + 1
        grad = torch.zeros(windows, heads, dim, dtype=dtype, device="cuda")
        if triton_pool is not None:
            yield ("NsaCompressGrad", case, "Triton", 5,
                   lambda: triton_pool.compress_grad(grad, input.detach(), weight.detach(), stride))
        output = torch.einsum("pndl,ln->pnd", input.unfold(0, block, stride), weight)
        yield ("NsaCompressGrad", case, "unfold and einsum, autograd", 10,
               lambda: torch.autograd.grad(output, (input, weight), grad, retain_graph=True))


def say(operator, case, dtype, what, theirs, ratio, goal):
    verdict = "met" if ratio >= goal else "**missed**"
    print(f"| {operator} | {case} | {dtype} | {what} | {theirs} | {ratio:.2f} | ≥ {goal} | {verdict} |")


def main():
    ours = {}
    with open(sys.argv[1]) as log:
        for row in (json.loads(line) for line in log if line.startswith("{")):
            ours[row["operator"], row["case"], row["dtype"]] = row
    print("| operator | case | dtype | PyTorch | µs | times ours | goal | |\n|---|---|---|---|---|---|---|---|")
    for name, dtype in DTYPES.items():
        for peers in (adam, bias, embedding, compression):
            for operator, case, what, goal, call in peers(dtype):
                try:
                    theirs = microseconds(call)
                except Exception as error:  # Triton's compiler has many ways to fail
                    print(f"| {operator} | {case} | {name} | {what} | not measured: {str(error).splitlines()[0]} | | | |")
                    continue
                row = ours[operator, case, name]
                say(operator, case, name, what, f"{theirs:.1f}", theirs / row["microseconds"], goal)
                if operator == "EmbeddingDenseBackward":
                    scratch = scratch_bytes(call)
                    say(operator, case, name, "scratch memory", f"{scratch} bytes", scratch / max(row["workspace"], 1), 10)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
