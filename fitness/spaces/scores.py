"""What a search over a recorded space may be compared with, calculated exactly.

The best of ``n`` draws without replacement has a known distribution, so random search needs no repeats.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def best_of_random(times: npt.ArrayLike, num_draws: int) -> tuple[FloatArray, FloatArray]:
    """Exact distribution of the best time after ``num_draws`` draws without replacement.

    The k-th smallest of N times is the best of n draws with probability C(N − k, n − 1) / C(N, n).

    Args:
        times: ``(num_configurations,)``, NaN for failures; a failure takes a draw and is never the best.
        num_draws: At most ``num_configurations``.

    Returns:
        The valid times in ascending order and the probability of each to be the best, both ``(num_valid,)``.
        What the probabilities lack to 1 is the probability that nothing valid was drawn.

    Raises:
        ValueError: ``num_draws`` is not between 1 and the number of configurations, or no time is valid.
    """
    values = np.asarray(times, dtype=np.float64)
    total = values.size
    if not 1 <= num_draws <= total:
        raise ValueError(f"num_draws must be between 1 and {total}, not {num_draws}")
    valid = np.sort(values[np.isfinite(values)])
    if not valid.size:
        raise ValueError("no time is valid")
    ranks = np.arange(1, valid.size, dtype=np.float64)
    # Each probability follows from the one before it; a ratio at or below 0 means that too few are left to draw from.
    ratios = np.maximum(total - ranks - num_draws + 1, 0.0) / (total - ranks)
    return valid, num_draws / total * np.concatenate([[1.0], np.cumprod(ratios)])


def random_search_ms(times: npt.ArrayLike, num_draws: int) -> FloatArray:
    """Expected best time of random search after 1 … ``num_draws`` evaluations; exact, no sampling.

    Until something valid is drawn the search stands at the worst valid time, as in `willemsen_score`.
    """
    return np.array([_random_search_at(times, n) for n in range(1, num_draws + 1)])


def random_search_fraction(times: npt.ArrayLike, num_draws: int) -> FloatArray:
    """Expected fraction of optimum of random search after 1 … ``num_draws`` evaluations; 0 while nothing is valid."""
    fractions = np.zeros(num_draws)
    for n in range(1, num_draws + 1):
        valid, probability = best_of_random(times, n)
        fractions[n - 1] = probability @ (valid[0] / valid)
    return fractions


def cutoff_evaluations(times: npt.ArrayLike, cutoff: float = 0.95) -> int:
    """Evaluations that random search needs for ``cutoff`` of the way from the median time to the optimum.

    This is the budget of Willemsen et al. 2024, in evaluations.

    Raises:
        ValueError: ``cutoff`` is not between 0 and 1.
    """
    if not 0.0 < cutoff < 1.0:
        raise ValueError(f"cutoff must lie between 0 and 1, not {cutoff}")
    values = np.asarray(times, dtype=np.float64)
    optimum, median = float(np.nanmin(values)), float(np.nanmedian(values))
    level = median - cutoff * (median - optimum)
    # Expected best times fall with every draw, so the first one at the level is found by bisection.
    low, high = 1, values.size
    while low < high:
        middle = (low + high) // 2
        if _random_search_at(values, middle) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def willemsen_score(best_ms: npt.ArrayLike, times: npt.ArrayLike) -> FloatArray:
    """Score of a search against calculated random search, P = (baseline − best) / (baseline − optimum).

    1 is the optimum, 0 is as good as random search, below 0 is worse. The mean over 1 … budget is the score of a run
    (Willemsen et al. 2024, https://doi.org/10.1016/j.future.2024.05.044).

    Args:
        best_ms: ``(..., budget)`` best time after each evaluation. NaN or inf, before a first valid one, counts as the
            worst valid time, for the baseline too.
        times: ``(num_configurations,)`` of the whole space, NaN for failures.

    Returns:
        An array of ``best_ms``'s shape. Where the baseline has reached the optimum itself the score is 1 for a search
        that has too, otherwise minus infinity.
    """
    best = np.asarray(best_ms, dtype=np.float64)
    baseline = random_search_ms(times, best.shape[-1])
    optimum, worst = float(np.nanmin(times)), float(np.nanmax(times))
    gain = baseline - np.where(np.isfinite(best), best, worst)
    room = np.broadcast_to(baseline - optimum, gain.shape)
    at_optimum = np.where(gain >= 0.0, 1.0, -np.inf)
    return np.divide(gain, room, out=at_optimum, where=room > 0.0)


def _random_search_at(times: npt.ArrayLike, num_draws: int) -> float:
    valid, probability = best_of_random(times, num_draws)
    return float(probability @ valid + (1.0 - probability.sum()) * valid[-1])
