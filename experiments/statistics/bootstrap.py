"""Intervals by resampling seeds within tasks: the tasks are given, the seeds are chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .curves import Floats

REPLICATES = 2000
LEVEL = 0.95


def stratified_bootstrap(
    strata: Sequence[ArrayLike],
    statistic: Callable[[Floats], Floats],
    rng: np.random.Generator,
    replicates: int = REPLICATES,
) -> tuple[float, float]:
    """Returns the 95 % percentile interval of a statistic of all runs of one arm.

    Args:
        strata: One array of shape ``(num_seeds,)`` a task.
        statistic: From shape ``(replicates, num_runs)`` to ``(replicates,)``.
        rng: Source of the resampling.
        replicates: How often.

    Raises:
        ValueError: There is no task, or one without a run.
    """
    arrays = [np.asarray(stratum, dtype=float) for stratum in strata]
    if not arrays or not all(array.size for array in arrays):
        raise ValueError("a bootstrap needs at least one run in each task")
    drawn = [array[rng.integers(len(array), size=(replicates, len(array)))] for array in arrays]
    return interval(statistic(np.concatenate(drawn, axis=1)))


Resamples = Sequence[tuple[Floats, Floats]]
"""For each task, how often each run of two arms is in each replicate."""


def resamples(
    xs: Sequence[ArrayLike], ys: Sequence[ArrayLike], rng: np.random.Generator, *, paired: bool = False
) -> Resamples:
    """Draws the replicates of two arms, for several statistics of them.

    Args:
        xs: One array of shape ``(num_seeds,)`` a task.
        ys: The other arm's, tasks in the same order.
        rng: Source of the resampling.
        paired: Whether seed i of both is one draw.

    Raises:
        ValueError: The numbers of tasks differ, or paired arms differ in length.
    """
    drawn = []
    for x, y in zip(xs, ys, strict=True):
        n, m = np.size(x), np.size(y)
        if paired and n != m:
            raise ValueError(f"paired arms need the same seeds: {n} and {m} runs")
        first = resample_counts(n, rng)
        drawn.append((first, first if paired else resample_counts(m, rng)))
    return drawn


def mean_difference_interval(xs: Sequence[ArrayLike], ys: Sequence[ArrayLike], drawn: Resamples) -> tuple[float, float]:
    """Returns the interval of the difference of two arms' means, each task with the same weight.

    Args:
        xs: One array of shape ``(num_seeds,)`` a task.
        ys: The other arm's, tasks in the same order.
        drawn: Of `resamples` for these.
    """
    total = np.zeros(REPLICATES)
    for x, y, (x_counts, y_counts) in zip(xs, ys, drawn, strict=True):
        total += x_counts @ np.asarray(x, dtype=float) / np.size(x) - y_counts @ np.asarray(y, dtype=float) / np.size(y)
    return interval(total / len(xs))


def improvement_interval(xs: Sequence[ArrayLike], ys: Sequence[ArrayLike], drawn: Resamples) -> tuple[float, float]:
    """Returns the interval of the probability of improvement (A12 averaged over tasks).

    Args:
        xs: One array of shape ``(num_seeds,)`` a task.
        ys: The other arm's, tasks in the same order.
        drawn: Of `resamples` for these.
    """
    total = np.zeros(REPLICATES)
    for x, y, (x_counts, y_counts) in zip(xs, ys, drawn, strict=True):
        column, row = np.asarray(x, dtype=float)[:, None], np.asarray(y, dtype=float)[None, :]
        wins = (column > row) + 0.5 * (column == row)
        total += np.einsum("ri,ri->r", x_counts @ wins, y_counts) / wins.size
    return interval(total / len(xs))


def interval(values: Floats) -> tuple[float, float]:
    """Returns the central 95 % of bootstrap replicates of shape ``(replicates,)``."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def resample_counts(size: int, rng: np.random.Generator) -> Floats:
    """Draws how often each of ``size`` values is in each replicate: shape ``(REPLICATES, size)``."""
    drawn = rng.integers(size, size=(REPLICATES, size)) + size * np.arange(REPLICATES)[:, None]
    return np.bincount(drawn.ravel(), minlength=REPLICATES * size).reshape(REPLICATES, size).astype(float)
