# The goals of speed, one row each: the measurement and its bound.
"""Every row is about workloads of the size "memory" unless it says otherwise, with two threads and the best instruction set
unless it says otherwise. A row that matches several workloads is as good as the worst of them. A row that names a regime is
judged by rounds of that regime only (regimes.py). goal_check.py measures and judges the rows.
"""
import dataclasses
import typing

import regimes

BEST = "best"  # the best instruction set of the machine


@dataclasses.dataclass(frozen=True)
class Goal:
    """One row. `measure` is

    ratio     time of the reference / our time, at least `bound`
    speed-up  time of the fastest peer whose name contains `peer` / our time, at least `bound`
    skew      our time / our time for the variant `against` of the same shape, at most `bound`
    scaling   our time with one thread / with two, at least `bound`
    seconds   our time of one call, at most `bound`
    python    how many times as fast as `peer` a program of python/bench says that the package is, at least `bound`
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
    regime: str = regimes.ANY
    script: tuple = ()  # of python: the program and its arguments
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
                "seconds": "time of a call", "speed-up": f"speed-up over {self.peer or 'the best peer'}",
                "python": f"from Python, against {self.peer}"}[self.measure]
        where = [*self.dtypes, *self.variants, self.note, self.size if self.size != "memory" and self.measure != "python" else ""]
        if self.measure == "ratio" and self.threads == 1:
            where.append(f"1 thread {self.isa}")
        return ", ".join(part for part in [self.operator, *where, what, "" if self.regime == regimes.ANY else f"{self.regime} regime"] if part)


def ratios(operator, slow, fast, **fields):
    """Two threads: one row for each regime."""
    return [Goal(operator, "ratio", bound, regime=regime, **fields) for regime, bound in ((regimes.SLOW, slow), (regimes.FAST, fast))]


def one_thread(operator, isa, bound, **fields):
    """One core never shares the link to memory, so that its bound is the same in every regime."""
    return Goal(operator, "ratio", bound, threads=1, isa=isa, **fields)


def each_dtype(make):
    return [row for dtype in ("f32", "f16", "bf16") for row in make(dtypes=(dtype,))]


def wide(workload):
    return workload.row_elements >= 16 * 1024


def few_windows(workload):
    """At most two windows cover a token."""
    return workload.shape["block"] <= 2 * workload.shape["stride"] and not wide(workload)


def many_windows(workload):
    return workload.shape["block"] > 2 * workload.shape["stride"]


EVEN = ("rows_of_4k", "rows_of_2k")  # indices drawn evenly
SIXTEEN_BITS = ("f16", "bf16")
WINDOWS = [{"only": few_windows, "note": "up to 2 windows to a token"}, {"only": many_windows, "note": "3 or 4 windows to a token"},
           {"only": wide, "note": "N·D >= 16 Ki"}]

# Passes over an array of the size of the parameter. Ours: 5 reads, 4 writes. AdamW: 4 reads, 3 writes; the average: 2 reads, 1 write. If both
# wait for memory, this is all that a factor can be. Two percent are left for the noise of two contestants.
OUR_PASSES, ADAMW_AND_AVERAGE_PASSES = 9, 10
AGAINST_FUSED = max(1.10, 0.98 * ADAMW_AND_AVERAGE_PASSES / OUR_PASSES)

GOALS = [
    *each_dtype(lambda **dtype: ratios("ApplyFusedEmaAdam", 0.97, 0.95, **dtype)),
    *each_dtype(lambda **dtype: [one_thread("ApplyFusedEmaAdam", "avx512", 0.97, **dtype)]),
    one_thread("ApplyFusedEmaAdam", "avx2", 0.97, dtypes=("f32",)),
    *[one_thread("ApplyFusedEmaAdam", "avx2", 0.85, dtypes=(dtype,)) for dtype in SIXTEEN_BITS],
    *each_dtype(lambda **dtype: [Goal("ApplyFusedEmaAdam", "speed-up", AGAINST_FUSED, peer="AdamW(fused)", **dtype)]),
    *each_dtype(lambda **dtype: [Goal("ApplyFusedEmaAdam", "speed-up", 2.5, peer="AdamW(foreach)", **dtype)]),
    Goal("ApplyFusedEmaAdam", "speed-up", 1.15, ("f32",), peer="DeepSpeed"),
    *each_dtype(lambda **dtype: ratios("GroupedBiasAddGrad", 0.95, 0.90, variants=("uniform", "skewed", "one_giant"), **dtype)),
    *ratios("GroupedBiasAddGrad", 0.85, 0.85, variants=("many_small", "narrow", "wide")),
    *[one_thread("GroupedBiasAddGrad", isa, 0.95, variants=("uniform",), dtypes=(dtype,)) for isa in ("avx512", "avx2")
      for dtype in ("f32", "f16", "bf16")],
    Goal("GroupedBiasAddGrad", "skew", 1.05, variants=("skewed", "one_giant"), against="uniform"),
    *each_dtype(lambda **dtype: [Goal("GroupedBiasAddGrad", "speed-up", 1.05, variants=("uniform",), peer="index_add_", **dtype)]),
    Goal("GroupedBiasAddGrad", "speed-up", 40, variants=("uniform",), peer="segment_reduce"),
    *ratios("EmbeddingDenseBackward", 0.95, 0.85, variants=("mostly_zero",)),
    *ratios("EmbeddingDenseBackward", 0.95, 0.85, variants=("rows_of_4k",)),
    *ratios("EmbeddingDenseBackward", 0.90, 0.85, variants=("rows_of_2k", "zipf")),
    Goal("EmbeddingDenseBackward", "speed-up", 1.8, ("f32",), EVEN),
    Goal("EmbeddingDenseBackward", "speed-up", 1.7, ("f32",), ("zipf",)),
    Goal("EmbeddingDenseBackward", "speed-up", 3, ("bf16",), EVEN),
    Goal("EmbeddingDenseBackward", "skew", 1.2, variants=("all_equal",), against="rows_of_2k"),
    *[row for windows in WINDOWS for row in ratios("NsaCompressGrad", 0.90, 0.70, **windows)],
    one_thread("NsaCompressGrad", "avx512", 0.70),
    one_thread("NsaCompressGrad", "avx2", 0.55),
    Goal("NsaCompressGrad", "speed-up", 10, variants=("32_16",), peer="bmm"),
    Goal("NsaCompressGrad", "speed-up", 40, variants=("32_16",), peer="autograd"),
    *[row for windows in WINDOWS for row in ratios("NsaCompress", 0.90, 0.75, **windows)],
    one_thread("NsaCompress", "avx512", 0.75),
    one_thread("NsaCompress", "avx2", 0.60),
    Goal("NsaCompress", "speed-up", 3.5, variants=("32_16",)),
    *ratios("Embedding", 1.00, 0.95),
    Goal("Embedding", "speed-up", 1.2, peer="index_select"),
    Goal("Overhead", "seconds", 0.7e-6, size="two_phases_sync"),
    Goal("Overhead", "seconds", 0.5e-6, size="phase1"),
    Goal("Overhead", "speed-up", 1, size="two_phases_sync", peer="add_"),
    # Smaller sizes take a few microseconds, in which the start of the second thread counts.
    Goal("ApplyFusedEmaAdam", "scaling", 1.8, size="L3"),
    # A list may be planned once and replayed every step, or planned anew for each.
    Goal("ApplyFusedEmaAdamList", "ratio", 5, variants=("replayed",), size=""),
    Goal("ApplyFusedEmaAdamList", "ratio", 3, variants=("planned",), size=""),
    Goal("ApplyFusedEmaAdamList", "speed-up", 2, variants=("replayed",), size="", peer="AdamW(foreach)"),
    Goal("ApplyFusedEmaAdamList", "speed-up", 2, variants=("planned",), size="", peer="AdamW(foreach)"),
    # Through PyTorch: 200,000 rows of 128, 50,000 indices; models of 148 tensors.
    Goal("Embedding table", "python", 2, peer="backward", script=("python/bench/embedding.py",), note="gradient in wall time"),
    Goal("Embedding table", "python", 1.25, peer="training step", script=("python/bench/embedding.py",), note="whole step in wall time"),
    Goal("FusedEmaAdamW", "python", 1, peer="AdamW(fused) + EMA", script=("python/bench/optimizer.py", "--width", "64", "--rounds", "31"),
         note="3.9 million parameters"),
    Goal("FusedEmaAdamW", "python", 1, peer="AdamW(fused) + EMA", script=("python/bench/optimizer.py", "--width", "16", "--rounds", "31"),
         note="0.9 million parameters"),
]
