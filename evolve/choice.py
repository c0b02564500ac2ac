"""Which operator next: fixed weights, or a bandit that learns from what operators achieve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

Credit = Literal["improvement", "rank", "diversity"]


@dataclass(frozen=True, slots=True)
class Gain:
    """What a proposal achieved, in three measures between 0 and 1.

    Attributes:
        improvement: Part of the first objective that it saves, compared with its best parent.
        rank: Part of the recent valid proposals that it beats.
        diversity: 1 for a correct kernel that nobody had proposed, else 0.
    """

    improvement: float = 0.0
    rank: float = 0.0
    diversity: float = 0.0


class Choice(Protocol):
    """Chooses operators. Its state is a function of what it was asked and told, so it comes back on resume."""

    def allows(self, name: str) -> bool:
        """Whether an operator may be chosen at all."""
        ...

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Returns the name of the next operator, one of ``eligible``, which is not empty and allowed."""
        ...

    def reward(self, name: str, gain: Gain) -> None:
        """Takes note of what an operator achieved; called once for every choice, in order."""
        ...


class Weights:
    """Draws operators with fixed probabilities.

    Args:
        weights: By operator; one that is not named is never drawn. Empty for equal weights.

    Raises:
        ValueError: A weight is negative or not finite, or all are 0.
    """

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = dict(weights or {})
        for name, weight in self._weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"the weight of operator {name} must be at least 0, is {weight}")
        if self._weights and not sum(self._weights.values()):
            raise ValueError("the weights of the operators sum to 0: give at least one a positive weight")

    def allows(self, name: str) -> bool:
        """Whether the operator has a positive weight."""
        return not self._weights or self._weights.get(name, 0.0) > 0

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Draws one in proportion to the weights."""
        weights = [self._weights.get(name, 0.0) for name in eligible] if self._weights else [1.0] * len(eligible)
        return _draw(eligible, weights, sum(weights), rng)

    def reward(self, name: str, gain: Gain) -> None:
        """Learns nothing."""


@dataclass(slots=True)
class _Arm:
    """What is known of one operator."""

    pulls: int = 0
    pending: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.pulls if self.pulls else 0.0


class _Bandit:
    """Counts credit by operator; unknown operators start from nothing, whenever they come."""

    def __init__(self, credit: Credit) -> None:
        if credit not in ("improvement", "rank", "diversity"):
            raise ValueError(f"unknown credit {credit!r}; use improvement, rank or diversity")
        self._credit = credit
        self._arms: dict[str, _Arm] = {}

    def allows(self, name: str) -> bool:
        """Every operator may be tried."""
        return True

    def _arm(self, name: str) -> _Arm:
        return self._arms.setdefault(name, _Arm())

    def _pull(self, name: str) -> str:
        self._arm(name).pending += 1
        return name

    def reward(self, name: str, gain: Gain) -> None:
        """Credits an operator."""
        arm = self._arm(name)
        arm.pending = max(0, arm.pending - 1)
        arm.pulls += 1
        arm.total += getattr(gain, self._credit)


class UCB1(_Bandit):
    """Takes the operator whose credit may be highest (Auer 2002, https://doi.org/10.1023/A:1013689704352).

    Choices whose outcome is not known yet count as failures, so that a whole generation does not go
    to one operator.

    Args:
        exploration: Factor of the confidence term.
        credit: What is counted.

    Raises:
        ValueError: ``exploration`` is negative or ``credit`` unknown.
    """

    def __init__(self, exploration: float = math.sqrt(2.0), credit: Credit = "improvement") -> None:
        if exploration < 0:
            raise ValueError(f"exploration must be at least 0, is {exploration}")
        super().__init__(credit)
        self._exploration = exploration

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Returns an operator that was never tried, or the most promising one; ties are drawn."""
        tries = [self._arm(name).pulls + self._arm(name).pending for name in eligible]
        log_all = math.log(max(1, sum(tries)))
        bounds = [
            math.inf if not n else self._arm(name).total / n + self._exploration * math.sqrt(log_all / n)
            for name, n in zip(eligible, tries, strict=True)
        ]
        best = [name for name, bound in zip(eligible, bounds, strict=True) if bound == max(bounds)]
        return self._pull(best[int(rng.integers(len(best)))])


class ThompsonSampling(_Bandit):
    """Draws each operator's credit from its posterior, Beta(1 + credit, 1 + rest), and takes the highest.

    Args:
        credit: What is counted.

    Raises:
        ValueError: ``credit`` is unknown.
    """

    def __init__(self, credit: Credit = "improvement") -> None:
        super().__init__(credit)

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Returns the operator with the highest draw."""
        arms = [self._arm(name) for name in eligible]
        draws = [rng.beta(1.0 + arm.total, 1.0 + max(0.0, arm.pulls - arm.total)) for arm in arms]
        return self._pull(eligible[int(np.argmax(draws))])


class AdaptivePursuit(_Bandit):
    """Moves probability to the operator of highest recent credit (Thierens 2005, https://doi.org/10.1145/1068009.1068251).

    Args:
        p_min: Probability that every operator keeps; at most one by the number of operators.
        adaptation: Weight of the newest credit in the estimate (alpha).
        learning: Speed at which probabilities move (beta).
        credit: What is counted.

    Raises:
        ValueError: A number is outside (0, 1), or ``credit`` unknown.
    """

    def __init__(
        self, p_min: float = 0.1, adaptation: float = 0.8, learning: float = 0.8, credit: Credit = "improvement"
    ) -> None:
        super().__init__(credit)
        for name, value in (("p_min", p_min), ("adaptation", adaptation), ("learning", learning)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"{name} must be between 0 and 1, is {value}")
        self._p_min = p_min
        self._adaptation = adaptation
        self._learning = learning
        self._quality: dict[str, float] = {}
        self._probability: dict[str, float] = {}

    def choose(self, eligible: Sequence[str], rng: np.random.Generator) -> str:
        """Draws one with the probabilities learned so far."""
        weights = [self._probability.get(name, 1.0 / len(eligible)) for name in eligible]
        return self._pull(_draw(eligible, weights, sum(weights), rng))

    def reward(self, name: str, gain: Gain) -> None:
        """Updates estimate and probabilities."""
        super().reward(name, gain)
        old = self._quality.get(name, 0.0)
        self._quality[name] = old + self._adaptation * (getattr(gain, self._credit) - old)
        known = list(self._quality)
        p_min = min(self._p_min, 1.0 / len(known))
        leader = max(known, key=lambda each: self._quality[each])
        for each in known:
            goal = 1.0 - (len(known) - 1) * p_min if each == leader else p_min
            before = self._probability.get(each, 1.0 / len(known))
            self._probability[each] = before + self._learning * (goal - before)


def _draw(names: Sequence[str], weights: Sequence[float], total: float, rng: np.random.Generator) -> str:
    """Draws a name in proportion to its weight."""
    point = rng.random() * total
    for name, weight in zip(names, weights, strict=True):
        point -= weight
        if point < 0:
            return name
    return next(name for name, weight in zip(reversed(names), reversed(weights), strict=True) if weight)
