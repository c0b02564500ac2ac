"""What each variation operator is worth: how far its proposals come, and what they gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .curves import Floats, best_so_far

if TYPE_CHECKING:
    import pandas as pd

STAGES = ("proposed", "parsed", "built", "ran", "correct")
"""How far a proposal can come, in order."""

NOT_BUILT = ("rejected", "build_failed", "build_timeout")
NOT_RUN = ("crashed", "no_result", "out_of_memory", "run_timeout")


def stages(outcomes: ArrayLike, statuses: ArrayLike) -> NDArray[np.int64]:
    """Returns how far each proposal came, as an index into `STAGES`.

    Args:
        outcomes: Shape ``(num_proposals,)``: ``"parsed"`` where the operator made a kernel.
        statuses: Shape ``(num_proposals,)``: the verdict; anything where there is no kernel.
    """
    statuses, parsed = np.asarray(statuses), np.asarray(outcomes) == "parsed"
    built = parsed & ~np.isin(statuses, NOT_BUILT)
    ran = built & ~np.isin(statuses, NOT_RUN)
    reached = np.stack([parsed, built, ran, ran & (statuses == "ok")])
    return np.asarray(reached.sum(axis=0), dtype=np.int64)


def gains(speedups: ArrayLike) -> Floats:
    """Returns by how much each evaluation raised the logarithm of the best speedup of its run.

    Args:
        speedups: Shape ``(num_evaluations,)``, in order of commitment; NaN for failures.

    Returns:
        The same shape; the sum is the logarithm of the run's best speedup.
    """
    return np.diff(np.log(best_so_far(speedups)), prepend=0.0)


def operator_credit(proposals: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Summarises the proposals of each operator.

    Args:
        proposals: One row a proposal, with columns ``operator``, ``stage`` (of `stages`),
            ``duplicate`` (bool), ``speedup`` and ``parent_speedup`` (NaN where there is none),
            ``gain`` (of `gains`), and the costs ``charged`` (evaluations), ``cost_s`` and ``tokens``.
        margin: Fraction within which a child counts as equal to its best parent: the noise floor.

    Returns:
        One row an operator: ``proposals``; the rates ``parsed``, ``built``, ``ran``, ``correct``
        (validity), ``neutral``, ``improved`` and ``novel``, all over proposals; the total ``gain``
        in logarithm of speedup, and ``gain_per_evaluation``, ``gain_per_s``, ``gain_per_1k_tokens``,
        NaN where nothing of that was spent.
    """
    ratio = np.log(proposals["speedup"] / proposals["parent_speedup"])
    correct = proposals["stage"] == STAGES.index("correct")
    marks = {name: proposals["stage"] >= index for index, name in enumerate(STAGES) if index > 0}
    marks["neutral"] = correct & (ratio.abs() <= np.log1p(margin))
    marks["improved"] = correct & (ratio > np.log1p(margin))
    marks["novel"] = marks["parsed"] & ~proposals["duplicate"]
    columns = proposals[["operator", "gain", "charged", "cost_s", "tokens"]].assign(**marks)
    groups = columns.groupby("operator", observed=True)
    table = groups[list(marks)].mean()
    table.insert(0, "proposals", groups.size())
    sums = groups[["gain", "charged", "cost_s", "tokens"]].sum()
    table["gain"] = sums["gain"]
    table["gain_per_evaluation"] = sums["gain"] / sums["charged"].where(sums["charged"] > 0)
    table["gain_per_s"] = sums["gain"] / sums["cost_s"].where(sums["cost_s"] > 0)
    table["gain_per_1k_tokens"] = 1000.0 * sums["gain"] / sums["tokens"].where(sums["tokens"] > 0)
    return table
