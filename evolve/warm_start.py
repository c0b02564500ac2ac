"""Seeds beside the task's own: kernels of earlier runs, or of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitness import Kernel, read_source

from .errors import EvolveError
from .journal import read_configuration
from .lines import whole_lines


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
        TaskError: One of the files cannot be read.
    """
    paths = sorted(Path(folder).glob(f"*{suffix}"))
    if not paths:
        raise EvolveError(f"{folder}: no *{suffix} file to start from")
    return [Seed(Kernel(read_source(path), language, entry_point), path.name) for path in paths]


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


def nearest_runs(runs: Path | str, configuration: Mapping[str, Any]) -> list[Path]:
    """Returns the run directories below a folder that may help a new run, the nearest first.

    Only runs in the same language count. A run on the same task is nearer than one on the same target;
    among equals the order is that of their names.

    Args:
        runs: Holds run directories at any depth.
        configuration: Of the new run, as given to `Journal`, with ``task``, ``language`` and ``target``.

    Raises:
        EvolveError: There is no run in this language.
    """
    ranked = []
    for journal in sorted(Path(runs).rglob("journal.jsonl*")):
        old = read_configuration(journal)
        same = {group: old.get(group) == configuration.get(group) for group in ("task", "language", "target")}
        if same["language"] and "language" in old:
            ranked.append((not same["task"], not same["target"], journal.parent))
    if not ranked:
        raise EvolveError(f"{runs}: no run in this language to start from")
    return [directory for _, _, directory in sorted(ranked)]


def from_nearest(runs: Path | str, configuration: Mapping[str, Any], count: int) -> list[Seed]:
    """Returns the fastest kernel of each of the nearest runs; those without a correct one are passed over.

    Args:
        runs: As `nearest_runs` takes them.
        configuration: Likewise.
        count: Of runs, at most.

    Raises:
        EvolveError: There is no such run.
    """
    seeds: list[Seed] = []
    for directory in nearest_runs(runs, configuration):
        with suppress(EvolveError):
            seeds += from_run(directory)
        if len(seeds) >= count:
            break
    if not seeds:
        raise EvolveError(f"{runs}: no run in this language has a correct kernel to start from")
    return seeds


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the whole lines of a derived file."""
    try:
        with path.open("rb") as file:
            for line in whole_lines(file, path):
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise EvolveError(f"{path}: cannot be read, so it cannot be started from ({error})") from error
