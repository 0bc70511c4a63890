# The peers: each operator in PyTorch, in every formulation that could be the fastest.
"""`contestants(opened)` makes the contestants of a workload. They read the same memory as the operator. Each formulation is a function that prepares
and returns (step, results): step() is timed, results() returns its tensors. Before anything is timed, the results of one step are compared with those
of the operator.
"""
import time
import warnings

import torch

import peers_deepspeed
import peers_nsa
import rounds
from library import OURS

VERSION = f"PyTorch {torch.__version__}"
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64}
# Relative differences (of L2 norms). PyTorch may round every step of a 16-bit computation, so only large differences mean another computation. Above
# `INEXACT` the report names them.
WRONG = {"f32": 1e-2, "f16": 0.3, "bf16": 0.3}
INEXACT = 0.02


def use_threads(threads):
    torch.set_num_threads(threads)
    warnings.filterwarnings("ignore")  # some operators announce that their interface may change
    torch.manual_seed(1)


class Problem:
    """The tensors of an opened workload, and its shape."""

    def __init__(self, opened):
        self.workload = opened.workload
        self.shape = opened.workload.shape
        self.tensors = {name: self._wrap(opened, name, *spec) for name, spec in opened.workload.tensors.items()}

    @staticmethod
    def _wrap(opened, name, dims, dtype):
        return torch.frombuffer(opened.memory(name), dtype=DTYPES[dtype]).view(dims)

    def __getitem__(self, name):
        return self.tensors[name]


# ---- ApplyFusedEmaAdam. The attributes are those of workloads/apply_fused_ema_adam.cc; the comparison would notice a difference.

EMA_DECAY = 0.999
STEPS_BEFORE = 9


def adamw(parameters, grads, moments, second_moments, **kind):
    """An AdamW that has taken some steps: torch keeps its moments in `state`."""
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, **kind)
    for parameter, grad, m, v in zip(parameters, grads, moments, second_moments):
        parameter.grad = grad
        optimizer.state[parameter] = {"step": torch.tensor(float(STEPS_BEFORE)), "exp_avg": m, "exp_avg_sq": v}
    return optimizer


def adamw_of(problem, **kind):
    parameter = problem["varRef"].detach()  # a separate parameter with the same memory
    optimizer = adamw([parameter], [problem["grad"]], [problem["mRef"]], [problem["vRef"]], **kind)
    return optimizer, parameter, lambda: {name: problem[name] for name in ("varRef", "mRef", "vRef", "sRef")}


def lerp_all(averages, parameters):
    """The moving average; PyTorch 1 has no operation for lists."""
    if hasattr(torch, "_foreach_lerp_"):
        torch._foreach_lerp_(averages, parameters, 1 - EMA_DECAY)
    else:
        for average, parameter in zip(averages, parameters):
            average.lerp_(parameter, 1 - EMA_DECAY)


def adamw_foreach(problem):
    optimizer, parameter, results = adamw_of(problem, foreach=True)

    def step():
        optimizer.step()
        lerp_all([problem["sRef"]], [parameter])

    return step, results


def adamw_fused(problem):
    optimizer, parameter, results = adamw_of(problem, fused=True)

    def step():
        optimizer.step()
        lerp_all([problem["sRef"]], [parameter])

    return step, results


def adamw_deepspeed(problem):
    return peers_deepspeed.adamw_and_average(problem, STEPS_BEFORE, lerp_all)


def adamw_foreach_list(problem):
    """Many small tensors in separate memory: they stay in the caches."""
    count, numel = problem.shape["tensors"], problem.shape["numel"]
    dtype = DTYPES[problem.workload.dtype]
    grads, parameters, m, v, s = ([torch.rand(numel).to(dtype) for _ in range(count)] for _ in range(5))
    optimizer = adamw(parameters, grads, m, v, foreach=True)

    def step():
        optimizer.step()
        lerp_all(s, parameters)

    return step, dict


# ---- GroupedBiasAddGrad

def group_ranges(problem):
    ends = problem["groupIdxOptional"].tolist()
    return list(zip([0] + ends[:-1], ends))


def group_sizes(problem):
    return torch.tensor([end - begin for begin, end in group_ranges(problem)])


def bias_sum(problem):
    out = torch.zeros_like(problem["out"])
    rows, ranges = problem["gradY"], group_ranges(problem)

    def step():
        for group, (begin, end) in enumerate(ranges):
            torch.sum(rows[begin:end], 0, out=out[group])

    return step, lambda: {"out": out}


def bias_index_add(problem):
    out = torch.zeros_like(problem["out"])
    group_of_row = torch.repeat_interleave(torch.arange(problem.shape["groups"]), group_sizes(problem))
    return lambda: out.zero_().index_add_(0, group_of_row, problem["gradY"]), lambda: {"out": out}


def bias_segment_reduce(problem):
    lengths = group_sizes(problem)
    return keeping("out", lambda: torch.segment_reduce(problem["gradY"], "sum", lengths=lengths, axis=0))


# ---- Embedding and its gradient

def keeping(name, compute):
    """Makes a step whose result is a new tensor. The allocator reuses the memory of the previous one."""
    kept = {}

    def step():
        kept.clear()
        kept[name] = compute()

    return step, lambda: kept


def embedding_backward(problem):
    operator = torch.ops.aten.embedding_dense_backward
    rows = problem.shape["table_rows"]
    return keeping("out", lambda: operator(problem["grad"], problem["indices"], rows, -1, False))


def embedding(problem):
    return keeping("out", lambda: torch.nn.functional.embedding(problem["indices"], problem["weight"]))


def index_select(problem):
    out = torch.zeros_like(problem["out"])
    return lambda: torch.index_select(problem["weight"], 0, problem["indices"], out=out), lambda: {"out": out}


# ---- the cost of one eager operation

def eager_add(_):
    a, b = torch.zeros(4), torch.ones(4)
    return lambda: a.add_(b), dict


FORMULATIONS = {
    "ApplyFusedEmaAdam": {"AdamW(foreach) + lerp": adamw_foreach, "AdamW(fused) + lerp": adamw_fused,
                          "DeepSpeedCPUAdam + lerp": adamw_deepspeed},
    "ApplyFusedEmaAdamList": {"AdamW(foreach) + lerp": adamw_foreach_list},
    "GroupedBiasAddGrad": {"sum of each group": bias_sum, "index_add_": bias_index_add,
                           "segment_reduce": bias_segment_reduce},
    "Embedding": {"embedding": embedding, "index_select(out=)": index_select},
    "EmbeddingDenseBackward": {"embedding_dense_backward": embedding_backward},
    "NsaCompress": peers_nsa.FORWARD,
    "NsaCompressGrad": peers_nsa.BACKWARD,
    "Overhead": {"a.add_(b) of 4 elements": eager_add},
}


def worth_comparing(workload):
    """In caches this would measure PyTorch's dispatch, not its kernels."""
    return workload.size not in ("L1", "L2", "L3", "phase1")


def timed(step):
    def run(calls):
        start = time.perf_counter()
        for _ in range(calls):
            step()
        return time.perf_counter() - start

    return run


class Comparison:
    """Returns the operator's results of one call, to compare the peers' results with."""

    def __init__(self, opened, problem):
        self.problem = problem
        self.before = {name: tensor.clone() for name, tensor in problem.tensors.items()}
        opened.run(OURS, 1)
        self.expected = {name: tensor.clone() for name, tensor in problem.tensors.items()}
        self.restore()

    def restore(self):
        for name, tensor in self.problem.tensors.items():
            tensor.copy_(self.before[name])

    def difference(self, results):
        """Returns the greatest relative difference. Tensors that are updated in place are judged by their change, except in 16 bits, where the
        change may be smaller than the rounding."""
        by_change = self.problem.workload.operator == "ApplyFusedEmaAdam" and self.problem.workload.dtype == "f32"
        greatest = 0.0
        for name, tensor in results().items():
            want = self.expected[name].float()
            origin = self.before[name].float() if by_change else torch.zeros(())
            norm = torch.linalg.vector_norm(want - origin).item()
            error = torch.linalg.vector_norm(tensor.float() - want).item()
            # A NaN on either side must not count as equality.
            greatest = max(greatest, error / norm if norm > 0 and error == error else float(error != 0))
        return greatest


def contestants(opened):
    """Returns the peers of a workload, and the reasons of those that cannot take part."""
    found, skipped = [], []
    if not worth_comparing(opened.workload):
        return found, skipped
    problem = Problem(opened)
    comparison = None
    for name, formulation in FORMULATIONS.get(opened.workload.operator, {}).items():
        try:
            with torch.no_grad():
                step, results = formulation(problem)
                comparison = comparison or Comparison(opened, problem)
                step()
                difference = comparison.difference(results)
                comparison.restore()
        except ImportError:  # a peer of a package that isn't installed
            continue
        except (RuntimeError, TypeError, AttributeError, ValueError, LookupError) as error:
            skipped.append({"name": name, "reason": str(error).splitlines()[0][:120]})
            continue
        if difference > WRONG.get(opened.workload.dtype, 1.0):
            skipped.append({"name": name, "reason": f"its result differs by {difference:.1%}"})
            continue
        remarks = {"difference": difference, "inexact": difference > INEXACT}
        found.append(rounds.Contestant(name, "peer", timed(step), remarks=remarks))
    return found, skipped
