"""How long until a target is reached, when some runs end before they reach it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .curves import Floats


def evaluations_to_target(bests: ArrayLike, target: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Returns after how many evaluations each run was at least at the target.

    Args:
        bests: Shape ``(num_runs, num_evaluations)``: best-so-far curves.
        target: Speedup.

    Returns:
        Two arrays of shape ``(num_runs,)``: the count, which is the run's length where the target
        was not reached (right-censored), and whether it was reached.
    """
    hits = np.asarray(bests, dtype=float) >= target
    reached = hits.any(axis=1)
    counts = np.where(reached, hits.argmax(axis=1) + 1, hits.shape[1])
    return counts.astype(float), np.asarray(reached)


def kaplan_meier(counts: ArrayLike, reached: ArrayLike) -> tuple[Floats, Floats]:
    """Estimates the share of runs still without the target, by Kaplan and Meier.

    Args:
        counts: Shape ``(num_runs,)``: cost at success or at the end.
        reached: Shape ``(num_runs,)``, bool.

    Returns:
        The distinct costs at which a run succeeded, and the share that survives each.
    """
    from statsmodels.duration.survfunc import SurvfuncRight

    reached = np.asarray(reached, dtype=bool)
    if not reached.any():
        return np.empty(0), np.empty(0)
    estimate = SurvfuncRight(np.asarray(counts, dtype=float), reached.astype(int))
    return np.asarray(estimate.surv_times), np.asarray(estimate.surv_prob)


def median_to_target(counts: ArrayLike, reached: ArrayLike) -> float:
    """Returns the cost by which half of the runs have reached the target; inf when they do not.

    Args:
        counts: Shape ``(num_runs,)``.
        reached: Shape ``(num_runs,)``, bool.
    """
    times, surviving = kaplan_meier(counts, reached)
    below = np.flatnonzero(surviving <= 0.5 + 1e-9)
    return float(times[below[0]]) if len(below) else float("inf")


def expected_running_time(counts: ArrayLike, reached: ArrayLike) -> float:
    """Returns the expected cost of reaching the target by restarting failed runs (ERT).

    Everything spent divided by the number of successes (Hansen 2021,
    https://arxiv.org/abs/1603.08785); inf without a success.

    Args:
        counts: Shape ``(num_runs,)``.
        reached: Shape ``(num_runs,)``, bool.
    """
    successes = int(np.count_nonzero(reached))
    return float(np.sum(counts) / successes) if successes else float("inf")
