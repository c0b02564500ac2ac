"""Seeds beside the task's own: kernels of earlier runs, or of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitness import Kernel

from .errors import EvolveError


@dataclass(frozen=True, slots=True)
class Seed:
    """A kernel of generation 0.

    Attributes:
        origin: ``"task"`` for the task's own, which must be correct; else where it was inherited from.
    """

    kernel: Kernel
    origin: str = "task"


def from_folder(folder: Path | str, language: str, suffix: str, entry_point: str = "kernel") -> list[Seed]:
    """Returns the kernels of a folder, in the order of their names.

    Args:
        folder: Where they are.
        language: Of all of them.
        suffix: Of the files that count, e.g. ``".cpp"``.
        entry_point: Of all of them.

    Raises:
        EvolveError: There is no such folder, or no such file in it.
    """
    paths = sorted(Path(folder).glob(f"*{suffix}"))
    if not paths:
        raise EvolveError(f"{folder}: no *{suffix} file to start from")
    return [Seed(Kernel(path.read_text("utf-8"), language, entry_point), path.name) for path in paths]


def from_run(run_directory: Path | str, count: int = 1) -> list[Seed]:
    """Returns the fastest kernels of an earlier run, fastest first.

    They carry over between tasks of one interface only; the evaluator judges them anew.

    Raises:
        EvolveError: The directory holds no run, or no correct kernel.
    """
    run_directory = Path(run_directory)
    latencies: dict[str, float] = {}
    for record in _lines(run_directory / "generations.jsonl"):
        for slot in record["slots"]:
            if slot["latency_us"] is not None:
                latencies.setdefault(slot["kernel"], slot["latency_us"])
    if not latencies:
        raise EvolveError(f"{run_directory}: no correct kernel to start from")
    fastest = sorted(latencies, key=lambda digest: latencies[digest])[:count]
    sources = {
        record["kernel"]: Kernel(record["source"], record["language"], record["entry_point"])
        for record in _lines(run_directory / "kernels" / "sources.jsonl")
        if record["kernel"] in fastest
    }
    return [Seed(sources[digest], f"{run_directory.name}/{digest[:12]}") for digest in fastest if digest in sources]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the whole lines of a derived file."""
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
    except (OSError, ValueError) as error:
        raise EvolveError(f"{path}: cannot be read, so it cannot be started from ({error})") from error
