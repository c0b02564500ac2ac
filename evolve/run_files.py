"""The derived files of a run directory. They follow from the journal and are written anew by every attempt."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, TextIO

from fitness import Kernel

from .errors import RunDirectoryError
from .individual import Generation, Individual
from .journal_file import JSON
from .lines import whole_lines
from .strict_json import json_text

GENERATION_SCHEMA = "kernelwright.generation/1"
SOURCE_SCHEMA = "kernelwright.source/1"

SURVIVORS_SHOWN = 100
"""At most so many survivors are named in a line of ``generations.jsonl``; an archive may hold thousands."""


class LineFile:
    """A file of JSON lines that is rebuilt by every attempt, and never shorter than the last attempt left it.

    The new file grows beside the old one and takes its place when it has caught up, so that a
    process that is killed while it replays loses nothing that could be seen before.

    Raises:
        RunDirectoryError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        try:
            self._left = _count_lines(path)
            self._file: TextIO = self._part.open("w", encoding="utf-8", errors="surrogatepass")
        except OSError as error:
            raise _unwritable(path, error) from error
        self._replace_when_caught_up()

    def append(self, data: JSON) -> None:
        """Writes one line and hands it to the operating system."""
        try:
            self._file.write(json_text(data, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._left -= 1
        self._replace_when_caught_up()

    def finish(self) -> None:
        """Ends a run that came to its end: what it wrote is all there is, even if there was more before."""
        self._left = min(self._left, 0)
        self._replace_when_caught_up()

    def close(self) -> None:
        """Closes the file."""
        try:
            self._file.close()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _replace_when_caught_up(self) -> None:
        if self._left <= 0 and self._part.exists():
            os.replace(self._part, self._path)


class RunFiles:
    """``generations.jsonl`` and ``kernels/`` of one run directory.

    Args:
        directory: Made when it is absent.
        suffix: Of kernel sources, e.g. ``".cpp"``.

    Raises:
        RunDirectoryError: The directory cannot be written.
    """

    def __init__(self, directory: Path, suffix: str) -> None:
        self._kernels = directory / "kernels"
        self._suffix = suffix
        try:
            self._kernels.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(directory, error) from error
        self._generations = LineFile(directory / "generations.jsonl")
        try:
            self._sources = LineFile(self._kernels / "sources.jsonl")
        except RunDirectoryError:
            self._generations.close()
            raise

    def add_source(self, kernel: Kernel) -> None:
        """Keeps a source; called once for every distinct kernel."""
        self._sources.append(
            {
                "schema": SOURCE_SCHEMA,
                "kernel": kernel.digest,
                "language": kernel.language,
                "entry_point": kernel.entry_point,
                "source": kernel.source,
            }
        )

    def add_generation(self, record: JSON) -> None:
        """Appends a line to ``generations.jsonl``."""
        self._generations.append(record)

    def crown(self, kernel: Kernel) -> None:
        """Writes the source of a new best kernel under its digest and as ``best``."""
        for name in (kernel.digest, "best"):
            path = self._kernels / f"{name}{self._suffix}"
            part = path.with_name(path.name + ".part")
            try:
                part.write_text(kernel.source, encoding="utf-8", errors="surrogatepass")
                os.replace(part, path)
            except OSError as error:
                raise _unwritable(path, error) from error

    def finish(self) -> None:
        """Ends the files of a run that came to its end."""
        self._generations.finish()
        self._sources.finish()

    def close(self) -> None:
        """Closes the files."""
        self._generations.close()
        self._sources.close()


def generation_record(generation: Generation, duels: int, inherited: float | None) -> JSON:
    """Returns the line of ``generations.jsonl``: no wall clock, nothing that threads decide.

    Args:
        generation: That ended.
        duels: Held so far.
        inherited: Speedup of the best seed kernel; what exceeds it is this run's own gain.
    """
    best = generation.best
    return {
        "schema": GENERATION_SCHEMA,
        "generation": generation.index,
        "slots": [_slot_record(individual) for individual in generation.offspring],
        "population": len(generation.survivors),
        "survivors": [each.slot for each in generation.survivors[:SURVIVORS_SHOWN]],
        "best": {
            "slot": best.slot,
            "kernel": best.digest,
            "latency_us": best.evaluation.latency_us,
            "speedup": best.evaluation.speedup,
        },
        "inherited_speedup": inherited,
        "evaluations": generation.evaluations,
        "duels": duels,
        "tokens": generation.tokens,
        "funnel": generation.funnel,
    }


def _slot_record(individual: Individual) -> JSON:
    evaluation = individual.evaluation
    proposed = bool(individual.kernel.source)
    record = {
        "slot": individual.slot,
        "operator": individual.operator,
        "parents": list(individual.parents),
        "kernel": individual.digest if proposed else None,
        "outcome": individual.outcome,
        "note": individual.note[:200],
        "status": str(evaluation.status) if proposed else None,
        "latency_us": evaluation.latency_us,
        "speedup": _finite(evaluation.speedup),
        "max_rel_error": _finite(evaluation.max_rel_error),
        "duplicate_of": individual.duplicate_of,
        "twin_of": individual.twin_of,
        "tokens": individual.tokens,
    }
    optional = {"origin": individual.origin, "requests": list(individual.requests), "arm": individual.arm}
    return {**record, **{name: value for name, value in optional.items() if value}}


def _finite(value: Any) -> float | None:
    """Returns a number that JSON has, or None."""
    return value if value is not None and math.isfinite(value) else None


def _count_lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for _ in whole_lines(file, path))


def _unwritable(path: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(
        f"{path}: cannot be written ({error.strerror}); make room or choose another folder, then run again to resume"
    )
