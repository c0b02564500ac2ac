from __future__ import annotations

import pytest

from evolve import Individual
from evolve.funnel import Funnel
from fitness import Evaluation, Kernel, Status

SEED_US = 100.0


def individual(speedup: float | None, spread: float = 0.02) -> Individual:
    """Returns an individual whose interval is ``spread`` wide on both sides; without a speedup, a wrong one."""
    kernel = Kernel(f"{speedup} {spread}", "toy")
    if speedup is None:
        return Individual(kernel, Evaluation(kernel.digest, Status.WRONG_VALUE, max_rel_error=1.0), 1, 0, "vary")
    evaluation = Evaluation(
        kernel.digest,
        Status.OK,
        latency_us=SEED_US / speedup,
        reference_latency_us=SEED_US,
        speedup=speedup,
        interval=(speedup - spread, speedup + spread),
        max_rel_error=0.0,
    )
    return Individual(kernel, evaluation, 1, 0, "vary")


def faster(child: Individual, *parents: Individual) -> int:
    funnel = Funnel(noise_floor=0.05)
    funnel.add(child, parents)
    return funnel.counts["vary"]["faster"]


@pytest.mark.parametrize(("speedup", "expected"), [(1.5, 1), (1.06, 1), (1.04, 0), (1.0, 0), (0.5, 0)])
def test_a_draft_is_faster_beyond_the_noise_floor(speedup: float, expected: int) -> None:
    assert expected == faster(individual(speedup, spread=0.001))


@pytest.mark.parametrize(("speedup", "expected"), [(3.0, 1), (2.05, 0), (2.0, 0), (1.5, 0)])
def test_a_child_is_faster_beyond_the_noise_floor_of_its_parent(speedup: float, expected: int) -> None:
    assert expected == faster(individual(speedup), individual(2.0))


def test_a_child_whose_interval_overlaps_is_not_faster() -> None:
    assert 0 == faster(individual(2.5, spread=0.4), individual(2.0, spread=0.2))


def test_a_child_must_beat_every_parent() -> None:
    assert 0 == faster(individual(2.0), individual(1.0), individual(2.5))


def test_a_failed_parent_is_no_measure() -> None:
    assert 1 == faster(individual(1.5), individual(None))
    assert 1 == faster(individual(1.5), individual(None), individual(1.2))
