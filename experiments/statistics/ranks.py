"""Does one arm beat another? Rank tests and the effect size that belongs to them.

Every function takes one array a task, because seeds are comparable within a task only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, exp, log

import numpy as np
from numpy.typing import ArrayLike

from .curves import Floats

LARGE_SAMPLE = 20
"""Pairs from which the normal approximation of a rank sum is good to about 1 % of its p."""
RESAMPLES = 20_000
"""Permutations drawn where it is not; the smallest p that they can show is 5e-5."""


def a12(x: ArrayLike, y: ArrayLike) -> float:
    """Returns the probability that a value of ``x`` exceeds one of ``y``, ties counted half.

    Vargha 2000. 0.5 is no effect; 0.56, 0.64 and 0.71 are called small, medium and large.

    Args:
        x: Shape ``(n,)``.
        y: Shape ``(m,)``.

    Raises:
        ValueError: An array is empty or holds a NaN.
    """
    x, y = _clean(x), _clean(y)
    greater = np.searchsorted(np.sort(y), x, side="left")
    not_less = np.searchsorted(np.sort(y), x, side="right")
    return float((greater + not_less).sum() / (2.0 * len(x) * len(y)))


def magnitude(effect: float) -> str:
    """Names an A12 by Vargha's thresholds: negligible, small, medium or large."""
    distance = abs(effect - 0.5)
    names = ((0.21, "large"), (0.14, "medium"), (0.06, "small"))
    return next((name for bound, name in names if distance >= bound - 1e-12), "negligible")


def probability_of_improvement(xs: Sequence[ArrayLike], ys: Sequence[ArrayLike]) -> float:
    """Returns A12 averaged over tasks (Agarwal 2021).

    Args:
        xs: One array of shape ``(num_seeds,)`` a task.
        ys: The other arm's, tasks in the same order.

    Raises:
        ValueError: The numbers of tasks differ, or a task has no run.
    """
    return float(np.mean([a12(x, y) for x, y in zip(xs, ys, strict=True)]))


def rank_sum_p(xs: Sequence[ArrayLike], ys: Sequence[ArrayLike], rng: np.random.Generator) -> float:
    """Returns the two-sided p that independent runs of two arms come from one distribution.

    With one task this is Mann and Whitney's U; with several it is van Elteren's sum of rank sums
    within tasks, weighted by ``1 / (N + 1)``. Small samples get exact or permutation p-values,
    also where there are ties.

    Args:
        xs: One array of shape ``(num_seeds,)`` a task; inf is a legal value.
        ys: The other arm's, tasks in the same order.
        rng: For the permutations.

    Raises:
        ValueError: The numbers of tasks differ, a task has no run, or a value is NaN.
    """
    from scipy.stats import mannwhitneyu, rankdata

    pairs = [(_clean(x), _clean(y)) for x, y in zip(xs, ys, strict=True)]
    if len(pairs) == 1 and len(np.unique(np.concatenate(pairs[0]))) == sum(map(len, pairs[0])):
        return float(mannwhitneyu(*pairs[0]).pvalue)
    ranks = [rankdata(np.concatenate(pair)) for pair in pairs]
    sizes = [len(x) for x, _ in pairs]
    if sum(min(len(x), len(y)) for x, y in pairs) >= LARGE_SAMPLE:
        return _normal_p(ranks, sizes)
    return _permutation_p(ranks, sizes, rng)


def signed_rank_p(differences: ArrayLike) -> float:
    """Returns the two-sided p that paired differences are symmetric about zero (Wilcoxon).

    Zeros are ranked and then left out (Pratt 1959). Up to 14 differences the p is exact, also with
    zeros and ties.

    Args:
        differences: Shape ``(num_pairs,)``, all tasks together, on one scale.

    Raises:
        ValueError: There is none, or one is not finite.
    """
    from scipy.stats import rankdata, wilcoxon

    values = _clean(differences)
    if not np.isfinite(values).all():
        raise ValueError("paired differences must be finite")
    count = int(np.count_nonzero(values))
    if count == 0:
        return 1.0
    if count > 14:
        return float(wilcoxon(values, zero_method="pratt").pvalue)
    ranks = rankdata(np.abs(values))[values != 0]
    signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    observed = abs(float(ranks @ np.sign(values[values != 0])))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


def smallest_p(sizes: Sequence[tuple[int, int]], *, paired: bool) -> float:
    """Returns the smallest two-sided p that a design can show, whatever the data.

    Args:
        sizes: Runs of the two arms, a pair a task.
        paired: Whether runs are compared seed by seed.
    """
    if paired:
        return min(1.0, 2.0 ** (1 - sum(min(pair) for pair in sizes)))
    # By logarithms: the number of relabellings of a large design is no float.
    return min(1.0, exp(log(2.0) - sum(log(comb(n + m, n)) for n, m in sizes)))


def _normal_p(ranks: Sequence[Floats], sizes: Sequence[int]) -> float:
    """Van Elteren's p by the normal approximation, with the variance that ties leave."""
    from scipy.stats import norm

    statistic = variance = 0.0
    for values, size in zip(ranks, sizes, strict=True):
        total = len(values)
        centred = values - (total + 1) / 2.0
        weight = 1.0 / (total + 1)
        statistic += weight * float(centred[:size].sum())
        variance += weight**2 * size * (total - size) / (total * (total - 1)) * float(centred @ centred)
    return float(2.0 * norm.sf(abs(statistic) / np.sqrt(variance))) if variance > 0 else 1.0


def _permutation_p(ranks: Sequence[Floats], sizes: Sequence[int], rng: np.random.Generator) -> float:
    """Van Elteren's p by drawing labels anew within each task."""
    observed, drawn = 0.0, np.zeros(RESAMPLES)
    for values, size in zip(ranks, sizes, strict=True):
        centred = (values - (len(values) + 1) / 2.0) / (len(values) + 1)
        observed += float(centred[:size].sum())
        drawn += rng.permuted(np.tile(centred, (RESAMPLES, 1)), axis=1)[:, :size].sum(axis=1)
    return float((1 + np.count_nonzero(np.abs(drawn) >= abs(observed) - 1e-9)) / (1 + RESAMPLES))


def _clean(values: ArrayLike) -> Floats:
    """Returns the values as floats.

    Raises:
        ValueError: There is none, or one is NaN.
    """
    array = np.asarray(values, dtype=float).ravel()
    if not array.size or np.isnan(array).any():
        raise ValueError("a rank test needs at least one value in each arm, and no NaN")
    return array
