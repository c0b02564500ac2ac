"""Which arm, task and seed a stored run belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

from ..experiment import Experiment

if TYPE_CHECKING:
    from .run_row import RunRow

NOT_ARMS = frozenset({"seed", "run_dir", "budget", "task", "executor", "experiment"})
"""Keys that two runs of one arm may differ in."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a run stands in its experiment.

    Attributes:
        arm: Its name; what distinguishes the configuration when nothing was declared.
        task: Its name.
        seed: Of the run; -1 when it is not known.
        declared: Whether the experiment asked for it.
    """

    arm: str
    task: str
    seed: int
    declared: bool


def job_path(arm: str, task: str, seed: int) -> str:
    """Returns the folder of a run inside its sweep directory: what it is, so that no two clash."""
    return f"{arm}/{task}/seed_{seed}"


def place(rows: Sequence[RunRow], experiment: Experiment | None) -> list[Placed]:
    """Finds arm, task and seed of each run.

    A run stands where its folder's name says, or else where its configuration fits the declared
    overrides. Without a declaration, arms are told apart by what differs.
    """
    if experiment is None:
        return _varying(rows)
    jobs = declared_jobs(experiment)
    return [jobs.get(row.path) or _matched(row, experiment) for row in rows]


def declared_jobs(experiment: Experiment) -> dict[str, Placed]:
    """Returns every run that an experiment asks for, by folder; seed after seed, so that arms stay level."""
    return {
        job_path(arm, task, seed): Placed(arm, task, seed, declared=True)
        for seed in experiment.seeds
        for task in experiment.tasks
        for arm in experiment.arms
    }


def _matched(row: RunRow, experiment: Experiment) -> Placed:
    """Returns the arm and task whose overrides the run's configuration fulfils."""
    choices, configuration = json.loads(row.choices), json.loads(row.configuration)
    arm = _most_specific(experiment.arms, choices, configuration)
    task = _most_specific(experiment.tasks, choices, configuration)
    seed = configuration.get("seed", -1)
    declared = arm is not None and task is not None and seed in experiment.seeds
    return Placed(arm or row.path, task or choices.get("task", "?"), seed, declared)


def _most_specific(
    named: Mapping[str, Sequence[str]], choices: Mapping[str, Any], configuration: Mapping[str, Any]
) -> str | None:
    """Returns the name with the most overrides, all of them fulfilled; None when that is not one."""
    fitting = {
        name: len(overrides)
        for name, overrides in named.items()
        if all(_fulfilled(override, choices, configuration) for override in overrides)
    }
    most = [name for name, count in fitting.items() if count == max(fitting.values())]
    return most[0] if len(most) == 1 else None


def _fulfilled(override: str, choices: Mapping[str, Any], configuration: Mapping[str, Any]) -> bool:
    """Returns whether a run looks as if an override had been given."""
    key, _, value = override.lstrip("+").partition("=")
    if key in choices:
        return str(choices[key]) == value
    return _text(_leaves(configuration).get(key)) == value


def _varying(rows: Sequence[RunRow]) -> list[Placed]:
    """Names arms by what differs between configurations."""
    choices = [json.loads(row.choices) for row in rows]
    configurations = [json.loads(row.configuration) for row in rows]
    told = [bool(each) for each in choices]  # a run that was refused tells nothing, and no arms apart
    groups = _differing([{key: str(value) for key, value in each.items()} for each in compress(choices, told)])
    leaves = [
        {key: _text(value) for key, value in _leaves(each).items() if key.split(".")[0] not in {*groups, *NOT_ARMS}}
        for each in configurations
    ]
    keys = [key for key in groups if key not in NOT_ARMS and "/" not in key]
    keys += [key for key in _differing(list(compress(leaves, told))) if not key.endswith("_target_")]
    placed = []
    for group, leaf, configuration in zip(choices, leaves, configurations, strict=True):
        values = {**leaf, **group}
        arm = ",".join(f"{key}={values.get(key, '-')}" for key in keys) or "all"
        placed.append(Placed(arm, str(group.get("task", "?")), configuration.get("seed", -1), declared=False))
    return placed


def _differing(mappings: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns the keys that do not have one and the same value everywhere."""
    keys = sorted({key for mapping in mappings for key in mapping})
    return [key for key in keys if len({mapping.get(key) for mapping in mappings}) > 1]


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the values of a nested mapping by dotted key."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found.update(_leaves(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


def _text(value: Any) -> str:
    """Returns a value as it is written in an override."""
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)
