"""Selections of our own, in DEAP's signature."""

from __future__ import annotations

from deap.tools import selection as deap_selection

from ..individual import Individual


def select_certified(individuals: list[Individual], k: int) -> list[Individual]:
    """Selects the fastest, but calls nobody faster whose interval overlaps: ties go to the older kernel.

    The next place goes to the oldest of those whose interval of the speedup reaches that of the
    fastest who is left. An elite thus stays until something is certainly faster, and does not lose
    its place to luck.

    Args:
        individuals: Valid and timed.
        k: How many, at most.
    """
    rest = sorted(individuals, key=lambda individual: individual.cost)
    chosen: list[Individual] = []
    while rest and len(chosen) < k:
        threshold = _interval(rest[0])[0]
        tied = [individual for individual in rest if _interval(individual)[1] >= threshold]
        oldest = min(tied, key=lambda individual: individual.slot)
        rest.remove(oldest)
        chosen.append(oldest)
    return chosen


def _interval(individual: Individual) -> tuple[float, float]:
    """Returns the interval of the speedup; without one, the point that the fitness is."""
    interval = individual.evaluation.interval
    return interval if interval is not None else (-individual.cost, -individual.cost)


def select_by_rank(individuals: list[Individual], k: int) -> list[Individual]:
    """Draws parents with probability 1 / (rank + population size), as EoH does (Liu 2024, https://arxiv.org/abs/2401.02051).

    Draws from DEAP's source, so that `deap_random` confines it and no thread disturbs it.

    Args:
        individuals: Valid.
        k: How many; the same one may be drawn again.
    """
    ranked = sorted(individuals, key=lambda individual: individual.cost)
    weights = [1.0 / (rank + len(ranked)) for rank in range(1, len(ranked) + 1)]
    chosen: list[Individual] = deap_selection.random.choices(ranked, weights=weights, k=k)
    return chosen


def select_by_beta(individuals: list[Individual], k: int) -> list[Individual]:
    """Draws parents by rank from Beta(1, 2.5), as Kernel Tuner's genetic algorithm does.

    https://github.com/KernelTuner/kernel_tuner, ``strategies/genetic_algorithm.py``

    Args:
        individuals: Valid.
        k: How many; the same one may be drawn again.
    """
    ranked = sorted(individuals, key=lambda individual: individual.cost)
    return [
        ranked[min(int(deap_selection.random.betavariate(1.0, 2.5) * len(ranked)), len(ranked) - 1)] for _ in range(k)
    ]
