"""What becomes known when an individual is committed: charges, duplicates, halls, title, lineage."""

from __future__ import annotations

from collections.abc import Sequence

from .budget import Goal, Ledger
from .champion import Champion
from .chronicle import Chronicle
from .funnel import Funnel
from .individual import SEED, Individual
from .lineage import Lineage
from .novelty import Novelty
from .run_files import RunFiles

_IDLE_SLOTS = 2000
"""After so many slots in a row without a kernel that is new, the space counts as exhausted."""

_EMPTY_SLOTS = 200
"""The same for slots without any kernel: who proposes nothing so often will not begin to."""


class Books:
    """Keeps account of a run, one individual at a time, in slot order.

    Args:
        ledger: Is charged.
        champion: Holds the title of best.
        funnel: How far the proposals of each operator come.
        chronicle: Hall of fame, front and logbook.
        lineage: What operators may remember.
        novelty: None when only exact duplicates count.
        files: None when nothing is written.

    Attributes:
        idle: Individuals in a row that were not evaluated.
        empty: Individuals in a row without a source.
        improved_at: Evaluations charged when the title last changed hands.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        champion: Champion,
        funnel: Funnel,
        chronicle: Chronicle,
        lineage: Lineage,
        novelty: Novelty | None,
        files: RunFiles | None,
    ) -> None:
        self.ledger = ledger
        self.champion = champion
        self.chronicle = chronicle
        self.lineage = lineage
        self.funnel = funnel
        self.idle = self.empty = 0
        self.improved_at = 0
        self._novelty = novelty
        self._files = files
        self._first_slot: dict[str, int] = {}

    def enter(self, individual: Individual, parents: Sequence[Individual], lesson: str, in_flight: int) -> None:
        """Takes an individual into account.

        Args:
            individual: That was committed.
            parents: That its operator was given.
            lesson: That its operator learned.
            in_flight: Slots that are planned and not committed; a duel must not spend what is theirs.
        """
        new = self._is_new(individual)
        self.idle = 0 if new else self.idle + 1
        self.empty = 0 if individual.kernel.source else self.empty + 1
        self.ledger.evaluations += new
        self.ledger.tokens += individual.tokens
        if new:
            self._keep(individual, in_flight)
        if individual.operator != SEED:
            self.funnel.add(individual, parents)
        self.lineage.add(individual, lesson)

    def why_stop(self, goal: Goal) -> str:
        """Returns why no further slot should be planned, or an empty text."""
        best = self.champion.best
        if goal.speedup is not None and best is not None and (best.evaluation.speedup or 0.0) >= goal.speedup:
            return "target"
        if goal.stagnation is not None and self.ledger.evaluations - self.improved_at >= goal.stagnation:
            return "stagnation"
        if self.idle >= _IDLE_SLOTS or self.empty >= _EMPTY_SLOTS:
            return "exhausted"
        return self.ledger.exhausted()

    def _is_new(self, individual: Individual) -> bool:
        """Whether the individual's kernel was evaluated for it, and not before; marks duplicates."""
        if not individual.kernel.source or individual.outcome == "refused":
            return False
        first = self._first_slot.setdefault(individual.digest, individual.slot)
        if first != individual.slot:
            individual.duplicate_of = first
        return first == individual.slot

    def _keep(self, individual: Individual, in_flight: int) -> None:
        if self._files is not None:
            self._files.add_source(individual.kernel)
        if self._novelty is not None:
            self._novelty.judge(individual)
        if not individual.fitness.valid:
            return
        self.chronicle.admit(individual)
        won, duels = self.champion.consider(individual, self.ledger.may_duel(in_flight))
        self.ledger.evaluations += duels
        self.ledger.duels += duels
        if won:
            self.improved_at = self.ledger.evaluations
            if self._files is not None:
                self._files.crown(individual.kernel)
