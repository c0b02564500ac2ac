"""What runs over recorded spaces come to: records, means with intervals, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from evolve import stream
from fitness.spaces import Space, willemsen_score

from ..statistics.bootstrap import interval

FloatArray = NDArray[np.float64]
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run, looked at with one budget.

    Attributes:
        policy: Whose.
        file: Name of the space's file.
        budget: Evaluations.
        repeat: Which run.
        fraction: Optimum / best time found; 0 if nothing valid was.
        area: Mean of that over evaluations 1 … budget.
        score: Mean over evaluations of Willemsen's score against calculated random search.
    """

    policy: str
    file: str
    budget: int
    repeat: int
    fraction: float
    area: float
    score: float

    def record(self) -> dict[str, Any]:
        """Returns what is stored."""
        return {name: getattr(self, name) for name in ("policy", "file", "budget", "repeat", "fraction", "area")}


def outcome(space: Space, file: str, policy: str, repeat: int, curve: FloatArray) -> Outcome:
    """Returns what a curve, ``(budget,)`` best times in ms, comes to."""
    fractions = space.optimum_ms / curve
    score = float(willemsen_score(curve, space.times_ms).mean()) if len(curve) <= len(space) else np.nan
    return Outcome(policy, file, len(curve), repeat, float(fractions[-1]), float(fractions.mean()), score)


@dataclass(frozen=True, slots=True)
class Row:
    """A policy at a budget: each figure with its interval.

    Attributes:
        figures: By name, ``(mean, low, high)``.
    """

    policy: str
    budget: int
    figures: Mapping[str, tuple[float, float, float]]


def rows(outcomes: Sequence[Outcome], seed: int) -> list[Row]:
    """Returns means over files, each file with the same weight, best policy first at the largest budget.

    The intervals are 95 % bootstrap intervals: the files are given, the repeats are chance.
    """
    found = []
    for policy in dict.fromkeys(each.policy for each in outcomes):
        for budget in sorted({each.budget for each in outcomes}):
            runs = [each for each in outcomes if (each.policy, each.budget) == (policy, budget)]
            files = list(dict.fromkeys(each.file for each in runs))
            figures = {}
            for name in ("fraction", "area", "score"):
                strata = [np.array([getattr(each, name) for each in runs if each.file == file]) for file in files]
                figures[name] = _mean(strata, seed)
            found.append(Row(policy, budget, figures))
    return found


def _mean(strata: Sequence[FloatArray], seed: int) -> tuple[float, float, float]:
    rng = stream(seed, 0, "bootstrap")
    drawn = [each[rng.integers(len(each), size=(_RESAMPLES, len(each)))].mean(axis=1) for each in strata]
    low, high = interval(np.mean(drawn, axis=0))
    return float(np.mean([each.mean() for each in strata])), low, high


def table(found: Sequence[Row], title: str) -> Table:
    """Returns the rows for people."""
    made = Table(title=title, title_justify="left")
    for name, justify in (("policy", "left"), ("budget", "right")):
        made.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type] # a literal by way of a tuple
    for name in ("fraction of optimum", "area", "score"):
        made.add_column(name, no_wrap=True)
    previous = ""
    for row in found:
        if previous and row.policy != previous:
            made.add_section()
        made.add_row(row.policy if row.policy != previous else "", str(row.budget), *map(_cell, row.figures.values()))
        previous = row.policy
    return made


def _cell(figure: tuple[float, float, float]) -> str:
    mean, low, high = figure
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]" if np.isfinite(mean) else "-"
