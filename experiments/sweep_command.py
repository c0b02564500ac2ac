"""An experiment from its declaration to its last run: ``python -m experiments.sweep experiment=FILE``.

The same command again goes on where it stopped; with more seeds it adds them and keeps the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from . import faults
from .analysis.tables import FAILURE
from .composition import composed
from .experiment import BUDGETS, Experiment, declare, load_experiment, read_seeds
from .faults import ConfigError, choices
from .jobs import Batch, Job, jobs_of, multirun_batches, plain_batches, run_batches
from .names import check_import_names
from .settings import check_settings
from .wording import duration_text

SHIPPED = Path(__file__).parent / "papers"
OWN = ("experiment", "seeds", "jobs", "devices", "hydra.sweep.dir")
KEYS = """keys:
  experiment=FILE            a YAML file with arms, tasks and seeds, or the name of a shipped experiment
  hydra.sweep.dir=FOLDER     where its runs go; runs/NAME by default
  seeds=N or 0,1,2           instead of those of the file
  jobs=N                     processes at once
  devices=0,1                one job at once for each device
  budget.evaluations=N       budget.seconds=S budget.tokens=N: of every run
  hydra/launcher=NAME        Hydra's multirun over seeds instead of own processes
  anything else              an override of all runs, e.g. mu=4"""
RATE_AFTER = 0.02
"""Share of one job that must be done before a time left is guessed."""


@dataclass(slots=True)
class Order:
    """What is asked for on the command line.

    Attributes:
        experiment: With the command line's changes.
        sweep_dir: Where its runs go.
        places: Environment of each process that may run at once.
        launcher: Overrides of Hydra's own; empty for processes of this command.
    """

    experiment: Experiment
    sweep_dir: Path
    places: list[dict[str, str]]
    launcher: list[str] = field(default_factory=list)


def read_order(arguments: Sequence[str]) -> Order:
    """Reads ``key=value`` arguments.

    Raises:
        ConfigError: One is no ``key=value``, or what it names does not exist.
    """
    own: dict[str, str] = {}
    launcher, overrides = [], []
    budget: dict[str, float] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise ConfigError(f"cannot read {argument!r}; write key=value; {choices(key, OWN)}")
        if key in OWN:
            own[key] = value
        elif key.startswith(("hydra/", "hydra.")):
            launcher.append(argument)
        elif key.removeprefix("budget.") in BUDGETS and key.startswith("budget."):
            budget[key.removeprefix("budget.")] = _number(key, value)
        else:
            overrides.append(argument)
    if "experiment" not in own:
        raise ConfigError("experiment: missing; give experiment=FILE or the name of a shipped one, see --help")
    experiment = load_experiment(_find(own["experiment"]))
    experiment = replace(
        experiment,
        seeds=read_seeds(own["seeds"]) if "seeds" in own else experiment.seeds,
        overrides=(*experiment.overrides, *overrides),
        budget={**experiment.budget, **budget},
    )
    sweep_dir = Path(own.get("hydra.sweep.dir") or Path("runs") / experiment.name)
    return Order(experiment, sweep_dir, _places(own), launcher)


def _find(name: str) -> Path:
    """Returns the file of an experiment.

    Raises:
        ConfigError: There is none.
    """
    for path in (Path(name), SHIPPED / f"{name}.yaml"):
        if path.is_file():
            return path
    known = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
    raise ConfigError(f"experiment={name}: no such file or shipped experiment; {choices(name, known)}")


def _places(own: dict[str, str]) -> list[dict[str, str]]:
    """Returns one environment for each process that may run at once; a device belongs to one of them.

    Raises:
        ConfigError: A number is none, or both keys are given.
    """
    if "devices" in own:
        if "jobs" in own:
            raise ConfigError("jobs: there is one job for each of devices; leave one of the two out")
        devices = [device.strip() for device in own["devices"].split(",")]
        if not all(devices) or len(set(devices)) != len(devices):
            raise ConfigError(f"devices: give different devices such as 0,1; is {own['devices']!r}")
        return [{"CUDA_VISIBLE_DEVICES": device, "HIP_VISIBLE_DEVICES": device} for device in devices]
    count = own.get("jobs", "1")
    if not count.isdecimal() or int(count) < 1:
        raise ConfigError(f"jobs: must be a whole number of at least 1, is {count!r}")
    return [{} for _ in range(int(count))]


def _number(key: str, text: str) -> float:
    """Returns a positive number.

    Raises:
        ConfigError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ConfigError(f"{key}: must be a number above 0, is {text!r}")
    return int(value) if value.is_integer() else value


def check_jobs(jobs: Sequence[Job]) -> None:
    """Composes the configuration of every arm and every task once, before any job starts.

    Raises:
        ConfigError: One cannot be run.
    """
    seen: set[str] = set()
    for job in jobs:
        names = {f"arm {job.placed.arm}", f"task {job.placed.task}"} - seen
        if not names:
            continue
        seen |= names
        try:
            check_settings(composed(list(job.overrides)))
        except faults.KNOWN as fault:
            message, _ = faults.explain(fault)
            raise ConfigError(f"{' and '.join(sorted(names))}: {message}") from fault


@dataclass(slots=True)
class Watch:
    """Shows how far the whole sweep is, with an estimate of the time left.

    Attributes:
        console: Where to.
        jobs: All of them.
        experiment: For the budget.
    """

    console: Console
    jobs: Sequence[Job]
    experiment: Experiment
    bar: Progress = field(init=False)
    _ended: Counter[str] = field(init=False)
    _busy: dict[str, Job] = field(default_factory=dict)
    _told: set[str] = field(init=False)
    _started_s: float = field(init=False)
    _credit: float = field(init=False)

    def __post_init__(self) -> None:
        self._told = {job.name for job in self.jobs if job.state == "finished"}
        self._ended = Counter(finished=len(self._told))
        self._started_s = time.monotonic()
        # What an earlier attempt has done of a run comes back in no time and tells nothing about speed.
        self._credit = self._ended.total() + self._partial([job for job in self.jobs if job.state == "unfinished"])
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
        self.bar = Progress(*columns, console=self.console, disable=not self.console.is_terminal, transient=True)
        self.bar.add_task(self.experiment.name, total=len(self.jobs), told="")

    def __call__(self, running: Sequence[Batch]) -> None:
        """Takes note of what is at work, and of what has ended since."""
        busy = {job.name: job for batch in running for job in batch.jobs}
        # Others are looked at when anything has changed: a process of a killed sweep may have finished one.
        looked_at = self.jobs if busy.keys() != self._busy.keys() else list(busy.values())
        for job in looked_at:
            state = job.state
            if job.name not in self._told and (state == "finished" or (state == "failed" and job.name in self._busy)):
                self._told.add(job.name)
                self._ended[state] += 1
                self.console.print(self.line(job, state), markup=False, highlight=False, soft_wrap=True)
        self._busy = {name: job for name, job in busy.items() if name not in self._told}
        self.bar.update(self.bar.task_ids[0], completed=self._done(), told=self.told())

    def line(self, job: Job, state: str) -> str:
        """Returns the line that says how a job ended."""
        why = f": {faults.one_line(error_of(job))}" if state == "failed" else ""
        return f"{job.name} {state}{why} ({self.told()})"

    def told(self) -> str:
        """Returns counts and the time left."""
        failed = f", {self._ended['failed']} failed" if self._ended["failed"] else ""
        return f"{self._ended['finished']}/{len(self.jobs)} finished{failed}{self.time_left()}"

    def time_left(self) -> str:
        """Returns an estimate in words; nothing before there is ground for one."""
        done = self._done()
        gained, left = done - self._credit, len(self.jobs) - done
        if gained < RATE_AFTER or left <= 0:
            return ""
        return f", about {duration_text((time.monotonic() - self._started_s) / gained * left)} left"

    def _done(self) -> float:
        """Returns how many jobs are done, those at work by how much of their budget is spent."""
        return self._ended.total() + self._partial(self._busy.values())

    def _partial(self, jobs: Iterable[Job]) -> float:
        """Returns the parts of jobs that are done, added up."""
        return sum(job.progress(self.experiment.budget) for job in jobs)


def error_of(job: Job) -> str:
    """Returns why a job failed."""
    path = job.run_dir / FAILURE
    return str(json.loads(path.read_text("utf-8"))["error"]) if path.exists() else ""


def summary(jobs: Sequence[Job], console: Console) -> bool:
    """Prints how many jobs of each arm are in which state, and why jobs failed; returns whether all finished."""
    states = ("finished", "failed", "unfinished", "pending")
    table = Table(title="runs", title_justify="left", title_style="bold")
    for name in ("arm", *states):
        table.add_column(name, justify="left" if name == "arm" else "right")
    counts: dict[str, Counter[str]] = {}
    for job in jobs:
        counts.setdefault(job.placed.arm, Counter())[job.state] += 1
    for arm, count in counts.items():
        table.add_row(arm, *(str(count[state]) for state in states))
    console.print(table)
    for job in jobs:
        if job.state == "failed":
            console.print(f"failed: {job.name}: {error_of(job)}", markup=False, highlight=False, soft_wrap=True)
    return all(count["finished"] == count.total() for count in counts.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    check_import_names()
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Runs what is still to do of an experiment."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.sweep",
        description="Runs every arm, task and seed of an experiment; again, it goes on where it stopped.",
        epilog=KEYS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="*", metavar="key=value")
    order = read_order(parser.parse_args(argv).settings)
    check_jobs(jobs_of(order.experiment, order.sweep_dir))
    experiment = declare(order.experiment, order.sweep_dir)
    jobs = jobs_of(experiment, order.sweep_dir)
    left = [job for job in jobs if job.state != "finished"]
    console = Console(soft_wrap=not sys.stdout.isatty())
    console.print(f"{experiment.name}: {len(jobs)} runs, {len(left)} to do, in {order.sweep_dir}", highlight=False)
    batches = multirun_batches(left, order.sweep_dir, order.launcher) if order.launcher else plain_batches(left)
    watch = Watch(console, jobs, experiment)
    with watch.bar:
        run_batches(batches, order.places, watch)
    everything = summary(jobs, console)
    console.print(f"compare: python -m experiments.compare {order.sweep_dir}", markup=False, highlight=False)
    return 0 if everything else faults.FAILED
