"""Greedy best-first tree search with drafts and debugging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes, drafts, improvements, in_order, is_failure, repairs

_CONTEXT = 8
"""So many of the best are kept, for operators that take several parents."""


class Greedy:
    """First drafts; then a failed leaf is repaired, or else the best kernel is improved.

    The policy of AIDE (Jiang 2025, https://arxiv.org/abs/2502.13138) as AIRA formulates it (Toledo
    2025, https://arxiv.org/abs/2507.02554).

    Args:
        lambda_: Slots of a record; of no influence on the search.
        drafts: Slots that start from nothing, or from a seed when no operator drafts.
        debug_probability: Of repairing a failed leaf while there is one.
        max_debug_depth: Repairs in a row, after which a line is given up.
        in_flight: Slots under way at once; 1 is strictly sequential.
        choice: Chooses among the operators of the kind that is due; None for equal weights.

    Raises:
        ValueError: A size is below 1, or the probability is none.
    """

    def __init__(
        self,
        *,
        lambda_: int,
        drafts: int = 5,
        debug_probability: float = 1.0,
        max_debug_depth: int = 20,
        in_flight: int = 1,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(lambda_=lambda_, drafts=drafts, max_debug_depth=max_debug_depth, in_flight=in_flight)
        if not 0.0 <= debug_probability <= 1.0:
            raise ValueError(f"debug_probability must be between 0 and 1, is {debug_probability}")
        self.generation_size = lambda_
        self._drafts = drafts
        self._debug_probability = debug_probability
        self._max_debug_depth = max_debug_depth
        self._lag = in_flight
        self._breeder = Breeder(choice, in_order)
        self._seeds: list[Individual] = []
        self._best: list[Individual] = []
        self._leaves: list[Individual] = []
        self._depth: dict[str, int] = {}

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed: all but those in flight."""
        return max(0, slot - self._lag + 1)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Drafts, repairs or improves."""
        if slot < self._drafts:
            usable = self._breeder.usable((drafts, improvements), operators, len(self._seeds))
            return self._breeder.plan(self._seeds, usable, rng)
        if self._leaves and rng.random() < self._debug_probability:
            usable = self._breeder.usable((repairs,), operators, len(self._best), len(self._leaves))
            if any(operators[name].takes_failures for name in usable):
                return self._breeder.plan(self._best, usable, rng, self._leaves)
        usable = self._breeder.usable((improvements, drafts), operators, len(self._best))
        return self._breeder.plan(self._best, usable, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Grows the tree."""
        plan = self._breeder.settle(individual)
        if individual.fitness.valid:
            if plan is None:
                self._seeds.append(individual)
            if all(each.digest != individual.digest for each in self._best):
                self._best = tools.selBest([*self._best, individual], _CONTEXT)
        elif is_failure(individual):
            depth = 1 + max((self._depth.get(parent.digest, 0) for parent in plan.parents), default=0) if plan else 1
            if depth <= self._max_debug_depth:
                self._depth[individual.digest] = depth
                self._leaves.append(individual)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The best so far, best first."""
        return self._best
