"""Monte-Carlo tree search over kernels, with upper confidence bounds for trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes, drafts, improvements, in_order, is_failure, repairs


@dataclass(eq=False, slots=True)
class _Node:
    """A kernel in the tree; the root has none.

    Attributes:
        visits: Evaluations in its subtree, itself included.
        valid: Of these, the correct ones.
        total: Sum of their values.
        debug_depth: Failures in a row that end here.
    """

    individual: Individual | None
    parent: _Node | None
    children: list[_Node] = field(default_factory=list)
    visits: int = 0
    valid: int = 0
    total: float = 0.0
    debug_depth: int = 0


class UCT:
    """Expands the leaf with the highest upper confidence bound (Kocsis 2006, https://doi.org/10.1007/11871842_29).

    A generation is one expansion: ``children`` proposals from one leaf. The value of a kernel is the
    negative logarithm of its first objective, scaled to [0, 1] by the best and worst seen so far; a
    failure counts as 0. With operators that repair, failed leaves may be expanded too. The first
    expansion drafts, when there are operators that do.

    Args:
        children: Proposals of an expansion.
        exploration: The constant c of the bound.
        max_debug_depth: Failures in a row, after which a line is given up.
        choice: Chooses among the operators of the kind that is due; None for equal weights.

    Raises:
        ValueError: A size is below 1, or ``exploration`` is negative.
    """

    def __init__(
        self,
        *,
        children: int = 5,
        exploration: float = 0.25,
        max_debug_depth: int = 20,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(children=children, max_debug_depth=max_debug_depth)
        if exploration < 0:
            raise ValueError(f"exploration must be at least 0, is {exploration}")
        self.generation_size = children
        self._exploration = exploration
        self._max_debug_depth = max_debug_depth
        self._breeder = Breeder(choice, in_order)
        self._root = _Node(None, None)
        self._leaf = self._root
        self._expanded: list[_Node] = []
        self._valid: list[Individual] = []
        self._worst, self._best = math.inf, -math.inf
        self._can_repair = False

    def ready(self, slot: int) -> int:
        """Returns the first slot of the expansion."""
        return slot // self.generation_size * self.generation_size

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses the leaf at the first slot of an expansion, and an operator for each slot of it."""
        self._can_repair = bool(repairs(operators))
        if slot % self.generation_size == 0:
            drafting = slot == 0 and drafts(self._breeder.usable((drafts,), operators, 0))
            self._leaf = self._root if drafting else self._descend()
        self._expanded.append(self._leaf)
        return self._plan_from(self._leaf, operators, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Adds a node and carries its value up to the root."""
        plan = self._breeder.settle(individual)
        parent = self._root if plan is None else self._expanded.pop(0)
        node = _Node(individual, parent)
        value = None
        if individual.fitness.valid:
            value = _value(individual)
            self._worst, self._best = min(self._worst, value), max(self._best, value)
            if individual.duplicate_of is None:
                self._valid.append(individual)
        else:
            node.debug_depth = parent.debug_depth + 1
        # A duplicate teaches its ancestors, but is expanded where it was first.
        if individual.duplicate_of is None and (value is not None or self._may_repair(node)):
            parent.children.append(node)
        _carry_up(node, value)

    @property
    def survivors(self) -> Sequence[Individual]:
        """Every correct kernel of the tree, oldest first."""
        return self._valid

    def _may_repair(self, node: _Node) -> bool:
        failed = node.individual is not None and is_failure(node.individual)
        return failed and self._can_repair and node.debug_depth <= self._max_debug_depth

    def _descend(self) -> _Node:
        """Follows the highest bounds down to a leaf."""
        node = self._root
        while node.children:
            node = self._highest(node)
        return node

    def _highest(self, node: _Node) -> _Node:
        """Returns the child with the highest bound, the oldest of equals."""
        span = self._best - self._worst
        scale = 1.0 / span if span > 0 else 0.0
        explore = self._exploration * math.sqrt(math.log(node.visits)) if node.visits > 1 else 0.0
        best, highest = node.children[0], -math.inf
        for child in node.children:
            worth = (child.total - child.valid * self._worst) * scale / child.visits
            bound = worth + explore / math.sqrt(child.visits)
            if bound > highest:
                best, highest = child, bound
        return best

    def _plan_from(self, leaf: _Node, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Plans a child of a leaf; further parents are the best of the tree."""
        elites = self._elites()
        if leaf.individual is None:
            return self._breeder.plan((), self._breeder.usable((drafts,), operators, 0), rng)
        if not leaf.individual.fitness.valid:
            usable = self._breeder.usable((repairs,), operators, len(elites), 1)
            return self._breeder.plan(elites, usable, rng, [leaf.individual])
        pool = [leaf.individual, *(each for each in elites if each is not leaf.individual)]
        return self._breeder.plan(pool, self._breeder.usable((improvements, drafts), operators, len(pool)), rng)

    def _elites(self) -> list[Individual]:
        """Returns a few of the best kernels, best first."""
        return sorted(self._valid[-_RECENT:], key=lambda individual: individual.cost)[:_ELITES]


_RECENT = 64
_ELITES = 4
"""Partners of a crossover are the best of the recent: sorting the whole tree would cost too much."""


def _value(individual: Individual) -> float:
    """Returns the negative logarithm of the first objective."""
    return -math.log(max(individual.cost, 1e-300))


def _carry_up(node: _Node | None, value: float | None) -> None:
    while node is not None:
        node.visits += 1
        if value is not None:
            node.valid += 1
            node.total += value
        node = node.parent
