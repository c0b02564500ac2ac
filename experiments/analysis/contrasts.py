"""What is compared with what: two arms, or all arms of two levels of a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Scores = Mapping[str, Mapping[str, Mapping[int, float]]]
"""By arm, task and seed; larger is better."""
Strata = list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two sides of a comparison.

    Attributes:
        first: An arm, or the level of a factor.
        second: Another one.
        pairs: The two arms; for a factor, all pairs of arms that differ in it alone.
    """

    first: str
    second: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Samples:
    """Scores of two sides.

    Attributes:
        xs: Of the first, an array a stratum: a task, and for a factor also what else the arms are.
        ys: Of the second.
        tasks: Whose task each stratum is.
    """

    xs: Strata = field(default_factory=list)
    ys: Strata = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)

    def add(self, task: str, x: Sequence[float], y: Sequence[float]) -> None:
        """Adds a stratum, if both sides have a run in it."""
        if len(x) and len(y):
            self.xs.append(np.array(x))
            self.ys.append(np.array(y))
            self.tasks.append(task)


def samples_of(scores: Scores, contrast: Contrast, *, paired: bool) -> Samples:
    """Returns what is compared with what: runs of one task, whose arms differ in nothing but the contrast.

    Seeds that are paired make the arms of one seed dependent. So for a factor each side of a seed is averaged over
    its arms, and seeds count where all these arms have a run.
    """
    found = Samples()
    arms = [[scores.get(pair[side], {}) for pair in contrast.pairs] for side in (0, 1)]
    for task in sorted({task for side in arms for arm in side for task in arm}):
        if paired:
            runs = [[arm.get(task, {}) for arm in side] for side in arms]
            seeds = sorted(set.intersection(*(set(run) for side in runs for run in side)))
            x, y = ([float(np.mean([run[seed] for run in side])) for seed in seeds] for side in runs)
            found.add(task, x, y)
            continue
        for first, second in zip(*arms, strict=True):
            x, y = ([run[seed] for seed in sorted(run)] for run in (first.get(task, {}), second.get(task, {})))
            found.add(task, x, y)
    return found
