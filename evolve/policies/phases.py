"""Drafts without feedback first, then another policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan, Policy
from .breeding import Breeder, check_sizes, drafts, improvements


class Phases:
    """Independent drafts, whose correct kernels then found the population of another policy.

    The two phases of KernelEvolve (Liao 2025, https://arxiv.org/abs/2512.23236): samples that know
    nothing of each other, then growth with the feedback of ancestors.

    Args:
        drafts: Slots of the first phase. They start from nothing, or from a seed when no operator drafts.
        growth: Makes the policy of the second phase from its ``choice``, e.g. with ``_partial_: true``.
        choice: Chooses operators in both; None for equal weights.

    Raises:
        ValueError: ``drafts`` is below 1.
    """

    def __init__(self, *, drafts: int, growth: Callable[..., Policy], choice: Choice | None = None) -> None:
        check_sizes(drafts=drafts)
        self._growth = growth(choice=choice)
        self.generation_size = self._growth.generation_size
        self._drafts = drafts
        self._breeder = Breeder(choice, tools.selRandom)
        self._seeds: list[Individual] = []

    def ready(self, slot: int) -> int:
        """Returns nothing for drafts; after them, what the policy of the second phase needs."""
        if slot < self._drafts:
            return 0
        return self._drafts + self._growth.ready(slot - self._drafts)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Drafts, or lets the second phase plan."""
        if slot >= self._drafts:
            return self._growth.plan(slot - self._drafts, operators, rng)
        usable = self._breeder.usable((drafts, improvements), operators, len(self._seeds))
        return replace(self._breeder.plan(self._seeds, usable, rng), remembers=False)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Tells the second phase of everything; what comes before its first plan are founders to it."""
        if self._breeder.settle(individual) is None and individual.slot < 0 and individual.fitness.valid:
            self._seeds.append(individual)
        self._growth.tell(individual, rng)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The population of the second phase."""
        return self._growth.survivors
