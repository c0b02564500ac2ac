"""Fixed shares for kinds of operators, whatever their names are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from operators import Operator

from .choice import Gain, Weights


class Mix:
    """Draws each kind of operator with a fixed share, which the operators of that kind have in equal parts.

    Papers say how often they cross and mutate, and not what our operators are called. Among operators
    that can work now, shares count in proportion; those without a share are drawn only when no other can work.

    Args:
        draft: Share of operators that need no parent.
        mutation: Share of those that need one.
        crossover: Share of those that need more.
        repair: Share of those that take a failure, whatever else they need.

    Raises:
        ValueError: A share is negative or not finite, or all are 0.
    """

    def __init__(
        self, *, draft: float = 0.0, mutation: float = 0.0, crossover: float = 0.0, repair: float = 0.0
    ) -> None:
        self._shares = {"draft": draft, "mutation": mutation, "crossover": crossover, "repair": repair}
        for kind, share in self._shares.items():
            if not (math.isfinite(share) and share >= 0):
                raise ValueError(f"the share of {kind} must be at least 0, is {share}")
        if not any(self._shares.values()):
            raise ValueError("the shares of draft, mutation, crossover and repair sum to 0: give one a positive share")
        self._kinds: dict[str, str] = {}

    def meet(self, operators: Mapping[str, Operator]) -> None:
        """Learns of which kind operators are; called before they may be chosen."""
        self._kinds.update({name: _kind(operator) for name, operator in operators.items() if name not in self._kinds})

    def allows(self, name: str) -> bool:
        """Every operator may be needed."""
        return True

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Draws one in proportion to its part of the share of its kind."""
        kinds = [self._kinds[name] for name in eligible]
        weights = {name: self._shares[kind] / kinds.count(kind) for name, kind in zip(eligible, kinds, strict=True)}
        return Weights(weights if any(weights.values()) else None).choose(eligible, rng)

    def reward(self, name: str, gain: Gain) -> None:
        """Learns nothing."""


def _kind(operator: Operator) -> str:
    if operator.takes_failures:
        return "repair"
    return ("draft", "mutation", "crossover")[min(operator.arity, 2)]
