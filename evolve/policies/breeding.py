"""What policies have in common: operator, parents, and credit for what came of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice, Gain, Weights
from ..errors import SearchError
from ..individual import Individual
from ..mix import Mix
from ..policy import Plan
from ..streams import deap_random

Selection = Callable[[list[Individual], int], list[Individual]]
"""DEAP's own signature."""

Kind = Callable[[Mapping[str, Operator]], dict[str, Operator]]
"""Picks the operators of one kind: `drafts`, `repairs` or `improvements`."""

_RECENT = 64


def eligible(operators: Mapping[str, Operator], num_parents: int, num_failures: int) -> list[str]:
    """Returns the operators that can work with so many parents and so many failed individuals.

    An operator that takes failures takes one, as its first parent, and the rest from the population.
    """
    names = []
    for name, operator in operators.items():
        needed = operator.arity - 1 if operator.takes_failures else operator.arity
        if needed <= num_parents and (num_failures or not operator.takes_failures):
            names.append(name)
    return names


class Breeder:
    """Plans slots and credits operators.

    Plans and outcomes come in the same order, so outcomes are matched by their place in it.

    Args:
        choice: Chooses operators; None for equal weights.
        parent_selection: Chooses parents, one at a time, so that no parent is taken twice; None for
            tournaments of three.
    """

    def __init__(self, choice: Choice | None = None, parent_selection: Selection | None = None) -> None:
        self._choice = choice or Weights()
        self._select = parent_selection or partial(tools.selTournament, tournsize=3)
        self._pending: deque[Plan] = deque()
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def plan(
        self,
        pool: Sequence[Individual],
        operators: Mapping[str, Operator],
        rng: np.random.Generator,
        failures: list[Individual] | None = None,
        select: Selection | None = None,
    ) -> Plan:
        """Chooses an operator and its parents.

        Args:
            pool: Whom parents are chosen from; all valid.
            operators: By name.
            rng: Decides.
            failures: Whom operators that repair may take; the one taken is removed.
            select: Instead of the breeder's parent selection.

        Raises:
            SearchError: No operator fits.
        """
        names = [name for name in eligible(operators, len(pool), len(failures or ())) if self._choice.allows(name)]
        if not names:
            raise SearchError(
                f"no operator can work with so few parents ({len(pool)}): of {', '.join(operators) or 'none'}, each "
                "has weight 0, needs more parents or a failure; add a mutation or a draft with a positive weight"
            )
        if isinstance(self._choice, Mix):
            self._choice.meet(operators)
        name = self._choice.choose(names, rng)
        operator = operators[name]
        parents: list[Individual] = []
        if operator.takes_failures and failures:
            parents.append(failures.pop(int(rng.integers(len(failures)))))
        missing = operator.arity - len(parents)
        if missing:
            with deap_random(rng):
                parents += _distinct(select or self._select, pool, missing)
        return self.note(Plan(name, tuple(parents)))

    def usable(
        self, kinds: Sequence[Kind], operators: Mapping[str, Operator], num_parents: int, num_failures: int = 0
    ) -> dict[str, Operator]:
        """Returns the operators of the first kind of which any can be used; all operators when there is none."""
        for kind in kinds:
            names = eligible(kind(operators), num_parents, num_failures)
            allowed = {name: operators[name] for name in names if self._choice.allows(name)}
            if allowed:
                return allowed
        return dict(operators)

    def note(self, plan: Plan) -> Plan:
        """Takes note of a plan that was made elsewhere, so that its outcome is credited."""
        self._pending.append(plan)
        return plan

    def settle(self, individual: Individual) -> Plan | None:
        """Credits the operator of an individual and returns its plan; None for one that was not planned here."""
        if not self._pending:
            return None
        plan = self._pending.popleft()
        self._choice.reward(plan.operator, self._gain(individual, plan.parents))
        return plan

    def _gain(self, individual: Individual, parents: Sequence[Individual]) -> Gain:
        if not individual.fitness.valid or individual.duplicate_of is not None:
            return Gain()
        cost = individual.cost
        rank = sum(cost < other for other in self._recent) / len(self._recent) if self._recent else 0.0
        self._recent.append(cost)
        to_beat = min((parent.cost for parent in parents if parent.fitness.valid), default=cost)
        improvement = (to_beat - cost) / abs(to_beat) if to_beat else 0.0
        return Gain(min(1.0, max(0.0, improvement)), rank, float(individual.twin_of is None))


def drafts(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Returns the operators that need no parent."""
    return {name: operator for name, operator in operators.items() if not operator.arity}


def repairs(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Returns the operators that take a failure."""
    return {name: operator for name, operator in operators.items() if operator.arity and operator.takes_failures}


def improvements(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Returns the operators that start from what works."""
    return {name: operator for name, operator in operators.items() if operator.arity and not operator.takes_failures}


def in_order(individuals: list[Individual], k: int) -> list[Individual]:
    """Selects the first ``k``; for pools that are sorted already."""
    return individuals[:k]


def check_sizes(**sizes: float) -> None:
    """Raises ValueError for the first size below 1, by its name."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, is {size}")


def is_failure(individual: Individual) -> bool:
    """Whether an individual has a source and yet no fitness, so that it could be repaired."""
    new = individual.duplicate_of is None and individual.outcome != "refused"
    return new and bool(individual.kernel.source) and not individual.fitness.valid


def _distinct(select: Selection, pool: Sequence[Individual], count: int) -> list[Individual]:
    """Selects without taking anyone twice."""
    rest, chosen = list(pool), []
    for _ in range(count):
        chosen.append(select(rest, 1)[0])
        rest.remove(chosen[-1])
    return chosen
