"""What torch's profiler saw of one call, in a sentence: which kernels ran on the device, and for how long."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..evaluation import JSON

_SHOWN = 3
_NAME = 60


def launches(rows: object) -> tuple[str, ...]:
    """Returns a sentence on the launches of one call; none where the rows are not what a profiler tells.

    Args:
        rows: ``[{"name": str, "count": int, "us": float}, ...]``, as the worker of a candidate says: believed by nobody
            who decides, and cleaned before people and models read it.
    """
    kernels = [row for row in rows if _is_row(row)] if isinstance(rows, Sequence) else []
    total_us = sum(row["us"] for row in kernels)
    if not total_us > 0:
        return ()
    longest = sorted(kernels, key=lambda row: (-row["us"], row["name"]))
    shown = ", ".join(f"{cleaned(row['name'])} {row['us'] / total_us:.0%}" for row in longest[:_SHOWN])
    more = f" and {len(longest) - _SHOWN} more" if len(longest) > _SHOWN else ""
    count = sum(row["count"] for row in kernels)
    return (f"One call launches {count} operation{'s' * (count != 1)}, of whose time: {shown}{more}.",)


def _is_row(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    found: JSON = row
    numbers = isinstance(found.get("count"), int) and isinstance(found.get("us"), float)
    return numbers and isinstance(found.get("name"), str) and found["count"] > 0 and 0 < found["us"] < 1e9


def cleaned(name: str) -> str:
    """Returns what is shown of a kernel's name: a candidate chooses it, so it must be no text."""
    return re.sub(r"[^\w:]+", "_", re.sub(r"[<(].*", "", name))[:_NAME].strip("_") or "unnamed"
