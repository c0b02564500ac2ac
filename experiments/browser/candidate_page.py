"""The page of one candidate: what it is, what became of it, what the model was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from flask import Response
from markupsafe import Markup
from pygments.formatters import HtmlFormatter

from fitness import Duel, Evaluation

from ..faults import RunError
from ..lineage import unified
from ..report import highlighted
from ..runs import Candidate, Run
from ..transcript import Exchange, visible
from . import figures
from .answering import asked, chosen, figure, is_dark, page
from .collection import Collection
from .recording import Recording

T = TypeVar("T")

CHILDREN_SHOWN = 20
LINES_COMPARED = 4_000


@dataclass(frozen=True, slots=True)
class Records:
    """The long records of a candidate, read from the disk.

    Attributes:
        evaluation: Whole; None where the kernel was not evaluated.
        verification: Of the best kernel at the end; None of others.
        duels: That the kernel fought.
        source: None where there is no kernel, or the run was stored without sources.
        exchanges: What the model was asked and answered, in order.
        problems: What cannot be read, a line each.
    """

    evaluation: Evaluation | None
    verification: Evaluation | None
    duels: tuple[Duel, ...]
    source: str | None
    exchanges: tuple[Exchange, ...]
    problems: tuple[str, ...]


def candidate(collection: Collection) -> Response:
    """Answers with everything that is known of a candidate."""
    recording = chosen(collection)
    run = recording.run
    shown = find_candidate(run, asked("slot") or asked("kernel"))
    records = read_records(recording, shown)
    parent = run.sources.get(shown.parents[0]) if shown.parents else None
    slots = [each.slot for each in run.candidates]
    index = slots.index(shown.slot)
    children = recording.children(shown.digest or "")
    return page(
        "candidate.html",
        recording=recording,
        run=run,
        path=asked("run"),
        summary=collection.summary(asked("run")),
        tab="candidates",
        candidate=shown,
        records=records,
        original=run.first.get(shown.digest or ""),
        source=colour(visible(records.source), run.language) if records.source is not None else None,
        diff=compared(parent, records.source),
        parents=[(digest, run.first.get(digest)) for digest in shown.parents],
        children=sorted(children, key=lambda each: -(each.speedup or 0.0))[:CHILDREN_SHOWN],
        num_children=len(children),
        before=slots[index - 1] if index else None,
        after=slots[index + 1] if index + 1 < len(slots) else None,
    )


def find_candidate(run: Run, wanted: str) -> Candidate:
    """Returns the candidate of a slot, or the first one with a kernel whose digest begins so.

    Raises:
        RunError: There is none, or several kernels begin so.
    """
    by_slot = {str(each.slot): each for each in run.candidates}
    if wanted in by_slot:
        return by_slot[wanted]
    fitting = [each for digest, each in run.first.items() if wanted and digest.startswith(wanted.lower())]
    if len(fitting) != 1:
        many = f"{len(fitting)} kernels begin with {wanted!r}; give more digits" if fitting else ""
        raise RunError(many or f"{run.path.name} has no slot and no kernel {wanted!r}")
    return fitting[0]


def read_records(recording: Recording, shown: Candidate) -> Records:
    """Reads the long records of a candidate; what cannot be read is a problem in words."""
    digest = shown.digest or ""
    problems: list[str] = []

    def tried(read: Callable[[], T | None]) -> T | None:
        try:
            return read()
        except (RunError, OSError) as fault:
            problems.append(str(fault))
            return None

    exchanges = [tried(partial(recording.exchange, key)) for key in shown.requests]
    if shown.requests and None in exchanges:
        problems.append("not every request behind this candidate is in the journal")
    return Records(
        evaluation=tried(lambda: recording.evaluation(digest)),
        verification=tried(lambda: recording.evaluation(digest, "verification")),
        duels=tuple(tried(lambda: recording.duels(digest)) or ()),
        source=tried(lambda: recording.source(digest)),
        exchanges=tuple(each for each in exchanges if each is not None),
        problems=tuple(problems),
    )


def compared(before: str | None, after: str | None, context: int = 3) -> tuple[tuple[str, str], ...]:
    """Returns what changed between two sources, as `lineage.unified` does; empty where one is missing."""
    if before is None or after is None:
        return ()
    one, other = ("\n".join(visible(text).splitlines()[:LINES_COMPARED]) for text in (before, after))
    return unified(one, other, context)


def colour(source: str, language: str) -> Markup:
    """Returns a source as markup; the style sheet has its colours."""
    return highlighted(source, language, HtmlFormatter(cssclass="code", nobackground=True))


def samples_figure(collection: Collection) -> Response:
    """Answers with the figure of all samples of a kernel.

    Raises:
        RunError: It has none.
    """
    recording = chosen(collection)
    shown = find_candidate(recording.run, asked("slot"))
    kind = "verification" if asked("kind") == "verification" else "evaluation"
    evaluation = recording.evaluation(shown.digest or "", kind)
    if evaluation is None or not evaluation.measurements:
        raise RunError(f"slot {shown.slot} was not timed")
    return figure(figures.samples(evaluation.measurements, dark=is_dark()))
