"""How far the proposals of each operator come."""

from __future__ import annotations

from collections.abc import Sequence

from fitness import Status

from .individual import Individual

STAGES = ("proposed", "parsed", "duplicate", "built", "correct", "faster")
"""A duplicate is counted as proposed and parsed and goes no further; faster is faster than every parent, or than the
baseline where there is no parent."""

_NOT_BUILT = frozenset({Status.REJECTED, Status.BUILD_FAILED, Status.BUILD_TIMEOUT})


class Funnel:
    """Counts, by operator and stage, over the whole run."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, int]] = {}

    def add(self, individual: Individual, parents: Sequence[Individual]) -> None:
        """Counts one committed slot."""
        row = self.counts.setdefault(individual.operator, dict.fromkeys(STAGES, 0))
        for stage in _stages(individual, parents):
            row[stage] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """Returns a copy of the counts, operators in alphabetical order."""
        return {name: dict(self.counts[name]) for name in sorted(self.counts)}


def _stages(individual: Individual, parents: Sequence[Individual]) -> list[str]:
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
    if evaluation.latency_us is not None and evaluation.latency_us < _to_beat(individual, parents):
        stages.append("faster")
    return stages


def _to_beat(individual: Individual, parents: Sequence[Individual]) -> float:
    """Returns the latency in µs that counts as progress when it is undercut."""
    latencies = [each.evaluation.latency_us for each in parents if each.evaluation.latency_us is not None]
    return min(latencies) if latencies else individual.evaluation.reference_latency_us or 0.0
