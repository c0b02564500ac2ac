"""How the best kernel came about: its line of ancestors, with what each step changed and gained."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from .runs import Candidate, Run


@dataclass(frozen=True, slots=True)
class Step:
    """One individual on the way to the best one.

    Attributes:
        candidate: The individual.
        others: Further parents beside the one above, for a crossover.
        gain: Speedup over the step above; None for the seed and where either was not timed.
        diff: ``(kind, line)`` with kind ``"add"``, ``"del"``, ``"hunk"`` or ``"same"``; empty for
            the seed.
    """

    candidate: Candidate
    others: tuple[str, ...] = ()
    gain: float | None = None
    diff: tuple[tuple[str, str], ...] = ()


def lineage(run: Run, digest: str) -> list[Step]:
    """Returns the steps from a seed to the kernel ``digest``, oldest first.

    A crossover is followed along its first parent, which its source is closest to.
    """
    line: list[Candidate] = []
    seen: set[str] = set()
    current = run.first.get(digest)
    while current is not None and current.digest not in seen:
        line.append(current)
        seen.add(current.digest or "")
        current = run.first.get(current.parents[0]) if current.parents else None
    line.reverse()
    return [_step(run, line, index) for index in range(len(line))]


def _step(run: Run, line: Sequence[Candidate], index: int) -> Step:
    """Compares one individual with the one above it."""
    candidate = line[index]
    if index == 0:
        return Step(candidate)
    above = line[index - 1]
    gain = candidate.speedup / above.speedup if candidate.speedup and above.speedup else None
    diff = unified(run.sources.get(above.digest or "", ""), run.sources.get(candidate.digest or "", ""))
    return Step(candidate, candidate.parents[1:], gain, diff)


def unified(before: str, after: str, context: int = 3) -> tuple[tuple[str, str], ...]:
    """Returns a unified diff without its file header, line by line with the kind of each line."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=context)
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    return tuple((kinds.get(line[:1], "same"), line) for index, line in enumerate(lines) if index >= 2)
