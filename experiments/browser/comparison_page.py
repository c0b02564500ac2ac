"""Pages that set things side by side: curves of runs, and two kernels of any runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from flask import Response, request

from ..faults import RunError
from ..runs import Candidate, Run
from ..statistics import area_under_curve
from . import figures
from .answering import asked, figure, is_dark, page
from .candidate_page import LINES_COMPARED, compared, find_candidate
from .collection import Collection
from .figures import Curve
from .filtering import differing, matching
from .recording import Recording
from .summary import Summary
from .wording import query_text

COSTS = ("evaluations", "seconds", "tokens")
MOST_RUNS = 60
WHOLE = 1_000_000


def compare(collection: Collection) -> Response:
    """Answers with the best-so-far curves of the chosen runs, and a table of what they came to."""
    runs, left_out = _chosen(collection)
    found, key = _curves(collection, runs), asked("by")
    common = min((each.end for each in found), default=0.0)
    rows = [(run, _area(curve, common, _cost())) for run, curve in zip(runs, found, strict=True)]
    return page(
        "compare.html",
        rows=rows,
        paths=[run.path for run in runs],
        left_out=left_out,
        cost=_cost(),
        costs=COSTS,
        by=key,
        keys=[*differing(runs)] if len(runs) > 1 else [],
        common=common,
        drawn=_figure_query(collection, runs),
        query=asked("q"),
        is_live=any(run.state == "running" for run in runs),
    )


def _figure_query(collection: Collection, runs: Sequence[Summary]) -> str:
    """Returns the query of the figure, which differs when one of the runs has grown."""
    versions = "".join(collection.recording(run.path).version for run in runs)
    version = hashlib.sha256(versions.encode()).hexdigest()[:12]
    return query_text([*(("run", run.path) for run in runs), ("cost", _cost()), ("by", asked("by")), ("v", version)])


def curves_figure(collection: Collection) -> Response:
    """Answers with the figure of the chosen runs' curves."""
    return figure(figures.curves(_curves(collection, _chosen(collection)[0]), _cost(), dark=is_dark()))


def diff(collection: Collection) -> Response:
    """Answers with what differs between two kernels, of one run or of two."""
    one, other = _kernel(collection, "run", "a"), _kernel(collection, "other", "b")
    context = WHOLE if asked("whole") == "1" else 3
    sources = [each and each[1].sources.get(each[2].digest or "") for each in (one, other)]
    lines = compared(sources[0] or None, sources[1] or None, context) if one and other else ()
    return page(
        "diff.html",
        sides=[one, other],
        sources=sources,
        lines=lines,
        added=sum(kind == "add" for kind, _ in lines),
        removed=sum(kind == "del" for kind, _ in lines),
        is_cut=any(source and source.count("\n") >= LINES_COMPARED for source in sources),
        limit=LINES_COMPARED,
        whole=asked("whole") == "1",
        runs=[run.path for run in collection.summaries() if run.state not in ("empty", "broken")],
        asked={"run": asked("run"), "a": asked("a"), "other": asked("other") or asked("run"), "b": asked("b")},
    )


def _kernel(collection: Collection, run_name: str, kernel_name: str) -> tuple[str, Run, Candidate] | None:
    """Returns path, run and candidate of one side; None where the query does not say which.

    Raises:
        RunError: There is no such run or kernel.
    """
    path, wanted = asked(run_name) or asked("run"), asked(kernel_name)
    if not path or not wanted:
        return None
    run = collection.recording(path).run
    return path, run, find_candidate(run, wanted)


def _chosen(collection: Collection) -> tuple[list[Summary], int]:
    """Returns the runs that the query names, or all that fit its filter, and how many more there are."""
    known = {run.path: run for run in collection.summaries()}
    paths = request.args.getlist("run")
    missing = [path for path in paths if path not in known]
    if missing:
        raise RunError(f"there is no run {missing[0]!r} below {collection.root.path}")
    chosen = [known[path] for path in dict.fromkeys(paths)] or matching(known.values(), asked("q"))
    chosen = [run for run in chosen if run.state != "empty"]
    return chosen[:MOST_RUNS], max(0, len(chosen) - MOST_RUNS)


def _cost() -> str:
    return asked("cost") if asked("cost") in COSTS else COSTS[0]


def _curves(collection: Collection, runs: Sequence[Summary]) -> list[Curve]:
    """Returns the curves of runs, each named by its path, or by its value of the key that the query names."""
    key = asked("by")
    named = key and any(key in run.values for run in runs)
    return [
        _curve(collection.recording(run.path), _cost(), f"{key}={run.values.get(key, '–')}" if named else run.path)
        for run in runs
    ]


def _curve(recording: Recording, cost: str, group: str) -> Curve:
    """Returns the best-so-far curve of a run: what had been spent when each timed kernel was known."""
    costs, speedups, spent, latest_s = [], [], 0.0, 0.0
    for each in recording.run.candidates:
        spent += each.tokens
        place = recording.journal.place("evaluation", each.digest or "")
        latest_s = max(latest_s, place.at_s if place is not None else 0.0)
        if each.speedup is not None and not each.repeated:
            costs.append({"evaluations": float(each.charged), "seconds": latest_s, "tokens": spent}[cost])
            speedups.append(each.speedup)
    charged = recording.run.candidates[-1].charged if recording.run.candidates else 0
    end = {"evaluations": float(charged), "seconds": recording.run.elapsed_s, "tokens": spent}[cost]
    return Curve(group, np.array(costs), np.maximum.accumulate(np.array(speedups)), max([end, *costs[-1:]]))


def _area(curve: Curve, budget: float, cost: str) -> float | None:
    """Returns the geometric mean over a budget of the best speedup; None without a budget."""
    within = curve.costs <= budget
    if not budget > 0 or not within.any():
        return None
    starts = curve.costs[within] - (cost == "evaluations")  # an evaluation's own place counts already
    return float(np.exp(area_under_curve(starts, np.maximum(curve.bests[within], 1.0), budget)))
