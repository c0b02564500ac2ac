"""A walk without selection: what a variation operator does when nobody judges how fast its kernels are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes


class NeutralChain:
    """Every correct kernel takes its parent's place, however slow it is; a failed one is passed over.

    The chains of Gurkan 2026 (https://arxiv.org/abs/2606.05408), with correctness in the place of a program that runs.
    A kernel that was visited before is a step like any other: that is how a chain shows its attractors.

    Args:
        lambda_: Slots of a record; of no influence on the walk.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: ``lambda_`` is below 1.
    """

    def __init__(self, *, lambda_: int, choice: Choice | None = None) -> None:
        check_sizes(lambda_=lambda_)
        self.generation_size = lambda_
        self._breeder = Breeder(choice, tools.selRandom)
        self._place: list[Individual] = []

    def ready(self, slot: int) -> int:
        """Returns all earlier slots: a step starts where the one before ended."""
        return slot

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses an operator; the parent is where the chain stands."""
        return self._breeder.plan(self._place, operators, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Steps onto a correct kernel; of several seeds, onto the last."""
        self._breeder.settle(individual)
        if individual.fitness.valid:
            self._place = [individual]

    @property
    def survivors(self) -> Sequence[Individual]:
        """Where the chain stands."""
        return self._place
