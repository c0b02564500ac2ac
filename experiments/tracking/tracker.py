"""The seam of tracking, and the figures of a generation: the same for every policy and every tracker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from evolve import Generation
from fitness import Evaluation

COUNTS = ("proposed", "parsed", "duplicate", "built", "correct", "faster")
"""Stages of `Generation.funnel`, added up over operators."""


class Tracker(Protocol):
    """Is called while a run goes on. A resumed run begins again, and shows the generations before once more."""

    def begin(self, run_dir: Path, settings: Mapping[str, str]) -> None:
        """Begins, or goes on with, the tracking of a run.

        Args:
            run_dir: Exists.
            settings: The configuration, flat, with dotted names.
        """
        ...

    def generation(self, generation: Generation) -> None:
        """Takes note of a generation."""
        ...

    def end(self, ended: str, verification: Evaluation | None) -> None:
        """Closes the tracking of a run that came to its end.

        Args:
            ended: Why the run ended.
            verification: The best kernel's last judgement, if there was one.
        """
        ...


def figures(generation: Generation) -> dict[str, float]:
    """Returns the figures of a generation; a figure that a target does not give is left out.

    ``best_*`` is the best kernel so far, ``offspring_*`` what was made in this generation, ``total_*`` is counted from
    the beginning of the run, seeds excluded.
    """
    best = generation.best.evaluation
    speedups = [each.evaluation.speedup for each in generation.offspring if each.evaluation.speedup is not None]
    rows = [row for name, row in generation.funnel.items() if name != "seed"]
    found: dict[str, float | None] = {
        "best_speedup": best.speedup,
        "best_latency_us": best.latency_us,
        "best_max_rel_error": best.max_rel_error,
        "evaluations": generation.evaluations,
        "tokens": generation.tokens,
        "elapsed_s": generation.elapsed_s,
        "offspring": len(generation.offspring),
        "offspring_correct": sum(each.evaluation.ok for each in generation.offspring),
        "offspring_median_speedup": float(np.median(speedups)) if speedups else None,
        "survivors": len(generation.survivors),
        **{f"total_{stage}": sum(row.get(stage, 0) for row in rows) for stage in COUNTS},
    }
    return {name: float(value) for name, value in found.items() if value is not None and np.isfinite(value)}


def final_figures(verification: Evaluation | None) -> dict[str, float]:
    """Returns what a run came to."""
    if verification is None or verification.speedup is None or verification.latency_us is None:
        return {}
    return {"verified_speedup": verification.speedup, "verified_latency_us": verification.latency_us}
