"""Who came from whom: what operators may remember."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from operators import Memory

from .individual import Individual

_ANCESTORS = 16
_SIBLINGS = 32
_NOTES = 64


class Lineage:
    """Individuals by kernel, as far as the operators of the run ask for them.

    Args:
        wanted: The parts of `Memory` that any operator reads.
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._originals: dict[str, Individual] = {}
        self._children: dict[str, deque[Individual]] = {}
        self._notes: deque[str] = deque(maxlen=_NOTES)

    def add(self, individual: Individual, lesson: str = "") -> None:
        """Takes note of a committed individual and of what its operator learned."""
        if lesson:
            self._notes.append(lesson)
        if individual.duplicate_of is not None or not individual.kernel.source:
            return
        if "ancestors" in self._wanted:
            self._originals[individual.digest] = individual
        if "siblings" in self._wanted and individual.parents:
            self._children.setdefault(individual.parents[0], deque(maxlen=_SIBLINGS)).append(individual)

    def memory(self, wanted: Iterable[str], parents: Sequence[Individual], elites: Sequence[Individual]) -> Memory:
        """Returns what an operator asks for, as it stands now."""
        parts = frozenset(wanted)
        first = parents[0] if parents else None
        return Memory(
            ancestors=self._ancestors(first) if "ancestors" in parts else (),
            siblings=tuple(self._children.get(first.digest, ())) if first and "siblings" in parts else (),
            elites=tuple(elites) if "elites" in parts else (),
            notes=tuple(self._notes) if "notes" in parts else (),
        )

    def _ancestors(self, individual: Individual | None) -> tuple[Individual, ...]:
        """Returns the line of first parents, nearest first. Originals are older than their children, so it ends."""
        line: list[Individual] = []
        while individual is not None and individual.parents and len(line) < _ANCESTORS:
            original = self._originals.get(individual.parents[0])
            if original is None or original.slot >= individual.slot:
                break
            line.append(original)
            individual = original
        return tuple(line)
