"""One number, or one curve, for an arm over a whole suite of tasks."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from .curves import Floats


def fast_p(speedups: ArrayLike, p: float) -> float:
    """Returns the share of all results that are correct and faster than ``p``, strictly.

    Ouyang 2025 (https://arxiv.org/abs/2502.10517). Failures are in the denominator.

    Args:
        speedups: Any shape; NaN for failures.
        p: Threshold; 0 gives the share of correct results.
    """
    return float(np.mean(np.asarray(speedups, dtype=float) > p))


def fast_p_curve(speedups: ArrayLike, thresholds: ArrayLike) -> Floats:
    """Returns ``fast_p`` at each threshold.

    Args:
        speedups: Any shape; NaN for failures.
        thresholds: Shape ``(num_points,)``.

    Returns:
        Shape ``(num_points,)``, non-increasing for increasing thresholds.
    """
    return np.array([fast_p(speedups, p) for p in np.asarray(thresholds, dtype=float)])


def geometric_mean(speedups: ArrayLike) -> float:
    """Returns the geometric mean with failures as 1: whoever has no kernel keeps the baseline.

    Args:
        speedups: Any shape; NaN for failures, otherwise positive.
    """
    return float(np.exp(np.mean(np.log(np.nan_to_num(np.asarray(speedups, dtype=float), nan=1.0)))))


def geometric_mean_correct(speedups: ArrayLike) -> tuple[float, int]:
    """Returns the geometric mean of the correct results alone, and how many these are.

    It rewards failing at what is hard, so it is never to be shown without its count.

    Args:
        speedups: Any shape; NaN for failures, otherwise positive.
    """
    values = np.asarray(speedups, dtype=float)
    correct = values[~np.isnan(values)]
    return (float(np.exp(np.mean(np.log(correct)))) if correct.size else float("nan")), int(correct.size)


def interquartile_mean(scores: ArrayLike) -> Floats:
    """Returns the mean of the middle half of the scores (Agarwal 2021, https://arxiv.org/abs/2108.13264).

    A quarter of the scores, rounded down, is cut off at either end, as `scipy.stats.trim_mean` does.

    Args:
        scores: Shape ``(…, num_scores)``.

    Returns:
        Shape ``(…)``.
    """
    from scipy.stats import trim_mean

    return np.asarray(trim_mean(np.asarray(scores, dtype=float), 0.25, axis=-1))


def optimality_gap(scores: ArrayLike, goal: float) -> float:
    """Returns by how much the scores miss a goal on average; what exceeds it does not make up.

    Args:
        scores: Any shape, larger is better.
        goal: What counts as solved.
    """
    return float(np.mean(np.maximum(goal - np.asarray(scores, dtype=float), 0.0)))


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Floats:
    """Returns the share of runs above each threshold, each task with the same weight.

    Args:
        scores: Shape ``(num_tasks, num_seeds)``; NaN where a run is missing.
        thresholds: Shape ``(num_points,)``.

    Returns:
        Shape ``(num_points,)``.
    """
    values = np.asarray(scores, dtype=float)[:, :, None]
    above = np.where(np.isnan(values), np.nan, values > np.asarray(thresholds, dtype=float))
    return np.asarray(np.nanmean(np.nanmean(above, axis=1), axis=0))


def pass_at_k(num_samples: int, num_correct: int, k: int) -> float:
    """Returns the unbiased estimate that at least one of ``k`` samples is correct (Chen 2021).

    Valid for independent, identically distributed samples only: in an evolutionary run the samples
    depend on each other, and best-so-far at a budget takes its place.

    Raises:
        ValueError: ``k`` is larger than the number of samples, or a count is out of range.
    """
    if not 0 <= num_correct <= num_samples or not 1 <= k <= num_samples:
        raise ValueError(f"needs 0 <= correct <= samples and 1 <= k <= samples: {num_correct}, {num_samples}, {k}")
    return 1.0 - comb(num_samples - num_correct, k) / comb(num_samples, k)
