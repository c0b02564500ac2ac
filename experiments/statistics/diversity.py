"""How much of the space a run has seen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def discovery_curve(keys: Sequence[Hashable | None]) -> NDArray[np.int64]:
    """Returns how many distinct keys were seen after each proposal.

    Args:
        keys: Shape ``(num_proposals,)``: digests of kernels, or of their skeletons; None where an
            operator made nothing.

    Returns:
        Shape ``(num_proposals,)``; the last value is the number of unique ones.
    """
    import pandas as pd

    series = pd.Series(keys, dtype=object)
    return np.asarray((~series.duplicated() & series.notna()).cumsum(), dtype=np.int64)


def qd_score(cells: Sequence[Hashable | None], qualities: ArrayLike) -> float:
    """Returns the sum over descriptor cells of the best quality in each (Pugh 2016).

    Args:
        cells: Shape ``(num_individuals,)``; None for what has no descriptor.
        qualities: Shape ``(num_individuals,)``, not negative, e.g. the logarithm of a speedup
            clipped at 0; NaN for failures.

    Raises:
        ValueError: A quality is negative, which would make a found cell worth less than none.
    """
    best: dict[Hashable, float] = {}
    for cell, quality in zip(cells, np.asarray(qualities, dtype=float), strict=True):
        if cell is None or np.isnan(quality):
            continue
        if quality < 0:
            raise ValueError(f"a quality-diversity score adds qualities that are not negative, not {quality}")
        best[cell] = max(best.get(cell, 0.0), float(quality))
    return float(sum(best.values()))
