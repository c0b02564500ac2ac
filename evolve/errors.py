"""Faults of a run. A bad kernel is not one of them, nor is a model or a machine that fails.

* EvolveError
  x SearchError              the search cannot go on: no operator fits, a policy breaks its contract
  x RunDirectoryError        a derived file of the run directory cannot be written
  x LineTooLong              a record has a line that no run writes
  x JournalError
    + JournalMiss            strict replay, and the answer is not recorded
    + JournalMismatch        made by another configuration or by other code
    + JournalCorrupt         an unreadable line before the last
    + JournalLocked          another process writes to it
    + JournalUnwritable      the disk is full, the folder read-only, or the journal closed
"""

from __future__ import annotations


class EvolveError(Exception):
    """Base of everything that `evolve` raises for a fault of the run."""


class SearchError(EvolveError):
    """The search cannot go on: no operator fits the population, or a policy breaks its contract."""


class RunDirectoryError(EvolveError):
    """A derived file (``generations.jsonl``, ``kernels/``) cannot be written."""


class LineTooLong(EvolveError, ValueError):
    """A line of a record is longer than any that a run writes, and is not read."""


class JournalError(EvolveError):
    """Base of all that is wrong with a journal."""


class JournalMiss(JournalError):
    """A strict replay asked for an answer that is not recorded.

    Attributes:
        kind: Which door was asked.
        key: Digest of what was asked.
    """

    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f"no {kind} {key} is recorded: code or configuration differ from those of the recorded run")
        self.kind = kind
        self.key = key


class JournalMismatch(JournalError):
    """The journal belongs to another configuration, or other code made it."""


class JournalCorrupt(JournalError):
    """A line of the journal cannot be read, and it is not the torn last one.

    Attributes:
        line: Its number, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class JournalLocked(JournalError):
    """Another process writes to this journal."""


class JournalUnwritable(JournalError):
    """An answer cannot be written; everything before it is safe."""
