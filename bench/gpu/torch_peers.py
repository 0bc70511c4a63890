# Measures PyTorch on the same GPU beside openaclnn's times, as a program without these operators.
"""usage: torch_peers.py SPEED_LOG     the lines of openaclnn_gpu_bench; prints a table: each peer's time, by ours
       torch_peers.py --compile     only compiles, so that a later run finds what torch.compile and Triton made in their caches
"""
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
WARM_UPS, RUNS, REPEATS = 3, 20, 4
ELEMENTWISE = "elementwise"  # nothing is summed up, so that the bits cannot depend on an order


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


def repeats(call):
    """Says whether a few calls had the same bits."""
    def results():
        found = call()
        return [x.clone() for x in (found if isinstance(found, (list, tuple)) else [found])]

    first = results()
    for _ in range(REPEATS - 1):
        if any(not torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)) for a, b in zip(first, results())):
            return "no"
    return "yes"


def random(*shape, dtype, **options):
    """Random numbers as openaclnn_gpu_bench has them: in [0.5, 1)."""
    return torch.rand(*shape, device="cuda").mul_(0.5).add_(0.5).to(dtype).requires_grad_(options.get("requires_grad", False))


def compiled(function):
    return torch.compile(function, dynamic=False)


@compiled
def adamw_and_average(parameter, grad, m, v, average, step):
    """One step by the formula of torch.optim.AdamW, for torch.compile, which makes one kernel of it."""
    lr, beta1, beta2, eps, decay, average_decay = 1e-3, 0.9, 0.999, 1e-8, 0.01, 0.999
    parameter.mul_(1 - lr * decay)
    m.lerp_(grad, 1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = (v / (1 - beta2**step)).sqrt().add_(eps)
    parameter.sub_(lr / (1 - beta1**step) * m / denominator)
    average.lerp_(parameter, 1 - average_decay)


@compiled
def sums_of_equal_groups(grad, groups):
    return grad.view(groups, -1, grad.shape[1]).sum(1)


@compiled
def index_add(grad, group, groups):
    return torch.zeros(groups, grad.shape[1], dtype=grad.dtype, device=grad.device).index_add_(0, group, grad)


@compiled
def embedding_backward(grad, indices, rows):
    return torch.ops.aten.embedding_dense_backward(grad, indices, rows, -1, False)


@compiled
def compress(input, weight, stride):
    return torch.einsum("pndl,ln->pnd", input.unfold(0, weight.shape[0], stride), weight)


def adam(dtype):
    """Makes one step of the optimizer and of an average of the parameters."""
    numel, case = 64 << 20, "64 Mi elements"
    parameter = random(numel, dtype=dtype, requires_grad=True)
    parameter.grad = random(numel, dtype=dtype)
    average = [random(numel, dtype=dtype)]
    for name, options, goal in (("fused AdamW and lerp", {"fused": True}, 1.15), ("default AdamW and lerp", {}, 2.5)):
        optimizer = torch.optim.AdamW([parameter], lr=1e-3, weight_decay=0.01, **options)

        def step():
            optimizer.step()
            torch._foreach_lerp_(average, [parameter.detach()], 0.001)

        yield "ApplyFusedEmaAdam", case, name, goal, step, ELEMENTWISE
    m, v = random(numel, dtype=dtype), random(numel, dtype=dtype)
    count = torch.full((), 10.0, device="cuda")
    yield ("ApplyFusedEmaAdam", case, "AdamW and lerp, compiled", None,
           lambda: adamw_and_average(parameter.detach(), parameter.grad, m, v, average[0], count), ELEMENTWISE)


def bias(dtype):
    columns, groups = 4096, 64
    rows = (512 << 20) // (columns * dtype.itemsize)
    grad = random(rows, columns, dtype=dtype)
    for case, ends in (("512 MiB, equal groups", [rows * (j + 1) // groups for j in range(groups)]),
                       ("512 MiB, one group has nearly all", [*range(groups - 1), rows])):
        sizes = [end - begin for begin, end in zip([0, *ends], ends)]
        group = torch.repeat_interleave(torch.arange(groups, device="cuda"), torch.tensor(sizes, device="cuda"))
        lengths = torch.tensor(sizes, device="cuda")
        balanced = "equal" in case
        yield "GroupedBiasAddGrad", case, "loop of sums", 1.5, lambda: [part.sum(0) for part in grad.split(sizes)], None
        yield ("GroupedBiasAddGrad", case, "index_add_", 4,
               lambda: torch.zeros(groups, columns, dtype=dtype, device="cuda").index_add_(0, group, grad), None)
        yield ("GroupedBiasAddGrad", case, "segment_reduce", 3 if balanced else 50,
               lambda: torch.segment_reduce(grad, "sum", lengths=lengths, unsafe=True), None)
        yield "GroupedBiasAddGrad", case, "index_add_, compiled", None, lambda: index_add(grad, group, groups), None
        if balanced:
            yield "GroupedBiasAddGrad", case, "sum over a view, compiled", None, lambda: sums_of_equal_groups(grad, groups), None


def deterministic(call):
    """A call under torch.use_deterministic_algorithms."""
    def within():
        torch.use_deterministic_algorithms(True)
        try:
            return call()
        finally:
            torch.use_deterministic_algorithms(False)

    return within


def embedding(dtype):
    columns = 4096
    rows = (1 << 30) // (columns * dtype.itemsize)
    for count, goal in ((8 << 10, 1.6), (32 << 10, 2)):
        case = f"{count >> 10} Ki indices, uniform"
        grad = random(count, columns, dtype=dtype)
        indices = torch.randint(rows, (count,), device="cuda")

        def call(grad=grad, indices=indices):
            return torch.ops.aten.embedding_dense_backward(grad, indices, rows, -1, False)

        yield "EmbeddingDenseBackward", case, "embedding_dense_backward", goal, call, None
        yield "EmbeddingDenseBackward", case, "embedding_dense_backward, deterministic", goal, deterministic(call), None
        yield ("EmbeddingDenseBackward", case, "embedding_dense_backward, compiled", None,
               lambda grad=grad, indices=indices: embedding_backward(grad, indices, rows), None)


def compression(dtype):
    """Computes the gradient of the weighted-pool token compression: in Triton, and by autograd through a view of all windows."""
    heads, dim = 16, 128
    tokens = (256 << 20) // (heads * dim * dtype.itemsize)
    for block, stride in ((32, 16), (64, 16)):
        case = f"256 MiB, windows of {block} every {stride}"
        input = random(tokens, heads, dim, dtype=dtype, requires_grad=True)
        weight = random(block, heads, dtype=dtype, requires_grad=True)
        windows = (tokens - block) // stride + 1
        grad = random(windows, heads, dim, dtype=dtype)
        if triton_pool is not None:
            yield ("NsaCompressGrad", case, "Triton", 5,
                   lambda: triton_pool.compress_grad(grad, input.detach(), weight.detach(), stride), None)
        for name, goal, function in (("unfold and einsum, autograd", 10, triton_pool.compress if triton_pool else None),
                                     ("unfold and einsum, compiled", None, compress)):
            if function is None:
                continue
            output = function(input, weight, stride)
            yield ("NsaCompressGrad", case, name, goal,
                   lambda: torch.autograd.grad(output, (input, weight), grad, retain_graph=True), None)


def say(operator, case, dtype, what, theirs, share, ratio, goal, same):
    verdict = "" if goal is None else "met" if ratio >= goal else "**missed**"
    wanted = "–" if goal is None else f"≥ {goal}"
    print(f"| {operator} | {case} | {dtype} | {what} | {theirs} | {share} | {ratio:.2f} | {wanted} | {verdict} | {same} |", flush=True)


def all_calls():
    for name, dtype in DTYPES.items():
        for peers in (adam, bias, embedding, compression):
            calls = peers(dtype)
            while True:
                try:
                    call = next(calls, None)
                except Exception as error:  # torch.compile has many ways to fail
                    print(f"{name}: {peers.__name__} ended early: {str(error).splitlines()[0]}", flush=True)
                    break
                if call is None:
                    break
                yield name, *call
            torch.cuda.empty_cache()


def only_compile():
    for dtype, operator, case, what, _, call, _ in all_calls():
        if "compiled" in what or "Triton" in what:
            try:
                call()
                torch.cuda.synchronize()
            except Exception as error:
                print(f"{operator}, {case}, {dtype}, {what}: {str(error).splitlines()[0]}", flush=True)
    return 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, end="", file=sys.stderr)
        return 2
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"  # the name before PyTorch 2.7
    setattr(torch._dynamo.config, limit, 64)  # every dtype and shape is a compilation of its own
    if sys.argv[1] == "--compile":
        return only_compile()
    ours = {}
    with open(sys.argv[1]) as log:
        for row in (json.loads(line) for line in log if line.startswith("{")):
            ours[row["operator"], row["case"], row["dtype"]] = row
    copy = max(row["bytes"] / row["microseconds"] for (operator, *_), row in ours.items() if operator == "copy")
    print(f"PyTorch {torch.__version__}, Triton {triton_pool.triton.__version__ if triton_pool else 'absent'}")
    print("| operator | case | dtype | PyTorch | µs | of the copy | times ours | goal | | same bits |\n|---|---|---|---|---|---|---|---|---|---|")
    for dtype, operator, case, what, goal, call, same in all_calls():
        try:
            theirs = microseconds(call)
            same = same or repeats(call)
        except Exception as error:  # Triton's compiler has many ways to fail
            print(f"| {operator} | {case} | {dtype} | {what} | not measured: {str(error).splitlines()[0]} | | | | | |", flush=True)
            continue
        row = ours[operator, case, dtype]
        say(operator, case, dtype, what, f"{theirs:.1f}", f"{row['bytes'] / theirs / copy:.2f}", theirs / row["microseconds"], goal, same)
        if what == "embedding_dense_backward":
            scratch = scratch_bytes(call)
            say(operator, case, dtype, "scratch memory", f"{scratch} bytes", "", scratch / max(row["workspace"], 1), 10, "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
