# The goals of speed, one row each: the measurement and its bound.
"""Every row is about workloads of the size "memory" unless it says otherwise, with two threads and the best instruction set
unless it says otherwise. A row that matches several workloads is as good as the worst of them. goal_check.py measures
and judges the rows.
"""
import dataclasses
import typing

BEST = "best"  # the best instruction set of the machine


@dataclasses.dataclass(frozen=True)
class Goal:
    """One row. `measure` is

    ratio     time of the reference / our time, at least `bound`
    speed-up  time of the fastest peer whose name contains `peer` / our time, at least `bound`
    skew      our time / our time for the variant `against` of the same shape, at most `bound`
    scaling   our time with one thread / with two, at least `bound`
    seconds   our time of one call, at most `bound`
    """
    operator: str
    measure: str
    bound: float
    dtypes: tuple = ()  # empty: all
    variants: tuple = ()  # empty: all
    size: str = "memory"  # empty: any
    threads: int = 2
    isa: str = BEST
    peer: str = ""
    against: str = ""
    only: typing.Callable = None  # a further condition on the workload
    note: str = ""  # the condition in words

    @property
    def at_most(self):
        return self.measure in ("skew", "seconds")

    def matches(self, workload):
        return (workload.operator == self.operator
                and (not self.dtypes or workload.dtype in self.dtypes)
                and (not self.variants or workload.variant in self.variants)
                and (not self.size or workload.size == self.size)
                and (self.only is None or self.only(workload)))

    @property
    def text(self):
        what = {"ratio": "ratio to the reference", "skew": f"time against {self.against}", "scaling": "1 to 2 threads",
                "seconds": "time of a call", "speed-up": f"speed-up over {self.peer or 'the best peer'}"}[self.measure]
        where = [*self.dtypes, *self.variants, self.note, self.size if self.size != "memory" else ""]
        if self.measure == "ratio" and self.threads == 1:
            where.append(f"1 thread {self.isa}")
        return ", ".join(part for part in [self.operator, *where, what] if part)


def one_thread(operator, isa, variants=(), **bounds):
    return [Goal(operator, "ratio", bound, (dtype,), variants, threads=1, isa=isa) for dtype, bound in bounds.items()]


def each_dtype(operator, measure, bound, **fields):
    return [Goal(operator, measure, bound, (dtype,), **fields) for dtype in ("f32", "f16", "bf16")]


def wide(workload):
    return workload.row_elements >= 16 * 1024


def few_windows(workload):
    """At most two windows cover a token."""
    return workload.shape["block"] <= 2 * workload.shape["stride"] and not wide(workload)


def many_windows(workload):
    return workload.shape["block"] > 2 * workload.shape["stride"]


EVEN = ("rows_of_4k", "rows_of_2k")  # indices drawn evenly

GOALS = [
    *each_dtype("ApplyFusedEmaAdam", "ratio", 0.95),
    *one_thread("ApplyFusedEmaAdam", "avx512", f32=0.95, f16=0.95, bf16=0.95),
    *one_thread("ApplyFusedEmaAdam", "avx2", f32=0.95, f16=0.8, bf16=0.6),
    Goal("ApplyFusedEmaAdam", "speed-up", 2, ("f32",), peer="AdamW(foreach)"),
    Goal("ApplyFusedEmaAdam", "speed-up", 3, ("bf16",), peer="AdamW(foreach)"),
    *each_dtype("ApplyFusedEmaAdam", "speed-up", 1.15, peer="AdamW(fused)"),
    *each_dtype("GroupedBiasAddGrad", "ratio", 0.95, variants=("uniform", "skewed", "one_giant")),
    Goal("GroupedBiasAddGrad", "ratio", 0.95, variants=("many_small", "narrow", "wide")),
    *one_thread("GroupedBiasAddGrad", "avx512", ("uniform",), f32=0.95, f16=0.95, bf16=0.95),
    *one_thread("GroupedBiasAddGrad", "avx2", ("uniform",), f32=0.95, f16=0.95, bf16=0.95),
    Goal("GroupedBiasAddGrad", "skew", 1.05, variants=("skewed", "one_giant"), against="uniform"),
    Goal("GroupedBiasAddGrad", "speed-up", 1.6, ("f32",), ("uniform",)),
    Goal("GroupedBiasAddGrad", "speed-up", 2, ("bf16",), ("uniform",)),
    Goal("GroupedBiasAddGrad", "speed-up", 4, ("f16",), ("uniform",)),
    Goal("GroupedBiasAddGrad", "speed-up", 50, variants=("uniform",), peer="segment_reduce"),
    Goal("EmbeddingDenseBackward", "ratio", 0.95, variants=("mostly_zero",)),
    Goal("EmbeddingDenseBackward", "ratio", 0.85, variants=("rows_of_4k",)),
    Goal("EmbeddingDenseBackward", "ratio", 0.75, variants=("rows_of_2k", "zipf")),
    Goal("EmbeddingDenseBackward", "speed-up", 2.5, ("f32",), EVEN),
    Goal("EmbeddingDenseBackward", "speed-up", 1.7, ("f32",), ("zipf",)),
    Goal("EmbeddingDenseBackward", "speed-up", 3, ("bf16",), EVEN),
    Goal("EmbeddingDenseBackward", "skew", 1.5, variants=("all_equal",), against="rows_of_2k"),
    Goal("NsaCompressGrad", "ratio", 0.90, only=few_windows, note="up to 2 windows to a token"),
    Goal("NsaCompressGrad", "ratio", 0.90, only=many_windows, note="3 or 4 windows to a token"),
    Goal("NsaCompressGrad", "ratio", 0.70, only=wide, note="N·D >= 16 Ki"),
    Goal("NsaCompressGrad", "speed-up", 6, variants=("32_16",)),
    Goal("NsaCompressGrad", "speed-up", 30, variants=("32_16",), peer="autograd"),
    Goal("NsaCompress", "ratio", 0.85, only=few_windows, note="up to 2 windows to a token"),
    Goal("NsaCompress", "ratio", 0.85, only=many_windows, note="3 or 4 windows to a token"),
    Goal("NsaCompress", "ratio", 0.85, only=wide, note="N·D >= 16 Ki"),
    Goal("NsaCompress", "speed-up", 5, variants=("32_16",)),
    Goal("Embedding", "ratio", 0.85),
    Goal("Embedding", "speed-up", 1),
    Goal("Overhead", "seconds", 2e-6, size="two_phases_sync"),
    Goal("Overhead", "seconds", 0.5e-6, size="phase1"),
    Goal("Overhead", "speed-up", 1, size="two_phases_sync", peer="add_"),
    # Smaller sizes take a few microseconds, in which the start of the second thread counts.
    Goal("ApplyFusedEmaAdam", "scaling", 1.8, size="L3"),
    # A list may be planned once and replayed every step, or planned anew for each.
    Goal("ApplyFusedEmaAdamList", "ratio", 5, variants=("replayed",), size=""),
    Goal("ApplyFusedEmaAdamList", "ratio", 5, variants=("planned",), size=""),
    Goal("ApplyFusedEmaAdamList", "speed-up", 2, variants=("replayed",), size="", peer="AdamW(foreach)"),
    Goal("ApplyFusedEmaAdamList", "speed-up", 2, variants=("planned",), size="", peer="AdamW(foreach)"),
]
