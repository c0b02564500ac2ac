"""MAP-Elites over fixed cells, with uniform or curious choice of parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes, is_failure
from .descriptors import Descriptor


class Emphasis(Protocol):
    """Says which cells are worth breeding from."""

    def opened(self, cell: int) -> None:
        """A cell, by its number in the order of opening, has its first elite."""
        ...

    def outcome(self, cell: int, gain: float, correct: bool) -> None:
        """A child of the cell's elite was judged; ``gain`` is in the logarithm of the first objective."""
        ...

    def draw(self, rng: np.random.Generator) -> int:
        """Returns the number of a cell."""
        ...


class Uniform:
    """Every cell alike (Mouret 2015, https://arxiv.org/abs/1504.04909)."""

    def __init__(self) -> None:
        self._count = 0

    def opened(self, cell: int) -> None:
        """Counts."""
        self._count += 1

    def outcome(self, cell: int, gain: float, correct: bool) -> None:
        """Learns nothing."""

    def draw(self, rng: np.random.Generator) -> int:
        """Draws a cell."""
        return int(rng.integers(self._count))


class Curiosity:
    """Cells whose children gained, or were correct, or that were hardly tried (KernelFoundry, https://arxiv.org/abs/2603.12440).

    The weight of a cell is ``gain`` * its mean positive gain, scaled by the largest, + ``rate`` * the
    share of its children that are correct + ``explore`` / sqrt(1 + children).

    Args:
        gain: Weight of the gain; 0.4 in the paper.
        rate: Weight of the success rate; 0.4 in the paper.
        explore: Weight of the exploration; 0.2 in the paper.

    Raises:
        ValueError: A weight is negative, or ``explore`` is 0, so that a cell could be forgotten.
    """

    def __init__(self, gain: float = 0.4, rate: float = 0.4, explore: float = 0.2) -> None:
        if min(gain, rate) < 0 or explore <= 0:
            raise ValueError("gain and rate must be at least 0, explore must be positive")
        self._weights = (gain, rate, explore)
        self._size = 0
        self._gains, self._correct, self._children = (np.zeros(64) for _ in range(3))

    def opened(self, cell: int) -> None:
        """Makes room for the cell."""
        if cell >= self._children.size:
            self._gains, self._correct, self._children = (
                np.concatenate([each, np.zeros(each.size)]) for each in (self._gains, self._correct, self._children)
            )
        self._size = cell + 1

    def outcome(self, cell: int, gain: float, correct: bool) -> None:
        """Learns."""
        self._children[cell] += 1
        self._correct[cell] += correct
        self._gains[cell] += max(0.0, gain)

    def draw(self, rng: np.random.Generator) -> int:
        """Draws a cell by its weight."""
        gain, rate, explore = self._weights
        children = self._children[: self._size]
        tried = np.maximum(children, 1.0)
        mean = self._gains[: self._size] / tried
        largest = float(mean.max())
        weights = rate * self._correct[: self._size] / tried + explore / np.sqrt(1.0 + children)
        if largest > 0:
            weights += gain * mean / largest
        cumulative = np.cumsum(weights)
        return min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), self._size - 1)


class MapElites:
    """One elite a cell; a newcomer takes a cell when it is faster, and stays when it is as fast.

    Args:
        descriptors: The axes of the archive.
        lambda_: Slots of a generation.
        emphasis: Which cells breed; None for all alike.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: There is no descriptor, or ``lambda_`` is below 1.
    """

    def __init__(
        self,
        *,
        descriptors: Sequence[Descriptor],
        lambda_: int,
        emphasis: Emphasis | None = None,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(lambda_=lambda_, descriptors=len(descriptors))
        self.generation_size = lambda_
        self._descriptors = list(descriptors)
        self._emphasis = emphasis or Uniform()
        self._breeder = Breeder(choice)
        self._numbers: dict[tuple[int, ...], int] = {}
        self._elites: list[Individual] = []
        self._cell_of: dict[str, int] = {}
        self._failures: list[Individual] = []

    def ready(self, slot: int) -> int:
        """Returns the first slot of the generation."""
        return slot // self.generation_size * self.generation_size

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses an operator, and parents from cells of their own."""
        wanted = min(max((each.arity for each in operators.values()), default=0), len(self._elites))
        cells: list[int] = []
        while len(cells) < wanted:
            cell = self._emphasis.draw(rng)
            # A cell of great weight may be drawn over and over; then the next one that is free has to do.
            while cell in cells:
                cell = (cell + 1) % len(self._elites)
            cells.append(cell)
        pool = [self._elites[cell] for cell in cells]
        return self._breeder.plan(pool, operators, rng, self._failures, _first)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Lets an individual into its cell, and credits the cell of its first parent."""
        plan = self._breeder.settle(individual)
        if plan is not None and plan.parents:
            self._credit(individual, plan.parents[0])
        if is_failure(individual):
            self._failures = [*self._failures, individual][-self.generation_size :]
        elif individual.fitness.valid and individual.duplicate_of is None:
            self._enter(individual)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The elites, in the order in which their cells were opened."""
        return self._elites

    @property
    def cells(self) -> dict[tuple[int, ...], Individual]:
        """The elite of every cell that has one, by its bins."""
        return {bins: self._elites[number] for bins, number in self._numbers.items()}

    def adopt(self, population: Sequence[Individual]) -> None:
        """Lets immigrants into their cells; nobody leaves."""
        for individual in population:
            self._enter(individual)

    def _enter(self, individual: Individual) -> None:
        bins = tuple(descriptor.bin(individual) for descriptor in self._descriptors)
        number = self._numbers.setdefault(bins, len(self._elites))
        if number == len(self._elites):
            self._elites.append(individual)
            self._emphasis.opened(number)
        elif individual.fitness > self._elites[number].fitness:
            self._elites[number] = individual
        else:
            return
        self._cell_of[individual.digest] = number

    def _credit(self, individual: Individual, parent: Individual) -> None:
        cell = self._cell_of.get(parent.digest)
        if cell is None:
            return
        valid = individual.fitness.valid
        gain = float(np.log(max(parent.cost, 1e-300) / max(individual.cost, 1e-300))) if valid else 0.0
        self._emphasis.outcome(cell, gain, valid)


def _first(individuals: list[Individual], k: int) -> list[Individual]:
    """Selects the first; the pool was drawn already."""
    return individuals[:k]
