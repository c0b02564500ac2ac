"""Who came from whom, as a tree that is small enough to look at."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..runs import Candidate, Run

MOST_BRANCHES = 250
MOST_LEVELS = 10


@dataclass(slots=True)
class Branch:
    """A kernel with the kernels that were made from it.

    Attributes:
        candidate: That first held the kernel.
        gain: Speedup over its first parent; None where either was not timed.
        children: Of them, those that are shown, fastest first.
        hidden: Descendants that are not shown, failed ones not counted.
        failed: Proposals made from it that came to nothing.
        leads_to_best: Whether the best kernel is it, or descends from it.
    """

    candidate: Candidate
    gain: float | None = None
    children: list[Branch] = field(default_factory=list)
    hidden: int = 0
    failed: int = 0
    leads_to_best: bool = False


def tree(run: Run, root: str | None = None, *, with_failed: bool = False) -> list[Branch]:
    """Returns the descendants of a kernel, or of all seeds, as deep as `MOST_LEVELS` and `MOST_BRANCHES` allow.

    A crossover stands below its first parent, which its source is closest to.

    Args:
        run: Where they are.
        root: Digest of the kernel to begin with; None for the seeds.
        with_failed: Whether kernels are shown, too, that are not correct and have no correct descendant.
    """
    first = [each for each in run.first.values() if not each.repeated]
    children, failed = _children(first), _failed(run.candidates)
    if not with_failed:
        first, children = _fruitful(first, children)
    below = _descendants(first, children)
    line = set(ancestors(run, run.best_digest))
    chosen = run.first.get(root or "")
    roots = [chosen] if chosen is not None else [each for each in first if not each.parents]
    branches = [Branch(each) for each in roots]
    waiting, shown = deque((branch, 1) for branch in branches), len(branches)
    while waiting:
        branch, level = waiting.popleft()
        digest = branch.candidate.digest or ""
        branch.leads_to_best, branch.failed = digest in line, failed.get(digest, 0)
        offered = sorted(children.get(digest, ()), key=lambda each: (each.digest not in line, -(each.speedup or 0.0)))
        room = max(0, MOST_BRANCHES - shown) if level < MOST_LEVELS else 0
        branch.children = [Branch(each, _gain(branch.candidate, each)) for each in offered[:room]]
        shown += len(branch.children)
        branch.hidden = sum(1 + below[each.digest or ""] for each in offered[room:])
        waiting.extend((child, level + 1) for child in branch.children)
    return branches


def ancestors(run: Run, digest: str | None) -> list[str]:
    """Returns a kernel and its line of first parents, oldest first."""
    line: list[str] = []
    current = run.first.get(digest or "")
    while current is not None and current.digest is not None and current.digest not in line:
        line.append(current.digest)
        current = run.first.get(current.parents[0]) if current.parents else None
    return line[::-1]


Children = Mapping[str, Sequence[Candidate]]


def _children(first: Sequence[Candidate]) -> Children:
    """Returns kernels by digest of their first parent."""
    children: dict[str, list[Candidate]] = {}
    for each in first:
        if each.parents:
            children.setdefault(each.parents[0], []).append(each)
    return children


def _failed(candidates: Sequence[Candidate]) -> Mapping[str, int]:
    """Returns, by digest of the first parent, how many proposals came to nothing."""
    return Counter(each.parents[0] for each in candidates if each.parents and not _is_correct(each))


def _is_correct(candidate: Candidate) -> bool:
    return candidate.evaluation is not None and candidate.evaluation.ok


def _fruitful(first: Sequence[Candidate], children: Children) -> tuple[list[Candidate], Children]:
    """Returns the kernels that are correct or led to one that is: a failure may have been repaired."""
    kept: set[str] = set()
    for each in sorted(first, key=lambda each: each.slot, reverse=True):
        digest = each.digest or ""
        if _is_correct(each) or any(child.digest in kept for child in children.get(digest, ())):
            kept.add(digest)
    fruitful = [each for each in first if each.digest in kept]
    return fruitful, _children(fruitful)


def _descendants(first: Sequence[Candidate], children: Children) -> dict[str, int]:
    """Counts descendants by digest; children are younger than their parents, so one pass from the end is enough."""
    below = {each.digest or "": 0 for each in first}
    for each in sorted(first, key=lambda each: each.slot, reverse=True):
        below[each.digest or ""] = sum(
            1 + below.get(child.digest or "", 0) for child in children.get(each.digest or "", ())
        )
    return below


def _gain(parent: Candidate, child: Candidate) -> float | None:
    return child.speedup / parent.speedup if child.speedup and parent.speedup else None
