"""JSON that every reader takes: of numbers it knows the finite ones only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(data: Any, **layout: Any) -> str:
    """Returns data as JSON, with null for numbers that are not finite: Python would write ``Infinity``, ``NaN``.

    Args:
        data: Of mappings, lists, texts and numbers.
        layout: As `json.dumps` takes it, e.g. ``indent=1``.

    Raises:
        TypeError: There is something in it that JSON cannot express.
    """
    try:
        return json.dumps(data, allow_nan=False, **layout)
    except ValueError:  # hardly ever, so that only then all of it is looked at
        return json.dumps(_finite(data), allow_nan=False, **layout)


def _finite(data: Any) -> Any:
    """Returns the same with None for numbers that are not finite."""
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
