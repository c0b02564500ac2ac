"""(mu + lambda) and (mu, lambda)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from ..streams import deap_random
from .breeding import Breeder, Selection, check_sizes, is_failure


class MuPlusLambda:
    """Survivors are chosen among parents and offspring.

    Args:
        mu: Survivors of a generation.
        lambda_: Slots of a generation.
        parent_selection: In DEAP's signature; None for tournaments of three.
        survivor_selection: In DEAP's signature. It is given parents before offspring, so that a
            stable one keeps the older kernel in a tie.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: ``mu`` or ``lambda_`` is below 1.
    """

    def __init__(
        self,
        *,
        mu: int,
        lambda_: int,
        parent_selection: Selection | None = None,
        survivor_selection: Selection = tools.selBest,
        choice: Choice | None = None,
    ) -> None:
        self._check(mu, lambda_)
        self.mu = mu
        self.generation_size = lambda_
        self._survivor_selection = survivor_selection
        self._breeder = Breeder(choice, parent_selection)
        self._population: list[Individual] = []
        self._offspring: list[Individual] = []
        self._failures: list[Individual] = []
        self._told = 0

    def ready(self, slot: int) -> int:
        """Returns the first slot of the generation."""
        return slot // self.generation_size * self.generation_size

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses operator and parents among the survivors."""
        return self._breeder.plan(self._population, operators, rng, self._failures)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Takes a founder in at once, an offspring when its generation is whole."""
        founder = self._breeder.settle(individual) is None
        if individual.fitness.valid:
            self._offspring.append(individual)
        elif is_failure(individual):
            self._failures = [*self._failures, individual][-self.generation_size :]
        if founder:
            self._population = self._distinct(self._population, self._offspring)
            self._offspring = []
            return
        self._told += 1
        if self._told % self.generation_size == 0:
            self._population = self._survive(self._population, self._offspring, rng)
            self._offspring = []

    @property
    def survivors(self) -> Sequence[Individual]:
        """The population as it stands."""
        return self._population

    def adopt(self, population: Sequence[Individual]) -> None:
        """Replaces the population, as migration does."""
        self._population = list(population)

    def _survive(
        self, parents: list[Individual], offspring: list[Individual], rng: np.random.Generator
    ) -> list[Individual]:
        return self._select(self._distinct(parents, offspring), rng)

    def _select(self, pool: list[Individual], rng: np.random.Generator) -> list[Individual]:
        with deap_random(rng):
            return self._survivor_selection(pool, min(self.mu, len(pool)))

    @staticmethod
    def _check(mu: int, lambda_: int) -> None:
        check_sizes(mu=mu, lambda_=lambda_)

    @staticmethod
    def _distinct(first: Sequence[Individual], second: Sequence[Individual]) -> list[Individual]:
        """Returns both, each kernel once: the older of two that are equal."""
        distinct: dict[str, Individual] = {}
        for individual in (*first, *second):
            distinct.setdefault(individual.digest, individual)
        return list(distinct.values())


class MuCommaLambda(MuPlusLambda):
    """Survivors are chosen among the offspring alone; parents stay only when no offspring is valid.

    Raises:
        ValueError: ``mu`` is below 1, or above ``lambda_``.
    """

    @staticmethod
    def _check(mu: int, lambda_: int) -> None:
        MuPlusLambda._check(mu, lambda_)
        if mu > lambda_:
            raise ValueError(f"(mu, lambda) needs mu of at most lambda_ = {lambda_}, is {mu}")

    def _survive(
        self, parents: list[Individual], offspring: list[Individual], rng: np.random.Generator
    ) -> list[Individual]:
        distinct = self._distinct([], offspring)
        return self._select(distinct, rng) if distinct else parents
