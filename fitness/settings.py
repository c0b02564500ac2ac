"""How evaluations are made: every knob, with its range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .policy import FLAGS
from .series import Precision

Regime = Literal["hot", "cold"]


@dataclass(frozen=True)
class Settings:
    """Everything that decides how an evaluation is made.

    Attributes:
        build_timeout_s: Wall clock of the compiler.
        run_timeout_s: Wall clock of a candidate, in each of its processes; only waits for it count.
        memory_bytes: Memory of a candidate's process, beside its buffers.
        source_bytes: Longest source.
        forbid: Flags of `fitness.policy.FLAGS` that make a kernel ``rejected``.
        cache_regime: ``"hot"``: the driver wrote inputs and outputs just before, on the same core, for both sides
            alike. ``"cold"``: all caches are flushed before every round trip.
        sandbox: ``"bubblewrap"`` or ``"limits"``; None for the strongest that works here.
        null_every: Evaluations between two null tests; 0 for the ones of the calibration only.
        min_pairs: Pairs of samples that are taken for each workload unless time runs out.
        max_pairs: Pairs at most.
        target_precision: Half-width of the interval of a speedup that is good enough, as a fraction.
        time_limit_s: No new pair after this time, all workloads together.
        sample_s: Shortest sample; shorter calls are put together.
        judged_calls: Timed calls of each block whose outputs are judged.
        baselines: Names of `fitness.baselines.BASELINES` that verified kernels are timed against.
        profiler: Whether profilers look at correct kernels; on GPUs only, and seconds a kernel. Torch's tells what one
            call of each launches. Where ncu is on the PATH and may read hardware counters, these are told of every
            kernel that is the fastest so far, and of the verified one.

    Raises:
        ValueError: One is out of its range, or a forbidden flag is unknown.
    """

    build_timeout_s: float = 20.0
    run_timeout_s: float = 10.0
    memory_bytes: int = 1 << 29
    source_bytes: int = 1 << 18
    forbid: tuple[str, ...] = ()
    cache_regime: Regime = "hot"
    sandbox: str | None = None
    null_every: int = 50
    min_pairs: int = 10
    max_pairs: int = 60
    target_precision: float = 0.01
    time_limit_s: float = 0.4
    sample_s: float = 1e-3
    judged_calls: int = 8
    baselines: tuple[str, ...] = field(default=(), repr=False)  # the key of a run without them is as it was
    profiler: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("build_timeout_s", "run_timeout_s", "time_limit_s", "sample_s", "target_precision"):
            if not getattr(self, name) > 0:
                raise ValueError(f"evaluator.{name} must be above 0, is {getattr(self, name)}")
        for name, least in (("memory_bytes", 1 << 24), ("source_bytes", 1), ("min_pairs", 2), ("judged_calls", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"evaluator.{name} must be at least {least}, is {getattr(self, name)}")
        if self.max_pairs < self.min_pairs:
            raise ValueError(f"evaluator.max_pairs must be at least min_pairs ({self.min_pairs}), is {self.max_pairs}")
        if self.null_every < 0:
            raise ValueError(f"evaluator.null_every must not be negative, is {self.null_every}")
        if self.cache_regime not in ("hot", "cold"):
            raise ValueError(f"evaluator.cache_regime must be 'hot' or 'cold', is {self.cache_regime!r}")
        if self.sandbox not in (None, "bubblewrap", "limits"):
            raise ValueError(f"evaluator.sandbox must be 'bubblewrap', 'limits' or null, is {self.sandbox!r}")
        for flag in self.forbid:
            if flag not in FLAGS:
                raise ValueError(f"evaluator.forbid knows {', '.join(sorted(FLAGS))}; it does not know {flag!r}")

    @property
    def precision(self) -> Precision:
        """The part that says when a measurement is good enough."""
        return Precision(
            min_pairs=self.min_pairs,
            max_pairs=self.max_pairs,
            target=self.target_precision,
            time_limit_s=self.time_limit_s,
            sample_s=self.sample_s,
            judged_calls=self.judged_calls,
        )
