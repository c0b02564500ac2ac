"""One run in the table of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class RunRow:
    """What is known of one run.

    Attributes:
        path: Relative to the sweep directory.
        fingerprint: Sizes and times of its files.
        state: ``"finished"``, ``"failed"``, ``"unfinished"``, ``"missing"`` or ``"unreadable"``.
        error: Why it failed or cannot be read.
        ended: What ended a finished run: a budget, ``"exhausted"``, ``"target"`` ….
        num_rows: Its slots.
        evaluations: Charged, duels included.
        tokens: Of the model.
        elapsed_s: Wall time over all attempts.
        best: Speedup of the certified best kernel, as measured during the search.
        verified: Its speedup when judged anew; NaN where it failed or was not.
        verified_low: Lower end of that speedup's 95 % interval; NaN where there is none.
        is_verified: Whether it was judged anew.
        inherited: Speedup of the best seed kernel.
        noise_floor: Of the machine, as a fraction.
        is_timed: Whether any kernel was timed.
        choices: Members of the configuration's groups, as JSON.
        configuration: Resolved, as JSON.
    """

    path: str
    fingerprint: str
    state: str = "missing"
    error: str = ""
    ended: str = ""
    num_rows: int = 0
    evaluations: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0
    best: float = 1.0
    verified: float = math.nan
    verified_low: float = math.nan
    is_verified: bool = False
    inherited: float = 1.0
    noise_floor: float = math.nan
    is_timed: bool = False
    choices: str = "{}"
    configuration: str = "{}"
