"""The experiment as an object: one question, declared before the first run.

Arms × tasks × seeds under one budget, with the primary metric and the comparisons that will be
tested. It is stored as ``experiment.yaml`` in the sweep directory before anything runs, and what it
says can afterwards grow (arms, tasks, seeds) but not change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from .declared import read_levels, read_named, read_pairs, read_seeds, read_texts
from .factors import matched_arms
from .faults import ConfigError, choices, naming, one_line

FILE_NAME = "experiment.yaml"
RECORDS = "records.jsonl"
"""Runs of an experiment that need no folders of their own, a line each."""
METRICS = ("speedup", "area_evaluations", "area_seconds", "area_tokens", "evaluations_to_target", "skeletons")
BUDGETS = ("evaluations", "seconds", "tokens")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
"""What arms and tasks may be called: they are names of directories."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A question and how it will be decided.

    Attributes:
        name: Of the experiment.
        question: One sentence for people.
        hypothesis: What was expected before the runs; nothing is decided by it.
        arms: Overrides by arm, e.g. ``{"syntactic": ("operators=syntactic",)}``.
        tasks: Overrides by task, e.g. ``{"softmax": ("task=softmax",)}``.
        seeds: Seeds of the runs of every arm and task.
        overrides: What all runs share.
        budget: Of each run: ``evaluations``, ``seconds``, ``tokens``; whichever ends first.
        metric: The primary one, of `METRICS`; one number a run.
        target_speedup: What ``evaluations_to_target`` aims at.
        comparisons: Pairs of arms that will be tested; nothing but these and the effects can be significant.
        effects: Main effects that will be tested, by factor: two of its levels, as they stand in names of arms (see
            `factors`), e.g. ``{"history": ("history1", "history0")}``.
        paired: Whether seed i of two arms shares its randomness, so that runs are compared seed by
            seed.
        alpha: Chance of any false positive among all comparisons.
        minimum_effect: Fraction of speedup below which a difference is of no interest.
        amendments: What was added after the first run, in words.
    """

    name: str
    arms: Mapping[str, Sequence[str]]
    tasks: Mapping[str, Sequence[str]]
    seeds: Sequence[int]
    question: str = ""
    hypothesis: str = ""
    overrides: Sequence[str] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    metric: str = "area_evaluations"
    target_speedup: float = 2.0
    comparisons: Sequence[tuple[str, str]] = ()
    effects: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    paired: bool = False
    alpha: float = 0.05
    minimum_effect: float = 0.02
    amendments: Sequence[str] = ()

    def __post_init__(self) -> None:
        for kind, names in (("arms", self.arms), ("tasks", self.tasks)):
            for name in names:
                if not NAME.fullmatch(name):
                    raise ConfigError(f"{kind}: {name!r} cannot name a directory; use letters, digits, _ . + -")
        empty = [kind for kind in ("arms", "tasks", "seeds") if not getattr(self, kind)]
        if empty:
            raise ConfigError(f"{empty[0]}: an experiment needs at least one")
        if len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise ConfigError("seeds: must be different and not negative")
        if self.metric not in METRICS:
            raise ConfigError(f"metric: unknown {self.metric!r}; {choices(self.metric, METRICS)}")
        self._check_tested()
        for budget in self.budget:
            if budget not in BUDGETS:
                raise ConfigError(f"budget.{budget}: unknown key; {choices(budget, BUDGETS)}")
        if not 0 < self.alpha < 1 or self.minimum_effect < 0:
            raise ConfigError("alpha must lie between 0 and 1, and minimum_effect must not be negative")

    def _check_tested(self) -> None:
        """Refuses comparisons and effects of arms that are not there."""
        for arm in (arm for pair in self.comparisons for arm in pair):
            if arm not in self.arms:
                raise ConfigError(f"comparisons: unknown arm {arm!r}; {choices(arm, list(self.arms))}")
        for factor, levels in self.effects.items():
            try:
                matched_arms(self.arms, levels)
            except ConfigError as fault:
                raise ConfigError(f"effects.{factor}: {fault}") from fault

    @property
    def num_jobs(self) -> int:
        """Runs that the experiment consists of."""
        return len(self.arms) * len(self.tasks) * len(self.seeds)

    def to_plain(self) -> dict[str, Any]:
        """Returns it as YAML has it."""
        plain = asdict(self)
        for kind in ("arms", "tasks"):
            plain[kind] = {name: list(overrides) for name, overrides in plain[kind].items()}
        lists = {name: list(plain[name]) for name in ("seeds", "overrides", "amendments")}
        pairs = {"comparisons": [list(pair) for pair in self.comparisons]}
        return {**plain, **lists, **pairs, "effects": {name: list(levels) for name, levels in self.effects.items()}}


def from_plain(data: Mapping[str, Any], default_name: str) -> Experiment:
    """Reads an experiment from what a YAML file holds.

    ``seeds: 30`` stands for seeds 0 to 29, a list of tasks for ``task=NAME`` each,
    ``comparisons: all`` for all pairs of arms.

    Raises:
        ConfigError: A key is unknown or missing, or a value is of the wrong kind.
    """
    known = [each.name for each in fields(Experiment)]
    for key in data:
        if key not in known:
            raise ConfigError(f"{key}: unknown key of an experiment; {choices(str(key), known)}")
    for key in ("arms", "tasks", "seeds"):
        if not data.get(key):
            raise ConfigError(f"{key}: missing; an experiment needs arms, tasks and seeds")
    plain = {"name": default_name, **data}
    plain["arms"] = read_named(data["arms"], "arms")
    tasks = data["tasks"]
    plain["tasks"] = (
        {task: (f"task={task}",) for task in tasks} if isinstance(tasks, list) else read_named(tasks, "tasks")
    )
    plain["seeds"] = read_seeds(data["seeds"])
    plain["budget"] = {key: value for key, value in (data.get("budget") or {}).items() if value is not None}
    plain["comparisons"] = read_pairs(data.get("comparisons", ()), list(plain["arms"]))
    plain["effects"] = read_levels(data.get("effects") or {})
    plain["overrides"] = read_texts(data.get("overrides") or (), "overrides")
    plain["amendments"] = read_texts(data.get("amendments") or (), "amendments")
    return Experiment(**plain)


def load_experiment(path: Path, scale: str = "") -> Experiment:
    """Reads an experiment from a YAML file.

    Args:
        path: Of the file.
        scale: One of its ``scales``, whose keys take the place of those outside of it, e.g. ``"gpu"``; the
            experiment's name then ends in it. Empty for the file as it stands.

    Raises:
        ConfigError: The file is missing, is no YAML, declares no experiment or no such scale.
    """
    try:
        data = OmegaConf.to_container(OmegaConf.create(path.read_text("utf-8")))
    except OSError as fault:
        raise ConfigError(f"{path}: {fault.strerror}") from fault
    except (YAMLError, OmegaConfBaseException, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: is no YAML: {one_line(str(fault))[:300]}") from fault
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: declares no experiment; it needs arms, tasks and seeds")
    try:
        return from_plain(*_scaled({str(key): value for key, value in data.items()}, path.stem, scale))
    except ConfigError as fault:
        raise ConfigError(f"{path}: {fault}") from fault


def _scaled(data: dict[str, Any], name: str, scale: str) -> tuple[dict[str, Any], str]:
    """Returns what is declared at a scale, and the experiment's name there.

    Raises:
        ConfigError: There is no such scale.
    """
    scales = data.pop("scales", None) or {}
    if not scale:
        return data, name
    if not isinstance(scales, Mapping) or not isinstance(scales.get(scale), Mapping):
        raise ConfigError(f"scale: unknown {scale!r}; {choices(scale, [str(each) for each in scales])}")
    return {**data, **scales[scale]}, f"{name}_{scale}"


def declare(experiment: Experiment, sweep_dir: Path) -> Experiment:
    """Stores an experiment in its sweep directory, before the first run or as a growth of it.

    Returns:
        What is stored: with amendments where a stored experiment grew.

    Raises:
        ConfigError: Another experiment is declared there, or the same one with other rules.
        OSError: It cannot be written.
    """
    path = sweep_dir / FILE_NAME
    # Before the first run nothing has been seen yet, and everything may still be changed.
    has_runs = any(sweep_dir.glob("*/*/*/journal.jsonl*")) or (sweep_dir / RECORDS).exists()
    if path.exists() and has_runs:
        experiment = grown(load_experiment(path), experiment, path)
    sweep_dir.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{FILE_NAME}.new")
    with naming(path):
        fresh.write_text(OmegaConf.to_yaml(OmegaConf.create(experiment.to_plain())), "utf-8")
    os.replace(fresh, path)
    return experiment


def grown(stored: Experiment, wanted: Experiment, path: Path) -> Experiment:
    """Returns the union of a stored experiment and what is now asked for.

    Raises:
        ConfigError: Something other than the number of arms, tasks and seeds differs.
    """
    fixed = ("name", "overrides", "budget", "metric", "target_speedup", "paired", "alpha", "minimum_effect")
    old, new = stored.to_plain(), wanted.to_plain()
    for key in fixed:
        if old[key] != new[key]:
            raise ConfigError(f"{path}: declares {key} {old[key]!r}, not {new[key]!r}; use another hydra.sweep.dir")
    for kind in ("arms", "tasks"):
        for name in old[kind].keys() & new[kind].keys():
            if old[kind][name] != new[kind][name]:
                raise ConfigError(f"{path}: declares {name} as {old[kind][name]}; give the new one another name")
    tested, now = ([*each.comparisons, *each.effects.values()] for each in (stored, wanted))
    lost = [pair for pair in tested if pair not in now]
    if lost:
        raise ConfigError(f"{path}: declares the comparison {' / '.join(lost[0])}; it cannot be taken back")
    added = [
        f"{kind} added: {', '.join(str(name) for name in names)}"
        for kind in ("arms", "tasks", "seeds", "comparisons", "effects")
        if (names := [each for each in getattr(wanted, kind) if each not in getattr(stored, kind)])
    ]
    return replace(
        wanted,
        arms={**stored.arms, **wanted.arms},
        tasks={**stored.tasks, **wanted.tasks},
        seeds=(*stored.seeds, *(seed for seed in wanted.seeds if seed not in stored.seeds)),
        amendments=(*stored.amendments, *added),
    )
