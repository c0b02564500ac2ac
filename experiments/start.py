"""What a run starts from: the task's own kernel, and whatever ``start`` names beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from evolve import EvolveError, Journal, Seed, from_folder, from_nearest, from_run
from fitness import Kernel, Language, Task, TaskError, read_source

from .faults import ConfigError

if TYPE_CHECKING:
    from .build import Problem

TUNABLE = "tunable"
"""Names the kernel with declared tunables that a task ships."""

NEAREST = "nearest:"
"""Stands before a folder with earlier runs; the best kernels of the nearest ones are taken."""

NEIGHBOURS = 3


def founders(config: DictConfig, problem: Problem, journal: Journal) -> list[Seed]:
    """Returns generation 0, the task's own kernel first.

    What ``start`` names is kept in the journal, so that a resumed or replayed run does not depend on files elsewhere.

    Raises:
        ConfigError: ``start`` names something that is not there.
    """
    own = problem.task.seed_kernel(problem.language.name)
    found = [Seed(own)]
    for name in start_names(config):
        kept = journal.once("start", name, lambda name=name: {"kernels": list(_kept(name, problem, config))})  # type: ignore[misc]
        for each in kept["kernels"]:
            found.append(Seed(Kernel(each["source"], each["language"], each["entry_point"]), each["origin"]))
    return found


def start_names(config: DictConfig) -> list[str]:
    """Returns what ``start`` names.

    Raises:
        ConfigError: It is no list of texts.
    """
    given = OmegaConf.select(config, "start")
    names = OmegaConf.to_container(given) if OmegaConf.is_list(given) else [] if given is None else [given]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"start: must be a list of files, folders, run directories or {TUNABLE!r}, is {names!r}")
    return [str(name) for name in names]


def _kept(name: str, problem: Problem, config: DictConfig) -> Iterator[dict[str, Any]]:
    for seed in _seeds(name, problem, config):
        kernel = seed.kernel
        yield {
            "source": kernel.source,
            "language": kernel.language,
            "entry_point": kernel.entry_point,
            "origin": seed.origin,
        }


def _seeds(name: str, problem: Problem, config: DictConfig) -> list[Seed]:
    """Reads what one name stands for.

    Raises:
        ConfigError: It is not there.
    """
    language, path = problem.language, Path(name)
    entry_point = problem.task.seed_kernel(language.name).entry_point
    if name == TUNABLE:
        return [Seed(tunable_seed(problem.task, language), TUNABLE)]
    try:
        if name.startswith(NEAREST):
            groups = {
                group: OmegaConf.to_container(config[group], resolve=True) for group in ("task", "language", "target")
            }
            return from_nearest(name.removeprefix(NEAREST), groups, NEIGHBOURS)
        if (path / "generations.jsonl").is_file():
            return from_run(path)
        if path.is_dir():
            return from_folder(path, language.name, language.suffix, entry_point)
        return [Seed(Kernel(read_source(path), language.name, entry_point), path.name)]
    except TaskError as fault:
        raise ConfigError(f"start: {fault}") from fault
    except (OSError, EvolveError) as fault:
        raise ConfigError(f"start: {name}: no kernel, folder of kernels or run can be read there ({fault})") from fault


def tunable_seed(task: Task, language: Language) -> Kernel:
    """Returns the kernel with declared tunables that a task ships.

    Raises:
        ConfigError: It ships none in this language.
    """
    try:
        kernel: Kernel = task.variant_kernel(language.name, TUNABLE)  # type: ignore[attr-defined]
    except (AttributeError, TaskError) as fault:
        raise ConfigError(f"start: task {task.name} ships no tunable kernel in {language.name}") from fault
    return kernel
