"""The seam of search: who breeds next, with which operator, and who stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from operators import Brief, Operator, Proposal

from .individual import Individual


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done in one slot.

    Attributes:
        operator: Its key in the run's mapping of operators.
        parents: As many as the operator's arity.
        remembers: Whether the operator may read `operators.Memory`; independent samples must not.
        proposal: What the policy proposes itself; no operator is asked then, and ``operator`` is only a name.
    """

    operator: str
    parents: tuple[Individual, ...]
    remembers: bool = True
    proposal: Proposal | None = None


class Policy(Protocol):
    """Decides a search. It is told individuals in slot order and asked for plans.

    The engine asks for the plan of a slot exactly when ``ready(slot)`` slots have been committed:
    never earlier and never later, so that the trajectory depends on neither time nor the number of
    workers. A generational policy returns ``slot // lambda_ * lambda_``, a steady state with W
    evaluations in flight ``max(0, slot - W + 1)``. ``ready`` never decreases and never exceeds its
    slot. At the end of an evaluation budget alone a slot may be planned later: when what is in flight
    has turned out to leave enough for it.

    Attributes:
        generation_size: Slots in one record of ``generations.jsonl``.
    """

    generation_size: int

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed when the plan of ``slot`` is made."""
        ...

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses operator and parents for ``slot``."""
        ...

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Takes note of an individual; seeds come first, then slots in order, failures included."""
        ...

    @property
    def survivors(self) -> Sequence[Individual]:
        """The population as it stands."""
        ...


@runtime_checkable
class Briefed(Protocol):
    """A policy that wants to know the problem before it is told of the first individual."""

    def begin(self, brief: Brief) -> None:
        """Takes note of the problem."""
        ...
