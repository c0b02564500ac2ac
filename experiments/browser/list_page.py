"""The list of all runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response

from .answering import asked, number, page
from .collection import Collection
from .filtering import complaints, differing, matching, terms, with_term, without_key
from .summary import Summary

RUNS_A_PAGE = 100

ORDERS: dict[str, tuple[str, Callable[[Summary], Any]]] = {
    "newest": ("last changed", lambda run: -run.changed_s),
    "path": ("path", lambda run: run.path),
    "verified": ("re-verified speedup", lambda run: -(run.verified or 0.0)),
    "best": ("speedup in the search", lambda run: -(run.best or 0.0)),
    "evaluations": ("evaluations", lambda run: -run.evaluations),
    "state": ("state", lambda run: (run.state, run.path)),
}


def runs(collection: Collection) -> Response:
    """Answers with the runs that fit the query, a hundred a page."""
    query, order = asked("q"), asked("order", "newest")
    found = collection.summaries()
    fitting = matching(found, query)
    fitting.sort(key=ORDERS.get(order, ORDERS["newest"])[1])
    last = max(0, (len(fitting) - 1) // RUNS_A_PAGE)
    index = min(max(0, number("page", 0)), last)
    asked_for = {term.key: term.value for term in terms(query) if term.sign == "="}
    facets = [
        (key, [(value, count, with_term(query, key, value)) for value, count in values], asked_for.get(key))
        for key, values in differing(found).items()
    ]
    return page(
        "runs.html",
        runs=fitting[index * RUNS_A_PAGE : (index + 1) * RUNS_A_PAGE],
        count=len(fitting),
        total=len(found),
        query=query,
        order=order if order in ORDERS else "newest",
        orders={name: words for name, (words, _) in ORDERS.items()},
        page=index,
        last=last,
        facets=facets,
        cleared={key: without_key(query, key) for key in asked_for},
        complaints=complaints(found, query),
        links=collection.links,
    )
