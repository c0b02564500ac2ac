"""NSGA-II over several objectives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from ..streams import deap_random
from .generational import MuPlusLambda


class NSGA2(MuPlusLambda):
    """Survives by front and crowding, breeds by crowded tournaments (Deb 2002, https://doi.org/10.1109/4235.996017).

    Fronts, crowding and tournaments are DEAP's.

    Args:
        mu: Size of the population.
        lambda_: Slots of a generation.
        elites: The best so many in the first objective survive in any case.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: A size is below 1, or ``elites`` is not between 0 and ``mu``.
    """

    def __init__(self, *, mu: int, lambda_: int, elites: int = 0, choice: Choice | None = None) -> None:
        super().__init__(mu=mu, lambda_=lambda_, survivor_selection=_by_front, choice=choice)
        if not 0 <= elites <= mu:
            raise ValueError(f"elites must be between 0 and mu = {mu}, is {elites}")
        self._elites = elites
        self._parents: list[Individual] = []

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses operator and parents; tournaments are held for many parents at once."""
        if slot % self.generation_size == 0:
            self._parents = []
        return self._breeder.plan(self._population, operators, rng, self._failures, select=self._next_parents)

    def _next_parents(self, individuals: list[Individual], k: int) -> list[Individual]:
        """Selects the next winners that may be taken, in DEAP's signature; runs inside `deap_random`."""
        chosen: list[Individual] = []
        while len(chosen) < k:
            if not self._parents:
                self._parents = self._tournaments()
            winner = self._parents.pop()
            # The tournaments are over the whole population; one that is already a parent of this slot is passed over.
            if winner in individuals:
                chosen.append(winner)
        return chosen

    def _tournaments(self) -> list[Individual]:
        """Holds DEAP's crowded tournaments; everyone takes part, in a number that they can be held with."""
        _by_front(self._population, len(self._population))  # sets the crowding distances
        padded = self._population * 4
        if len(padded) <= 4:
            return padded
        winners: list[Individual] = tools.selTournamentDCD(padded, len(padded))
        missing = [each for each in self._population if each not in winners]
        return missing + winners

    def _select(self, pool: list[Individual], rng: np.random.Generator) -> list[Individual]:
        elites = tools.selBest(pool, self._elites)
        rest = [each for each in pool if each not in elites]
        room = min(self.mu - len(elites), len(rest))
        with deap_random(rng):
            return [*elites, *(self._survivor_selection(rest, room) if room else [])]


def _by_front(individuals: list[Individual], k: int) -> list[Individual]:
    """Selects by front and crowding.

    DEAP's divide-and-conquer sort finds the same fronts and stays fast at populations of hundreds, but
    fails with a single objective.
    """
    several = len(individuals[0].fitness.values) > 1
    return tools.selNSGA2(individuals, k, nd="log" if several else "standard")  # type: ignore[no-any-return] # DEAP has no types
