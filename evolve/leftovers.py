"""Whether a resumed run still follows the record that it resumes."""

from __future__ import annotations

from .errors import JournalMismatch
from .journal import Journal

_MUST_RETURN = ("completion", "embedding", "evaluation", "duel")
"""What a resumed run must ask for again; calibration, clock and verification may have become needless."""


class Leftovers:
    """Refuses a journal of which answers remain that the run no longer asks for.

    When the record ends at slot s, all that is in it belongs to slots that are planned before s is
    committed. Slots in flight may reach beyond the generation that ends the record, hence two
    horizons: the first lies behind s, the second behind all that was planned by then.

    Args:
        journal: Of the run.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._horizons: list[int] = []
        self._done = journal.strict

    def check(self, planned: int, committed: int) -> None:
        """Looks whether the time has come, and then at what remains; called when a generation ends.

        Raises:
            JournalMismatch: Recorded answers were not asked for again.
        """
        if self._done or not self._journal.live:
            return
        while len(self._horizons) < 2 and (not self._horizons or committed >= self._horizons[0]):
            self._horizons.append(planned)
        if len(self._horizons) == 2 and committed >= self._horizons[1]:
            self.refuse()

    def refuse(self) -> None:
        """Refuses what remains; called once more when a run ends.

        Raises:
            JournalMismatch: Recorded answers were not asked for again.
        """
        if self._done or not self._journal.live:
            return
        self._done = True
        left = self._journal.unused(*_MUST_RETURN)
        if left:
            kind, key = left[0]
            raise JournalMismatch(
                f"{self._journal.path}: what is recorded was not asked for again ({kind} {key[:12]}…, of {len(left)} "
                "in all): code or configuration changed since; use a new run directory"
            )
