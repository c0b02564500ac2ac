"""Ratios of paired samples: the median and how sure one can be of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def bootstrap_medians(values: FloatArray, rng: np.random.Generator, resamples: int = 400) -> FloatArray:
    """Returns ``(resamples,)`` medians of resampled ``values``, which is ``(num_pairs,)``."""
    drawn = values[rng.integers(0, len(values), (resamples, len(values)))]
    drawn.partition(len(values) // 2, axis=1)
    middle: FloatArray = drawn[:, len(values) // 2]
    if len(values) % 2 == 0:
        middle = (middle + drawn[:, : len(values) // 2].max(axis=1)) / 2
    return middle


def ratio_interval(ratios: Sequence[FloatArray], rng: np.random.Generator) -> tuple[float, tuple[float, float]]:
    """Returns the geometric mean over workloads of the median ratio, with a bootstrap 95 % interval.

    Args:
        ratios: One ``(num_pairs,)`` array of positive ratios for each workload.
        rng: Decides the resamples.
    """
    middle = float(np.exp(np.mean([np.log(np.median(each)) for each in ratios])))
    logs = np.mean([np.log(bootstrap_medians(each, rng)) for each in ratios], axis=0)
    low, high = np.exp(np.quantile(logs, (0.025, 0.975)))
    return middle, (float(min(low, middle)), float(max(high, middle)))


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of positive numbers."""
    return float(np.exp(np.mean(np.log(values))))
