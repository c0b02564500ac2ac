"""Pairs of samples, and when there are enough of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .evaluation import Measurement
from .statistics import FloatArray, ratio_interval


@dataclass(frozen=True, slots=True)
class Precision:
    """When a measurement is good enough, and when it ends in any case.

    Attributes:
        min_pairs: Pairs of samples that are always taken, for each workload.
        max_pairs: Pairs at most.
        target: Half-width of the interval of the ratio that is good enough, as a fraction.
        time_limit_s: No new pair after this time, all workloads together.
        sample_s: Shortest sample; shorter calls are put together.
        judged_calls: Timed calls of each block whose outputs are judged: the last, and others.
    """

    min_pairs: int = 10
    max_pairs: int = 60
    target: float = 0.01
    time_limit_s: float = 0.4
    sample_s: float = 1e-3
    judged_calls: int = 8


@dataclass
class Series:
    """What was measured for one workload.

    Attributes:
        wall_s: ``(2, num_pairs)`` time of one call, candidate first.
        cpu_s: ``(2, num_pairs)`` CPU time of one call; None where it does not run on the CPU.
        calls: Calls in a sample of the candidate.
        repeated: Round trips taken again because something else ran.
    """

    workload: str
    wall_s: FloatArray
    cpu_s: FloatArray | None
    calls: int
    repeated: int

    @property
    def ratios(self) -> FloatArray:
        """``(num_pairs,)`` baseline time / candidate time."""
        ratios: FloatArray = self.wall_s[1] / self.wall_s[0]
        return ratios

    @property
    def cpu_ratio(self) -> float | None:
        """CPU time / wall time of the candidate; None where it does not run on the CPU."""
        return None if self.cpu_s is None else float(np.median(self.cpu_s[0] / self.wall_s[0]))

    def is_precise(self, target: float, rng: np.random.Generator) -> bool:
        """Tells whether the interval of the median ratio is within ``target``, a fraction, of it on both sides."""
        middle, (low, high) = ratio_interval([self.ratios], rng)
        return max(high - middle, middle - low) <= target * middle

    def measurement(self, rng: np.random.Generator, reference_us: float | None) -> Measurement:
        """Returns the record; ``reference_us`` is the calibrated latency of the baseline, if there is one."""
        speedup, interval = ratio_interval([self.ratios], rng)
        reference = reference_us if reference_us is not None else float(np.median(self.wall_s[1])) * 1e6
        return Measurement(
            workload=self.workload,
            samples_us=tuple((self.wall_s[0] * 1e6).tolist()),
            reference_samples_us=tuple((self.wall_s[1] * 1e6).tolist()),
            latency_us=reference / speedup,
            reference_latency_us=reference,
            speedup=speedup,
            interval=interval,
            cpu_ratio=self.cpu_ratio,
            calls_per_sample=self.calls,
        )
