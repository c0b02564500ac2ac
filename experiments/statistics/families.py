"""Several comparisons at once: is there any difference, and which p-values survive."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .curves import Floats


def friedman(scores: ArrayLike) -> tuple[float, float]:
    """Tests whether any arm differs, with blocks as their own control (Friedman 1937).

    Args:
        scores: Shape ``(num_blocks, num_arms)``; a block is a task and seed.

    Returns:
        The statistic and its p.

    Raises:
        ValueError: There are fewer than three arms or two blocks, or a NaN.
    """
    from scipy.stats import friedmanchisquare

    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 3 or np.isnan(scores).any():
        raise ValueError(f"Friedman's test needs 2 blocks and 3 arms without NaN, has shape {scores.shape}")
    if np.all(scores == scores[:, :1]):
        return 0.0, 1.0
    found = friedmanchisquare(*scores.T)
    return float(found.statistic), float(found.pvalue)


def holm(p_values: ArrayLike) -> Floats:
    """Adjusts p-values so that the chance of any false positive stays below alpha (Holm 1979).

    Args:
        p_values: Shape ``(num_comparisons,)``.

    Returns:
        The same shape, each at least as large as before.
    """
    # Not statsmodels' multipletests: it collects garbage at every call, which costs a simulation hours.
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
