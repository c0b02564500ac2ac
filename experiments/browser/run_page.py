"""The pages of one run: overview, candidates, lineage, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Response

from evolve import EvolveError

from ..faults import RunError
from ..records import load_run
from ..report import render
from ..runs import Candidate, Run
from ..verdicts import MEANINGS
from ..wording import environment_rows, headline, spent_rows, subtitle
from ..wording import figures as key_figures
from . import figures
from .answering import asked, chosen, figure, is_dark, number, page
from .collection import Collection
from .lineage_tree import ancestors, tree
from .stored import FAULTS, told
from .wording import verdict

CANDIDATES_A_PAGE = 100
BEST_SHOWN = 8
STEPS_SHOWN = 60
REPORT_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"

ORDERS: dict[str, tuple[str, Callable[[Candidate], Any]]] = {
    "slot": ("slot", lambda each: each.slot),
    "newest": ("slot, newest first", lambda each: -each.slot),
    "fastest": ("speedup", lambda each: (-(each.speedup or 0.0), each.slot)),
    "tokens": ("tokens", lambda each: (-each.tokens, each.slot)),
}


def overview(collection: Collection) -> Response:
    """Answers with what came of a run."""
    recording = chosen(collection)
    run = recording.run
    fastest = sorted(
        (each for each in run.evaluated if each.speedup is not None), key=lambda each: -(each.speedup or 0)
    )
    meanings = {str(status).replace("_", " "): meaning for status, meaning in MEANINGS.items()}
    meanings["repeat"] = "a kernel that was known already; it cost nothing"
    return page(
        "run.html",
        recording=recording,
        run=run,
        path=asked("run"),
        summary=collection.summary(asked("run")),
        tab="overview",
        subtitle=subtitle(run),
        under_way=max(0, recording.journal.counts["evaluation"] - len(run.evaluated)),
        headline=headline(run),
        figures=key_figures(run),
        funnel=run.funnel,
        verdicts=[(name, count, meanings.get(name, "")) for name, count in _verdicts(run)],
        fastest=fastest[:BEST_SHOWN],
        steps=_steps(run, run.best_digest),
        spent=spent_rows(run),
        environment=environment_rows(run),
    )


def candidates(collection: Collection) -> Response:
    """Answers with the candidates of a run that fit the query, a hundred a page."""
    recording = chosen(collection)
    run, order = recording.run, asked("order", "slot")
    fitting = _fitting(run)
    if order in ORDERS and order != "slot":
        fitting.sort(key=ORDERS[order][1])
    last = max(0, (len(fitting) - 1) // CANDIDATES_A_PAGE)
    index = min(max(0, number("page", 0)), last)
    return page(
        "candidates.html",
        recording=recording,
        run=run,
        path=asked("run"),
        summary=collection.summary(asked("run")),
        tab="candidates",
        candidates=fitting[index * CANDIDATES_A_PAGE : (index + 1) * CANDIDATES_A_PAGE],
        count=len(fitting),
        operators=sorted({each.operator for each in run.candidates}),
        verdicts=[name for name, _ in _verdicts(run)],
        asked={name: asked(name) for name in ("operator", "verdict", "parent", "text")},
        order=order if order in ORDERS else "slot",
        orders={name: words for name, (words, _) in ORDERS.items()},
        page=index,
        last=last,
    )


def lineage(collection: Collection) -> Response:
    """Answers with the lineage of a kernel: its ancestors, and the tree of its descendants."""
    recording = chosen(collection)
    run, root = recording.run, asked("kernel")
    return page(
        "lineage.html",
        recording=recording,
        run=run,
        path=asked("run"),
        summary=collection.summary(asked("run")),
        tab="lineage",
        root=root if root in run.first else "",
        steps=_steps(run, root if root in run.first else run.best_digest),
        most_edges=figures.MOST_EDGES,
        branches_found=tree(run, root or None, with_failed=asked("failed") == "1"),
        with_failed=asked("failed") == "1",
    )


def report(collection: Collection) -> Response:
    """Answers with the report of a run, made from its records as they stand.

    Raises:
        RunError: They are damaged, and the report believes nothing that is.
    """
    recording = chosen(collection)
    recording.check_files()
    try:
        html = render(load_run(recording.path)).encode("utf-8", "backslashreplace")
    except (EvolveError, *FAULTS) as fault:
        raise RunError(f"no report can be made of this run: {told(fault)}") from fault
    return Response(html, mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})


def best_so_far_figure(collection: Collection) -> Response:
    """Answers with the best-so-far figure of a run."""
    return figure(figures.best_so_far(chosen(collection).run, dark=is_dark()))


def lineage_figure(collection: Collection) -> Response:
    """Answers with the figure of all timed kernels and their parents."""
    return figure(figures.lineage(chosen(collection).run, asked("kernel") or None, dark=is_dark()))


def _verdicts(run: Run) -> list[tuple[str, int]]:
    """Counts what became of candidates, most frequent first."""
    counts = Counter("repeat" if each.repeated else verdict(each) for each in run.candidates)
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _steps(run: Run, digest: str | None) -> list[tuple[Candidate, float | None]]:
    """Returns a kernel and its ancestors, oldest first, each with its speedup over the one before."""
    line = [run.first[each] for each in ancestors(run, digest)]
    steps: list[tuple[Candidate, float | None]] = []
    for above, each in zip([None, *line], line, strict=False):
        known = above is not None and above.speedup and each.speedup
        steps.append(
            (each, each.speedup / above.speedup if known and each.speedup and above and above.speedup else None)
        )
    return steps[-STEPS_SHOWN:]


def _fitting(run: Run) -> list[Candidate]:
    """Returns the candidates that the query asks for."""
    operator, wanted, parent, text = (asked(name) for name in ("operator", "verdict", "parent", "text"))
    return [
        each
        for each in run.candidates
        if operator in ("", each.operator)
        and (not wanted or wanted == ("repeat" if each.repeated else verdict(each)))
        and (not parent or parent in each.parents)
        and (not text or text.lower() in f"{each.digest} {each.note} {each.arm}".lower())
    ]
