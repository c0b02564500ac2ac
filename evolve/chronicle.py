"""DEAP's halls and logbook of a run."""

from __future__ import annotations

import numpy as np
from deap import tools

from .individual import Generation, Individual

_COLUMNS = (
    "generation",
    "evaluations",
    "duels",
    "tokens",
    "offspring",
    "valid",
    "duplicates",
    "population",
    "median",
    "min",
    "best",
    "speedup",
)


class Chronicle:
    """Hall of fame, Pareto front and logbook.

    Args:
        elites: Size of the hall of fame.
        num_objectives: With more than one there is a Pareto front.

    Attributes:
        hall_of_fame: Best first, distinct by digest.
        front: None when there is one objective.
        logbook: One row a generation, the same quantities for every policy.
    """

    def __init__(self, elites: int, num_objectives: int) -> None:
        self.hall_of_fame = tools.HallOfFame(elites, similar=_same_kernel)
        self.front = tools.ParetoFront(similar=_same_fitness) if num_objectives > 1 else None
        self.logbook = tools.Logbook()
        self.logbook.header = list(_COLUMNS)
        self._statistics = tools.Statistics(key=lambda individual: individual.fitness.values[0])
        self._statistics.register("median", np.median)
        self._statistics.register("min", np.min)

    def admit(self, individual: Individual) -> None:
        """Lets a valid individual into the halls, if it is good enough."""
        self.hall_of_fame.update([individual])
        if self.front is not None:
            self.front.update([individual])

    def log(self, generation: Generation, duels: int) -> None:
        """Adds a row to the logbook."""
        valid = [each for each in generation.offspring if each.fitness.valid]
        self.logbook.record(
            generation=generation.index,
            evaluations=generation.evaluations,
            tokens=generation.tokens,
            duels=duels,
            offspring=len(generation.offspring),
            valid=len(valid),
            duplicates=sum(each.duplicate_of is not None for each in generation.offspring),
            population=len(generation.survivors),
            best=generation.best.cost,
            speedup=generation.best.evaluation.speedup,
            **(self._statistics.compile(valid) if valid else {}),
        )


def _same_kernel(one: Individual, other: Individual) -> bool:
    return one.digest == other.digest


def _same_fitness(one: Individual, other: Individual) -> bool:
    """One representative a point keeps the front small when many kernels measure alike."""
    return bool(one.fitness == other.fitness)
