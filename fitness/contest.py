"""Two artifacts timed against each other: what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .series import Series
from .session import Failed


@dataclass(frozen=True)
class Contest:
    """Two artifacts timed against each other.

    Attributes:
        series: One a workload.
        max_rel_error: Largest error of a call of the first that was judged meanwhile.
        flushes_to_zero: Whether the first left the processor flushing small numbers to zero.
        flags: What else was noticed about the first.
        observed: Sentences on what the machine was like meanwhile.
        judge: Judges the outputs of timed calls of the first that were copied out, and returns the largest error; for
            when the measurement is over and others may run again. Raises `Failed` when one is wrong.
    """

    series: tuple[Series, ...]
    max_rel_error: float
    flushes_to_zero: bool
    flags: frozenset[str] = frozenset()
    judge: Callable[[], float] = float
    observed: tuple[str, ...] = ()


class Rival(Exception):
    """The second of two timed artifacts failed, not the first.

    Attributes:
        failure: How.
    """

    def __init__(self, failure: Failed) -> None:
        super().__init__(str(failure))
        self.failure = failure
