"""The records of slots and generations: what stands in ``generations.jsonl``, with types that can be relied on."""

from __future__ import annotations

import math
import sys
from typing import Any

from fitness import Evaluation, Status

from ..faults import RunError

JSON = dict[str, Any]

UNKNOWN_INTERVAL = (math.nan, math.nan)
"""``generations.jsonl`` holds speedups without their intervals."""
FIELDS = {"slot": int, "operator": str, "outcome": str, "note": str, "tokens": int, "parents": list}
OPTIONAL = {"kernel": str, "requests": list, "arm": str, "origin": str}


def checked(slot: JSON) -> JSON:
    """Returns the record of a slot, its digests kept once in memory.

    Raises:
        RunError: A field is of another type than a run writes.
        KeyError: A field is missing.
    """
    wrong = [name for name, kind in FIELDS.items() if not isinstance(slot[name], kind)]
    wrong += [name for name, kind in OPTIONAL.items() if not isinstance(slot.get(name, kind()), kind | None)]
    wrong += [
        name for name in ("parents", "requests") if not all(isinstance(each, str) for each in slot.get(name) or ())
    ]
    if wrong:
        raise RunError(f"a slot misuses {wrong[0]!r}")
    kernel, parents = slot["kernel"], [sys.intern(each) for each in slot["parents"]]
    return {**slot, "kernel": sys.intern(kernel) if kernel else None, "parents": parents}


def verdict_of(slot: JSON) -> Evaluation | None:
    """Returns the verdict on a slot's kernel as far as ``generations.jsonl`` has it; None where there was none."""
    if slot["kernel"] is None or slot["outcome"] != "parsed":
        return None
    status, latency_us, speedup = Status(slot["status"]), slot["latency_us"], slot["speedup"]
    if latency_us is None or speedup is None:
        return Evaluation(slot["kernel"], status)
    if not (math.isfinite(speedup) and speedup > 0):
        raise RunError("a slot misuses 'speedup'")
    return Evaluation(
        slot["kernel"],
        status,
        latency_us=float(latency_us),
        reference_latency_us=float(latency_us) * float(speedup),
        speedup=float(speedup),
        interval=UNKNOWN_INTERVAL,
    )


def totals(record: JSON) -> JSON:
    """Returns what the newest generation says about the whole run."""
    names = ("generation", "evaluations", "duels")
    funnel = {
        operator: {stage: count for stage, count in counts.items() if isinstance(count, int)}
        for operator, counts in record["funnel"].items()
    }
    return {**{name: int(record[name]) for name in names}, "funnel": funnel, "best": str(record["best"]["kernel"])}
