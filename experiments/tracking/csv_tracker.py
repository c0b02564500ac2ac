"""A table of comma-separated values, one row a generation."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from evolve import Generation
from fitness import Evaluation

from ..faults import naming
from .tracker import figures, final_figures

_COLUMNS = (
    "generation",
    "best_speedup",
    "best_latency_us",
    "best_max_rel_error",
    "evaluations",
    "tokens",
    "elapsed_s",
    "offspring",
    "offspring_correct",
    "offspring_median_speedup",
    "survivors",
    "total_proposed",
    "total_parsed",
    "total_duplicate",
    "total_built",
    "total_correct",
    "total_faster",
    "verified_speedup",
    "verified_latency_us",
)


class CsvTracker:
    """Writes ``metrics.csv`` in the run directory, anew when a run is resumed. The last row holds the verification.

    Args:
        file: Name of the file.
    """

    def __init__(self, file: str = "metrics.csv") -> None:
        self._name = file
        self._path: Path | None = None
        self._last: dict[str, float] = {}

    def begin(self, run_dir: Path, settings: Mapping[str, str]) -> None:
        """Writes the names of the columns.

        Raises:
            OSError: The file cannot be written.
        """
        self._path = run_dir / self._name
        with naming(self._path), self._path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(_COLUMNS)

    def generation(self, generation: Generation) -> None:
        """Adds a row.

        Raises:
            OSError: The file cannot be written.
        """
        self._last = {"generation": generation.index, **figures(generation)}
        self._add(self._last)

    def end(self, ended: str, verification: Evaluation | None) -> None:
        """Adds the verification, if there was one.

        Raises:
            OSError: The file cannot be written.
        """
        found = final_figures(verification)
        if found:
            self._add({**self._last, **found})

    def _add(self, row: Mapping[str, float]) -> None:
        assert self._path is not None, "begin comes first"
        with naming(self._path), self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow([repr(row[name]) if name in row else "" for name in _COLUMNS])
