"""The best kernel of a run, which changes hands only by a certified win."""

from __future__ import annotations

from typing import Protocol

from fitness import Duel, Evaluation, Kernel

from .individual import Individual


class Arena(Protocol):
    """Where duels are held; `RecordedEvaluations` is one."""

    def duel(self, challenger: Kernel, elite: Kernel) -> Duel:
        """Times two kernels against each other."""
        ...


class Champion:
    """Holds the title.

    A challenger must be faster by more than the noise floor. When the intervals are apart, it has
    won; when they overlap, a duel decides, and a tie goes to the older kernel. Without an arena the
    point estimates decide. Where the first objective is not the latency, the smaller fitness wins.

    Args:
        arena: Holds duels; None for none.
        noise_floor: Smallest difference that the machine can tell, as a fraction.
        timed: Whether the first objective is the latency.
    """

    def __init__(self, arena: Arena | None, noise_floor: float, timed: bool) -> None:
        self._arena = arena
        self._noise_floor = noise_floor
        self._timed = timed
        self.best: Individual | None = None

    def consider(self, challenger: Individual, may_duel: bool) -> tuple[bool, int]:
        """Lets an individual try for the title.

        Args:
            challenger: Who tries.
            may_duel: Whether a duel can be paid for; without one, the title is kept in doubt.

        Returns:
            Whether the title changed hands, and how many duels it took.
        """
        if not challenger.fitness.valid or challenger.duplicate_of is not None:
            return False, 0
        won, duels = (True, 0) if self.best is None else self._decide(challenger, self.best, may_duel)
        if won:
            self.best = challenger
        return won, duels

    def _decide(self, challenger: Individual, best: Individual, may_duel: bool) -> tuple[bool, int]:
        new, old = challenger.evaluation, best.evaluation
        if not self._timed or new.speedup is None or old.speedup is None:
            return bool(challenger.fitness > best.fitness), 0
        if self._arena is None:
            return new.speedup > old.speedup, 0
        if new.speedup <= old.speedup * (1.0 + self._noise_floor):
            return False, 0
        if is_surely_faster(new, old, self._noise_floor):
            return True, 0
        if not may_duel:
            return False, 0
        return self._arena.duel(challenger.kernel, best.kernel).won, 1


def is_surely_faster(new: Evaluation, old: Evaluation, noise_floor: float) -> bool:
    """Whether one kernel is faster than another by more than noise: beyond the floor, and with intervals apart.

    Args:
        new: Of the kernel that may be faster.
        old: Of the other one, in the same run.
        noise_floor: Smallest difference that the machine can tell, as a fraction.
    """
    if new.speedup is None or old.speedup is None or new.interval is None or old.interval is None:
        return False
    return new.speedup > old.speedup * (1.0 + noise_floor) and new.interval[0] > old.interval[1]
