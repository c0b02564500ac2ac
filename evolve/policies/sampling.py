"""The baselines without a population: independent samples, and samples that see some of the last ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes


class RandomSampling:
    """IID sampling: every proposal is a draft, or made from a seed kernel, and remembers nothing (Gideoni 2026).

    https://arxiv.org/abs/2602.16805

    Args:
        lambda_: Slots of a record, and proposals under way at once; of no influence on what is proposed.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: ``lambda_`` is below 1.
    """

    def __init__(self, *, lambda_: int, choice: Choice | None = None) -> None:
        check_sizes(lambda_=lambda_)
        self.generation_size = lambda_
        self._breeder = Breeder(choice, tools.selRandom)
        self._seeds: list[Individual] = []

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed; only so that not all are planned at once."""
        return max(0, slot - self.generation_size + 1)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses an operator, and seeds as its parents."""
        return replace(self._breeder.plan(self._seeds, operators, rng), remembers=False)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Keeps seeds only."""
        if self._breeder.settle(individual) is None and individual.fitness.valid:
            self._seeds.append(individual)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The seeds."""
        return self._seeds


class SequentialConditioned:
    """Sequential-conditioned sampling (Gideoni 2026): parents are drawn from a few programs of the last generation.

    https://arxiv.org/abs/2602.16805

    Args:
        lambda_: Slots of a generation.
        context: Programs that a slot is shown, drawn at random for each; the operator's parents are
            among them.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: ``lambda_`` or ``context`` is below 1.
    """

    def __init__(self, *, lambda_: int, context: int = 3, choice: Choice | None = None) -> None:
        check_sizes(lambda_=lambda_, context=context)
        self.generation_size = lambda_
        self._context = context
        self._breeder = Breeder(choice, tools.selRandom)
        self._last: list[Individual] = []
        self._offspring: list[Individual] = []
        self._told = 0

    def ready(self, slot: int) -> int:
        """Returns the first slot of the generation."""
        return slot // self.generation_size * self.generation_size

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Draws the context and an operator's parents from it."""
        chosen = rng.permutation(len(self._last))[: self._context]
        return self._breeder.plan([self._last[i] for i in chosen], operators, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Collects the correct kernels of the generation; a generation without any is passed over."""
        founder = self._breeder.settle(individual) is None
        new = individual.digest not in {each.digest for each in (self._last if founder else self._offspring)}
        if individual.fitness.valid and new:
            (self._last if founder else self._offspring).append(individual)
        if founder:
            return
        self._told += 1
        if self._told % self.generation_size == 0 and self._offspring:
            self._last, self._offspring = self._offspring, []

    @property
    def survivors(self) -> Sequence[Individual]:
        """The generation that contexts are drawn from."""
        return self._last
