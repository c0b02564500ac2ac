"""How the reading of an answer ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The closed list of what can come of an answer; each is counted by its name in the funnel."""

    PARSED = "parsed"
    """A kernel was read."""
    EMPTY = "empty"
    """The model said nothing, or nothing beside its thoughts."""
    TRUNCATED = "truncated"
    """The answer, or its code, ends in the middle."""
    UNFINISHED_THINKING = "unfinished_thinking"
    """The thoughts were never closed, so nothing in them counts as the answer."""
    NO_CODE = "no_code"
    """Words, and nothing that looks like code."""
    WRONG_LANGUAGE = "wrong_language"
    """Code in another language than the run's."""
    NO_ENTRY_POINT = "no_entry_point"
    """Code that does not define the function that is called."""
    SIGNATURE_CHANGED = "signature_changed"
    """The entry point takes or returns something else than the contract says."""
    ELIDED = "elided"
    """Parts are left out with a remark such as "rest unchanged"."""
    ODD_CHARACTERS = "odd_characters"
    """Signs in the code that no compiler reads and that have no plain counterpart."""
    TOO_LONG = "too_long"
    """More characters than a kernel may have."""
    DIFF_MALFORMED = "diff_malformed"
    """Neither SEARCH/REPLACE blocks that can be read nor a whole kernel."""
    DIFF_NOT_FOUND = "diff_not_found"
    """A SEARCH text is not in the parent."""
    DIFF_AMBIGUOUS = "diff_ambiguous"
    """A SEARCH text is in the parent more than once."""
    UNCHANGED = "unchanged"
    """The kernel is the parent's, to the letter."""
    REQUEST_TIMEOUT = "request_timeout"
    """No whole answer came before the deadline."""
    REQUEST_REJECTED = "request_rejected"
    """The server refused the request."""


NEAREST = (
    Outcome.UNCHANGED,
    Outcome.TOO_LONG,
    Outcome.ODD_CHARACTERS,
    Outcome.DIFF_MALFORMED,
    Outcome.ELIDED,
    Outcome.SIGNATURE_CHANGED,
    Outcome.TRUNCATED,
    Outcome.NO_ENTRY_POINT,
    Outcome.WRONG_LANGUAGE,
    Outcome.NO_CODE,
)
"""Failures of a piece of code, from the nearest to a kernel to the farthest: of several, the first is told."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from an answer.

    Attributes:
        outcome: How it ended.
        source: The kernel's source if and only if it was parsed.
        reason: One line that tells model and person what is wrong; empty when parsed.
        note: What was mended on the way, e.g. ``'added extern "C"'``.
    """

    outcome: Outcome
    source: str | None = None
    reason: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if (self.source is not None) != (self.outcome is Outcome.PARSED):
            raise ValueError(f"a reading that is {self.outcome} {'has no' if self.source else 'needs a'} source")
