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
    from statsmodels.stats.multitest import multipletests

    p_values = np.asarray(p_values, dtype=float)
    return np.asarray(multipletests(p_values, method="holm")[1]) if p_values.size else p_values
