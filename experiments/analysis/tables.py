"""A sweep directory as two tables: a row a run, and a row a slot; with a Parquet cache.

No run is dropped in silence: one that failed, is unfinished, missing, unreadable or not declared has
its row and its state.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evolve import json_text

from ..experiment import FILE_NAME, Experiment, load_experiment
from ..faults import RunError
from ..records import json_object
from .arms import Placed, declared_jobs, place
from .run_columns import COLUMNS, Clockings, RunColumns, journal_path, read_clockings, read_slots
from .run_row import RunRow

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

CACHE = ".cache"
CACHE_VERSION = "3"
CHUNK_RUNS = 250
RESULT, FAILURE = "result.json", "failed.json"
MARKS = frozenset({"journal.jsonl", "journal.jsonl.gz", FAILURE})
"""Files that make a folder a run."""
WATCHED = (*sorted(MARKS), "generations.jsonl", RESULT, "environment.json")
"""Files whose sizes and times tell whether a run has to be read anew."""


@dataclass(slots=True)
class Sweep:
    """All runs of a sweep.

    Attributes:
        experiment: As declared before the first run; None when nothing was.
        runs: A row a run, with the fields of `RunRow` and ``arm``, ``task``, ``seed``, ``declared``.
        evaluations: A row a slot, with ``run``, the row number of its run, and `COLUMNS`; sorted by
            run and slot.
        path: The sweep directory.
    """

    experiment: Experiment | None
    runs: pd.DataFrame
    evaluations: pd.DataFrame
    path: Path = field(default_factory=Path)

    def declared_part(self) -> Sweep:
        """Returns the sweep without runs that the experiment did not ask for; all of it without a declaration."""
        if self.experiment is None or self.runs["declared"].all():
            return self
        keep = self.runs["declared"].to_numpy()
        numbers = np.cumsum(keep) - 1
        slots = self.evaluations[keep[self.evaluations["run"].to_numpy()]]
        renumbered = slots.assign(run=numbers[slots["run"].to_numpy()].astype(np.int32)).reset_index(drop=True)
        return Sweep(self.experiment, self.runs[keep].reset_index(drop=True), renumbered, self.path)


def load_sweep(sweep_dir: Path) -> Sweep:
    """Reads a sweep directory, from its cache as far as nothing has changed.

    Raises:
        RunError: There is no such directory, no run in it, or one in a folder whose name is no text.
        ConfigError: Its ``experiment.yaml`` cannot be read.
    """
    if not sweep_dir.is_dir():
        raise RunError(f"{sweep_dir}: no such folder; give the hydra.sweep.dir of a sweep")
    declaration = sweep_dir / FILE_NAME
    experiment = load_experiment(declaration) if declaration.exists() else None
    paths = sorted(find_runs(sweep_dir))
    if not paths:
        raise RunError(f"{sweep_dir}: holds no run; start one with python -m experiments.sweep or experiments.run -m")
    if odd := next((path for path in paths if not _is_text(path)), None):  # which no table holds
        raise RunError(f"{sweep_dir}: rename the folder {odd!r}, whose name is not UTF-8")
    cached_rows, cached_table = _read_cache(sweep_dir)
    rows, table, changed = _collect(sweep_dir, paths, cached_rows, cached_table)
    if changed:
        _write_cache(sweep_dir, rows, table)
    placed = place(rows, experiment)
    if experiment is not None:
        found = set(placed)
        missing = {path: job for path, job in declared_jobs(experiment).items() if job not in found}
        rows, placed = [*rows, *(RunRow(path, "") for path in missing)], [*placed, *missing.values()]
    return Sweep(experiment, _run_frame(rows, placed), _evaluation_frame(rows, table), sweep_dir)


def find_runs(sweep_dir: Path) -> Iterator[str]:
    """Yields the folders that hold a run, relative to the sweep directory."""
    for folder, folders, files in os.walk(sweep_dir):
        if MARKS.intersection(files):
            folders.clear()
            yield os.path.relpath(folder, sweep_dir)
        else:
            folders[:] = [name for name in folders if not name.startswith(".")]


def _is_text(name: str) -> bool:
    return name == os.fsencode(name).decode("utf-8", "replace")


def fingerprint(run_dir: Path) -> str:
    """Returns sizes and times of a run's files as text."""
    parts = []
    with os.scandir(run_dir) as entries:
        for entry in entries:
            if entry.name in WATCHED:
                stat = entry.stat()
                parts.append(f"{entry.name}:{stat.st_size}:{stat.st_mtime_ns}")
    return " ".join(sorted(parts))


def read_run(sweep_dir: Path, path: str, mark: str) -> tuple[RunRow, RunColumns]:
    """Reads one run; what cannot be read is said in its row."""
    run_dir, row = sweep_dir / path, RunRow(path, mark)
    try:
        failure, result = json_object(run_dir / FAILURE), json_object(run_dir / RESULT)
        row.choices = json_text(json_object(run_dir / "environment.json").get("choices", {}))
        journal = journal_path(run_dir)
        clockings = read_clockings(journal) if journal is not None else Clockings()
        generations = run_dir / "generations.jsonl"
        columns = read_slots(generations, clockings) if generations.exists() else RunColumns()
    except (RunError, ValueError, OSError, EOFError, OverflowError, RecursionError, zlib.error) as fault:
        row.state, row.error = "unreadable", " ".join(str(fault).split())
        return row, RunColumns()
    row.ended = str(result.get("ended", ""))
    row.state = "finished" if row.ended else "failed" if failure else "unfinished"
    row.error = str(failure.get("error", ""))
    row.num_rows = len(columns.columns["slot"])
    row.evaluations, row.tokens = columns.evaluations, columns.tokens
    row.elapsed_s = result.get("elapsed_s", max(columns.columns["elapsed_s"], default=0.0))
    row.best, row.inherited = columns.best, columns.inherited_speedup
    row.is_timed = any(speedup is not None for speedup in columns.columns["speedup"])
    if clockings.verified_speedup is not None:
        row.verified, row.is_verified = clockings.verified_speedup, True
        row.verified_low = math.nan if clockings.verified_low is None else clockings.verified_low
    row.noise_floor = math.nan if clockings.noise_floor is None else clockings.noise_floor
    row.configuration = json_text(clockings.configuration)
    return row, columns


def _collect(
    sweep_dir: Path, paths: Sequence[str], cached: dict[str, tuple[RunRow, int]], cached_table: pa.Table | None
) -> tuple[list[RunRow], pa.Table, bool]:
    """Returns all runs and their slots in order, and whether anything had to be read anew."""
    import pyarrow as pa

    rows: list[RunRow] = []
    parts: list[pa.Table] = []
    fresh: list[RunColumns] = []
    changed = False

    def flush() -> None:
        if fresh:
            parts.append(_arrow(fresh))
            fresh.clear()

    for path in paths:
        mark = fingerprint(sweep_dir / path)
        known = cached.get(path)
        if known is not None and known[0].fingerprint == mark and cached_table is not None:
            flush()
            rows.append(known[0])
            parts.append(cached_table.slice(known[1], known[0].num_rows))
            continue
        changed = True
        row, columns = read_run(sweep_dir, path, mark)
        rows.append(row)
        fresh.append(columns)
        if len(fresh) >= CHUNK_RUNS:
            flush()
    flush()
    if not changed and len(cached) == len(paths) and cached_table is not None:
        return rows, cached_table, False
    return rows, pa.concat_tables(parts).unify_dictionaries().combine_chunks(), True


def _arrow(runs: Sequence[RunColumns]) -> pa.Table:
    """Puts the slots of several runs below each other, in the types of `COLUMNS`."""
    import pyarrow as pa

    arrays = {}
    for name, kind in COLUMNS.items():
        values = [value for run in runs for value in run.columns[name]]
        if kind == "category":
            arrays[name] = pa.array(values, pa.string()).dictionary_encode()
        else:
            arrays[name] = pa.array(values, pa.bool_() if kind == "bool" else pa.from_numpy_dtype(np.dtype(kind)))
    return pa.table(arrays)


def _cache_paths(sweep_dir: Path) -> tuple[Path, Path]:
    folder = sweep_dir / CACHE
    return folder / f"runs-{CACHE_VERSION}.parquet", folder / f"evaluations-{CACHE_VERSION}.parquet"


def _read_cache(sweep_dir: Path) -> tuple[dict[str, tuple[RunRow, int]], pa.Table | None]:
    """Returns cached runs by path, each with its first row, and the cached slots; nothing without a usable cache."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs_path, table_path = _cache_paths(sweep_dir)
    try:
        runs, table = pq.read_table(runs_path).to_pylist(), pq.read_table(table_path, memory_map=True)
        rows = [RunRow(**each) for each in runs]
    except (OSError, pa.ArrowInvalid, TypeError, UnicodeEncodeError):  # names that are no UTF-8 have no cache
        return {}, None
    firsts = np.concatenate([[0], np.cumsum([row.num_rows for row in rows])]).astype(int)
    if firsts[-1] != table.num_rows or table.column_names != list(COLUMNS):
        return {}, None
    return {row.path: (row, int(first)) for row, first in zip(rows, firsts, strict=False)}, table


def _write_cache(sweep_dir: Path, rows: Sequence[RunRow], table: pa.Table) -> None:
    """Stores what was read; a sweep that cannot be written to is read anew every time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs_path, table_path = _cache_paths(sweep_dir)
    try:
        runs_path.parent.mkdir(exist_ok=True)
        for path, content in ((table_path, table), (runs_path, pa.Table.from_pylist([asdict(row) for row in rows]))):
            part = path.with_suffix(f".{os.getpid()}.part")
            pq.write_table(content, part, compression="zstd")
            os.replace(part, path)
    except (OSError, UnicodeEncodeError):
        return


def _run_frame(rows: Sequence[RunRow], placed: Sequence[Placed]) -> pd.DataFrame:
    """Returns the table of runs."""
    import pandas as pd

    return pd.DataFrame([{**asdict(row), **asdict(where)} for row, where in zip(rows, placed, strict=True)])


def _evaluation_frame(rows: Sequence[RunRow], table: pa.Table) -> pd.DataFrame:
    """Returns the table of slots with the row number of each one's run."""
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    counts = [row.num_rows for row in rows]
    frame.insert(0, "run", np.repeat(np.arange(len(rows), dtype=np.int32), counts))
    return frame
