"""How far the proposals of each operator come."""

from __future__ import annotations

from collections.abc import Sequence

from fitness import Evaluation, Status

from .champion import is_surely_faster
from .individual import Individual

STAGES = ("proposed", "parsed", "duplicate", "built", "correct", "faster")
"""A duplicate is counted as proposed and parsed and goes no further. Faster is faster than every timed parent, or than
the baseline where there is none, by more than noise: of equal kernels half would be faster by luck."""

_NOT_BUILT = frozenset({Status.REJECTED, Status.BUILD_FAILED, Status.BUILD_TIMEOUT})


class Funnel:
    """Counts, by operator and stage, over the whole run.

    Args:
        noise_floor: Smallest difference that the machine can tell, as a fraction.
    """

    def __init__(self, noise_floor: float) -> None:
        self._noise_floor = noise_floor
        self.counts: dict[str, dict[str, int]] = {}

    def add(self, individual: Individual, parents: Sequence[Individual]) -> None:
        """Counts one committed slot."""
        row = self.counts.setdefault(individual.operator, dict.fromkeys(STAGES, 0))
        for stage in _stages(individual, parents, self._noise_floor):
            row[stage] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """Returns a copy of the counts, operators in alphabetical order."""
        return {name: dict(self.counts[name]) for name in sorted(self.counts)}


def _stages(individual: Individual, parents: Sequence[Individual], noise_floor: float) -> list[str]:
    stages = ["proposed"]
    if individual.outcome != "parsed":
        return stages
    stages.append("parsed")
    if individual.duplicate_of is not None:
        return [*stages, "duplicate"]
    evaluation = individual.evaluation
    if evaluation.status not in _NOT_BUILT:
        stages.append("built")
    if evaluation.ok:
        stages.append("correct")
    if _is_faster(evaluation, [each.evaluation for each in parents], noise_floor):
        stages.append("faster")
    return stages


def _is_faster(evaluation: Evaluation, parents: Sequence[Evaluation], noise_floor: float) -> bool:
    timed = [parent for parent in parents if parent.speedup is not None]
    if timed:
        return all(is_surely_faster(evaluation, parent, noise_floor) for parent in timed)
    return evaluation.interval is not None and evaluation.interval[0] > 1.0 + noise_floor
