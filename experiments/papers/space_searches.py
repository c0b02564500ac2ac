"""Searches of recorded spaces: run, recorded and made again.

A run is a function of its seed, its overrides and the recorded times. Its record is a line: which configurations it
evaluated. The spaces' mean times stand beside the records.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console
from rich.progress import track

from evolve import json_text
from fitness import TaskError
from fitness.spaces import RecordedSpace, Space, cutoff_evaluations

from ..benchmarks.space_runs import Setup, search
from ..build import make
from ..composition import composed
from ..experiment import FILE_NAME, RECORDS, Experiment, load_experiment
from ..faults import ConfigError, RunError, naming
from ..records import json_lines, write_whole

CUTOFF = 0.95
"""How far random search comes from median to optimum within the budget of a run."""

Record = Mapping[str, Any]
"""One run: arm, task, seed, and the places in the space of what it evaluated, in order."""


def prepare(experiment: Experiment, folder: Path, sweep_dir: Path) -> None:
    """Keeps the mean times of all spaces with the records.

    Raises:
        ConfigError: A file is missing, is no complete cache file, or is another one than the sweep began with.
    """
    sweep_dir.mkdir(parents=True, exist_ok=True)
    for task in experiment.tasks:
        try:
            text = Space.read(folder / f"{task}.json.gz").means_text()
        except TaskError as fault:
            raise ConfigError(f"spaces: {fault}") from fault
        kept = space_file(sweep_dir, task)
        if kept.exists() and kept.read_text("utf-8") != text:
            raise ConfigError(f"spaces: {kept} is of another recording; use another hydra.sweep.dir")
        write_whole(kept, text.encode())


def space_file(sweep_dir: Path, task: str) -> Path:
    """Returns where the mean times of a space are kept."""
    return sweep_dir / f"{task}.json"


@cache
def recorded_space(path: Path) -> RecordedSpace:
    """Reads a space once a process."""
    return RecordedSpace(path)


@cache
def _config(overrides: tuple[str, ...]) -> DictConfig:
    """Composes a setting once a process."""
    return composed(overrides)


def run(path: Path, overrides: Sequence[str], seed: int) -> list[int | None]:
    """Searches the space of a file once; returns the places of what was evaluated, in order."""
    config, space = _config(tuple(overrides)), recorded_space(path)
    operators = {str(name): make(config, f"operators.{name}") for name in config.operators}
    setup = Setup(partial(make, config, "search"), lambda: operators, "")
    found = search(space, setup, cutoff_evaluations(space.space.times_ms, CUTOFF), seed=0, repeat=seed)
    return [space.position(each.kernel) for each in found]


def _job(experiment: Experiment, sweep_dir: Path, arm: str, task: str, seed: int) -> Callable[[], list[int | None]]:
    """Returns a run as a callable that can be sent to another process."""
    return partial(run, space_file(sweep_dir, task), (*experiment.overrides, *experiment.arms[arm]), seed)


def replays(sweep_dir: Path) -> list[Callable[[], None]]:
    """Returns one callable a recorded run, which makes the run again and compares it with its record.

    It raises a RunError where another configuration was evaluated.
    """
    experiment = load_experiment(sweep_dir / FILE_NAME)
    return [
        partial(_replay, each, _job(experiment, sweep_dir, each["arm"], each["task"], each["seed"]))
        for each in read_records(sweep_dir / RECORDS)
    ]


def _replay(record: Record, again: Callable[[], list[int | None]]) -> None:
    """Makes a run again.

    Raises:
        RunError: It came out differently.
    """
    if again() != record["evaluated"]:
        name = f"{record['arm']}/{record['task']}/seed_{record['seed']}"
        raise RunError(f"{name}: the search evaluated other configurations than those that are recorded")


def search_all(experiment: Experiment, sweep_dir: Path, num_processes: int) -> None:
    """Runs what is not yet in the records, and adds a line for each run as it ends."""
    path = sweep_dir / RECORDS
    known = read_records(path)
    done = {(each["arm"], each["task"], each["seed"]) for each in known}
    left = [(arm, task, seed) for seed in experiment.seeds for task in experiment.tasks for arm in experiment.arms]
    left = [each for each in left if each not in done]
    # A line that a killed attempt has torn is not written on.
    write_whole(path, "".join(json_text(each) + "\n" for each in known).encode())
    pool = ProcessPoolExecutor(num_processes, mp_context=multiprocessing.get_context("spawn"))
    try:
        running = {pool.submit(_job(experiment, sweep_dir, *each)): each for each in left}
        with path.open("a", encoding="utf-8") as file:
            for future in track(as_completed(running), "searching", len(left), console=Console(stderr=True)):
                arm, task, seed = running[future]
                record = {"arm": arm, "task": task, "seed": seed, "evaluated": future.result()}
                with naming(path):
                    file.write(json_text(record) + "\n")
                    file.flush()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def read_records(path: Path) -> list[dict[str, Any]]:
    """Returns the records of all runs, in the order of seeds, tasks and arms; none where there is no file."""
    single = {(each["seed"], each["task"], each["arm"]): each for each in json_lines(path)}
    return [single[key] for key in sorted(single)]
