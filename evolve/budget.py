"""What a run may spend, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; whichever is reached first ends it, and None is no limit.

    Attributes:
        evaluations: Kernels judged and duels held, in slot order; never exceeded. The seed kernels
            and every distinct kernel cost one each, a duplicate costs nothing.
        seconds: Wall time over all attempts of the run, looked at after every slot. What is in flight
            when it is up is given up, so that a long generation does not run on.
        tokens: Model tokens. Proposals that are under way when it is reached are still finished
            and counted.

    Raises:
        ValueError: A limit is not positive.
    """

    evaluations: int | None = None
    seconds: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ValueError(f"budget.{name} must be positive, is {limit}")


@dataclass(frozen=True, slots=True)
class Goal:
    """What ends a run early; None is never.

    Attributes:
        speedup: Of the best kernel over the baseline.
        stagnation: Evaluations in a row without a new best kernel.

    Raises:
        ValueError: A number is not positive.
    """

    speedup: float | None = None
    stagnation: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"goal.{name} must be positive, is {value}")


@dataclass(slots=True)
class Ledger:
    """What a run has spent.

    Attributes:
        budget: The limits.
        reserve: Evaluations that are kept back for duels while slots are planned ahead.
        evaluations: Charged so far, duels included.
        duels: Held so far.
        tokens: Spent so far.
        elapsed_s: Wall time when the clock was last looked at.
    """

    budget: Budget
    reserve: int = 0
    evaluations: int = 0
    duels: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0

    def may_plan(self, in_flight: int) -> bool:
        """Whether one more slot could be paid for, whatever becomes of those in flight."""
        limit = self.budget.evaluations
        if limit is None:
            return True
        reserve = self.reserve if in_flight else 0
        return self.evaluations + in_flight + reserve < limit

    def may_duel(self, in_flight: int) -> bool:
        """Whether a duel could be paid for beside the slots in flight."""
        limit = self.budget.evaluations
        return limit is None or self.evaluations + in_flight < limit

    def exhausted(self) -> str:
        """Returns the name of the limit that was reached, or an empty text."""
        for name, spent in (("evaluations", self.evaluations), ("seconds", self.elapsed_s), ("tokens", self.tokens)):
            limit = getattr(self.budget, name)
            if limit is not None and spent >= limit:
                return name
        return ""
