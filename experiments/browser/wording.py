"""Numbers and verdicts as the pages write them; rounded only here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from ..runs import Candidate


def times(value: float | None) -> str:
    """Returns a speedup, or a dash."""
    return "–" if value is None else f"{value:.2f}×"


def quantity(value: float | None) -> str:
    """Returns a number with separators, or a dash."""
    return "–" if value is None else f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def short(digest: str | None) -> str:
    """Returns the first eight digits of a digest."""
    return (digest or "")[:8]


def shortened(text: str) -> str:
    """Returns the beginning of a long value."""
    return text if len(text) <= 40 else text[:39] + "…"


def query_text(values: Mapping[str, object] | Sequence[tuple[str, object]]) -> str:
    """Returns the query of an address. What UTF-8 cannot hold is spelt out; such an address finds nothing."""
    return urlencode(values, errors="backslashreplace")


def with_page(query: Mapping[str, str], page: int) -> str:
    """Returns the query of another page of the same list."""
    return query_text({**{key: value for key, value in query.items() if value}, "page": page})


def ago(when_s: float) -> str:
    """Returns how long ago a moment was, given in seconds since the epoch."""
    past = max(0.0, time.time() - when_s)
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if past < limit:
            return f"{past / divisor:.0f} {unit} ago"
    return f"{past / 86_400:.0f} days ago"


def verdict(candidate: Candidate) -> str:
    """Returns what became of a candidate, in a word or two."""
    if candidate.evaluation is not None:
        return str(candidate.evaluation.status).replace("_", " ")
    return candidate.outcome.replace("_", " ")
