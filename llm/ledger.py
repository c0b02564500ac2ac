"""What the members of an ensemble earned, and which of them does not answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_REST = 64
"""Slots for which a member that does not answer is left alone at most, before it is tried again."""


@dataclass
class Record:
    """What is known of one member.

    Attributes:
        pulls: Rewards so far.
        total: Their sum.
        squares: Sum of their squares.
        pending: Slots that were given to it and are not committed.
        misses: Slots in a row for which it was tried in vain.
        rest: Slots to come for which it is asked only after all others.
    """

    pulls: int = 0
    total: float = 0.0
    squares: float = 0.0
    pending: int = 0
    misses: int = 0
    rest: int = 0

    @property
    def mean(self) -> float:
        """Of the rewards; 0 before the first."""
        return self.total / self.pulls if self.pulls else 0.0

    def deviation(self, scale: float) -> float:
        """Returns the standard deviation of the mean, with one imagined reward of spread ``scale``."""
        spread = self.squares - self.pulls * self.mean**2 + scale**2
        return math.sqrt(max(spread, 0.0) / (self.pulls + 1) / (self.pulls + 1))


@dataclass
class Ledger:
    """All members' records. It changes only with what a search plans and commits, and so comes back on resume.

    Attributes:
        records: By name.
        largest: The largest reward so far, on which UCB1's scale rests.
    """

    records: dict[str, Record]
    largest: float = 0.0

    @property
    def tries(self) -> int:
        """Rewards so far and still to come, of all members."""
        return sum(record.pulls + record.pending for record in self.records.values())

    def plan(self, name: str) -> None:
        """A slot is given to a member; those that rest have one slot less to go."""
        self.records[name].pending += 1
        for record in self.records.values():
            record.rest = max(0, record.rest - 1)

    def settle(self, name: str, answered: str, silent: Sequence[str]) -> None:
        """The slot that was given to ``name`` is committed; ``silent`` gave no answer and ``answered`` did."""
        self.records[name].pending -= 1
        for each in silent:
            record = self.records.get(each)
            if record is not None and not record.rest:  # several slots on their way may have met one outage
                record.misses += 1
                record.rest = min(2**record.misses, LONGEST_REST)
        if answered in self.records:
            self.records[answered].misses = self.records[answered].rest = 0

    def reward(self, name: str, worth: float) -> None:
        """Credits a member; one that is no longer there is ignored."""
        record = self.records.get(name)
        if record is None:
            return
        record.pulls += 1
        record.total += worth
        record.squares += worth**2
        self.largest = max(self.largest, worth)
