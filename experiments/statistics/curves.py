"""Best-so-far curves against evaluations, seconds or tokens, and the area under them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def best_so_far(speedups: ArrayLike) -> Floats:
    """Returns the best speedup after each evaluation.

    A run begins with the baseline, which is always there to fall back on, so no curve is below 1.

    Args:
        speedups: Shape ``(…, num_evaluations)``, in order of commitment; NaN for failures.

    Returns:
        The same shape, non-decreasing along the last axis, at least 1 everywhere.
    """
    filled = np.nan_to_num(np.asarray(speedups, dtype=float), nan=1.0)
    return np.maximum(np.maximum.accumulate(filled, axis=-1), 1.0)


def step_at(costs: ArrayLike, bests: ArrayLike, grid: ArrayLike) -> Floats:
    """Reads a best-so-far curve at given costs.

    Args:
        costs: Shape ``(num_evaluations,)``, non-decreasing: what had been spent when each
            evaluation was known, in evaluations, seconds or tokens.
        bests: Shape ``(num_evaluations,)``, the curve.
        grid: Shape ``(num_points,)``, where it is asked.

    Returns:
        Shape ``(num_points,)``: the best known at that cost, 1 before the first evaluation.

    Raises:
        ValueError: The costs decrease somewhere.
    """
    costs, bests = np.asarray(costs, dtype=float), np.asarray(bests, dtype=float)
    if np.any(np.diff(costs) < 0):
        raise ValueError("costs must not decrease along a curve")
    index = np.searchsorted(costs, np.asarray(grid, dtype=float), side="right")
    return np.concatenate([[1.0], bests])[index]


def area_under_curve(costs: ArrayLike, bests: ArrayLike, budget: float) -> float:
    """Returns the mean over the budget of the logarithm of the best speedup.

    The curve is a step function, so the integral is exact. ``exp`` of it is a geometric mean of
    speedups: what a user gets who stops the run at a random moment. A run that ended before its
    budget keeps its last value. For evaluations, pass ``arange(num_evaluations)`` as costs: the
    result is then the mean of the logarithm over evaluations 1 … budget.

    Args:
        costs: Shape ``(num_evaluations,)``, non-decreasing.
        bests: Shape ``(num_evaluations,)``, the best speedup from that cost on.
        budget: End of the integral, in the unit of the costs.

    Raises:
        ValueError: The budget is not positive and finite, or the costs decrease.
    """
    costs, bests = np.asarray(costs, dtype=float), np.asarray(bests, dtype=float)
    if not (np.isfinite(budget) and budget > 0):
        raise ValueError(f"a budget must be positive and finite, is {budget}")
    if np.any(np.diff(costs) < 0):
        raise ValueError("costs must not decrease along a curve")
    edges = np.clip(np.concatenate([costs, [budget]]), 0.0, budget)
    return float(np.log(bests) @ np.diff(edges) / budget) if len(bests) else 0.0
