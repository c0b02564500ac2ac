"""Several populations with migration, or with the reset of the weakest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan, Policy
from ..streams import deap_random
from .breeding import check_sizes


class Island(Policy, Protocol):
    """A policy whose population can be replaced."""

    def adopt(self, population: Sequence[Individual]) -> None:
        """Replaces the population."""
        ...


class Islands:
    """Equal policies side by side; slots are dealt to them in turn.

    Args:
        island: Makes one island from its ``choice``, e.g. a policy with ``_partial_: true`` in YAML.
        num_islands: At least 2.
        migration_every: Generations of an island between migrations; None for no migration.
        migrants: Individuals that leave an island at once; copies of its best.
        topology: ``"ring"``, or ``"random"``: a ring in an order that is drawn each time.
        reset_every: Generations of an island between resets, at which the weakest half of the islands
            begins anew from the best of a surviving one (Romera-Paredes 2024,
            https://doi.org/10.1038/s41586-023-06924-6); None for no reset.
        choice: Chooses operators, for all islands; None for equal weights.

    Raises:
        ValueError: A size is out of range.
    """

    def __init__(
        self,
        *,
        island: Callable[..., Island],
        num_islands: int = 4,
        migration_every: int | None = 10,
        migrants: int = 1,
        topology: Literal["ring", "random"] = "ring",
        reset_every: int | None = None,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(migrants=migrants, migration_every=migration_every or 1, reset_every=reset_every or 1)
        if num_islands < 2:
            raise ValueError(f"num_islands must be at least 2, is {num_islands}")
        if topology not in ("ring", "random"):
            raise ValueError(f"unknown topology {topology!r}; use ring or random")
        self._islands = [island(choice=choice) for _ in range(num_islands)]
        self.generation_size = num_islands * self._islands[0].generation_size
        self._migration_every = migration_every
        self._migrants = migrants
        self._topology = topology
        self._reset_every = reset_every
        self._planned = self._told = 0

    def ready(self, slot: int) -> int:
        """Returns what all islands need for the row of slots that ``slot`` is in."""
        row = slot // len(self._islands)
        return self._islands[0].ready(row) * len(self._islands)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Lets the island whose turn it is plan."""
        self._planned += 1
        row, turn = divmod(slot, len(self._islands))
        return self._islands[turn].plan(row, operators, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Tells the island that the individual comes from; founders go to all."""
        if not self._planned:
            for island in self._islands:
                island.tell(individual, rng)
            return
        self._islands[self._told % len(self._islands)].tell(individual, rng)
        self._told += 1
        epoch, rest = divmod(self._told, self.generation_size)
        if rest:
            return
        if self._migration_every and epoch % self._migration_every == 0:
            self._migrate(rng)
        if self._reset_every and epoch % self._reset_every == 0:
            self._reset(rng)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The populations, island after island, each kernel once."""
        distinct: dict[str, Individual] = {}
        for island in self._islands:
            for individual in island.survivors:
                distinct.setdefault(individual.digest, individual)
        return list(distinct.values())

    @property
    def populations(self) -> list[Sequence[Individual]]:
        """The population of each island."""
        return [island.survivors for island in self._islands]

    def _migrate(self, rng: np.random.Generator) -> None:
        """Sends copies of the best of each island to the next, where they take the places of the worst."""
        populations = [list(population) for population in self.populations]
        count = min(self._migrants, *(len(population) for population in populations))
        if not count:
            return
        order = list(range(len(populations)))
        if self._topology == "random":
            order = [int(i) for i in rng.permutation(len(order))]
        successor = dict(zip(order, [*order[1:], order[0]], strict=True))
        with deap_random(rng):
            migration = [successor[i] for i in range(len(order))]
            tools.migRing(populations, count, tools.selBest, tools.selWorst, migration)
        for island, population in zip(self._islands, populations, strict=True):
            island.adopt(_distinct(population))

    def _reset(self, rng: np.random.Generator) -> None:
        """Empties the weakest half and founds each island of it anew."""
        best = [min((each.cost for each in population), default=np.inf) for population in self.populations]
        ranked = sorted(range(len(best)), key=lambda i: best[i])
        kept = ranked[: len(ranked) - len(ranked) // 2]
        for weak in ranked[len(kept) :]:
            founders = self._islands[kept[int(rng.integers(len(kept)))]].survivors
            self._islands[weak].adopt(tools.selBest(founders, 1))


def _distinct(population: Sequence[Individual]) -> list[Individual]:
    """Returns each kernel once; an immigrant may be there already."""
    return list({individual.digest: individual for individual in population}.values())
