"""An experiment from its declaration to its last run: ``python -m experiments.sweep experiment=FILE``.

The same command again goes on where it stopped; with more seeds it adds them and keeps the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from . import faults
from .batches import multirun_batch, plain_batches, run_batches
from .build import make
from .composition import check_folder, composed, search_path, take_folder
from .declared import read_seeds
from .devices import names_of
from .experiment import BUDGETS, Experiment, declare, load_experiment
from .faults import ConfigError, choices
from .jobs import Job, alone, jobs_of
from .launching import check_launchers
from .names import check_import_names
from .settings import check_settings
from .start import TUNABLE, start_names, tunable_seed
from .sweep_progress import Watch, summary
from .wording import count_text

SHIPPED = Path(__file__).parent / "papers"
"""Experiments that can be given by name."""
OWN = ("experiment", "scale", "seeds", "jobs", "devices", "hydra.sweep.dir")
KEYS = """keys:
  experiment=FILE            a YAML file with arms, tasks and seeds, or the name of a shipped experiment
  scale=NAME                 one of the scales that the file declares, e.g. gpu; the file as it stands by default
  hydra.sweep.dir=FOLDER     where its runs go; runs/NAME by default
  seeds=N or 0,1,2           instead of those of the file
  jobs=N                     processes at once
  devices=0,1 or all         GPUs of this machine: a job takes one for itself, as many at once as there are GPUs
  budget.evaluations=N       budget.seconds=S budget.tokens=N: of every run
  hydra/launcher=NAME        all jobs by one launcher of Hydra (joblib, submitit_slurm, ray …) instead of own processes
  hydra.launcher.KEY=VALUE   of that launcher, e.g. hydra.launcher.n_jobs=4
  anything else              an override of all runs, e.g. mu=4"""


@dataclass(slots=True)
class Order:
    """What is asked for on the command line.

    Attributes:
        experiment: With the command line's changes.
        sweep_dir: Where its runs go.
        at_once: Processes.
        launcher: Overrides of Hydra's own; empty for processes of this command.
        here: Overrides that are of this machine and not of the experiment.
    """

    experiment: Experiment
    sweep_dir: Path
    at_once: int
    launcher: list[str] = field(default_factory=list)
    here: list[str] = field(default_factory=list)


def read_order(arguments: Sequence[str], config_dir: Path | None = None) -> Order:
    """Reads ``key=value`` arguments.

    Args:
        arguments: Of the command line.
        config_dir: A folder of a user's own with further members of the groups.

    Raises:
        ConfigError: One is no ``key=value``, or what it names does not exist.
    """
    check_folder(config_dir)
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
    experiment = load_experiment(_find(own["experiment"]), own.get("scale", ""))
    experiment = replace(
        experiment,
        seeds=read_seeds(own["seeds"]) if "seeds" in own else experiment.seeds,
        overrides=(*experiment.overrides, *overrides),
        budget={**experiment.budget, **budget},
    )
    sweep_dir = Path(own.get("hydra.sweep.dir") or Path("runs") / experiment.name)
    at_once, here = _places(own, bool(launcher))
    return Order(experiment, sweep_dir, at_once, launcher, [*search_path(config_dir), *here])


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


def _places(own: Mapping[str, str], has_launcher: bool) -> tuple[int, list[str]]:
    """Returns how many processes may run at once, and the override that shares out the devices among them.

    Raises:
        ConfigError: A number is none, or keys do not go together.
    """
    if "jobs" in own and (has_launcher or "devices" in own):
        other = "hydra/launcher" if has_launcher else "devices"
        raise ConfigError(f"jobs: {other} says how many jobs run at once; leave one of the two out")
    count = own.get("jobs", "1")
    if not count.isdecimal() or int(count) < 1:
        raise ConfigError(f"jobs: must be a whole number of at least 1, is {count!r}")
    if "devices" not in own:
        return int(count), []
    given = own["devices"].strip("[] ")
    numbers = [int(word) if word.strip().isdecimal() else word for word in given.split(",")]
    names = names_of(given if given == "all" else numbers, "devices")
    return 1 if has_launcher else len(names), [f"gpus={given if given == 'all' else f'[{given}]'}"]


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


def check_jobs(jobs: Sequence[Job], overrides: Sequence[str] = ()) -> None:
    """Composes the configuration of every arm and every task once, before any job starts.

    Args:
        jobs: All of them.
        overrides: That all jobs share and the experiment does not declare.

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
            config = composed([*overrides, *job.overrides])
            check_settings(config)
            if TUNABLE in start_names(config):
                tunable_seed(make(config, "task"), make(config, "language"))
        except faults.KNOWN as fault:
            message, _ = faults.explain(fault)
            raise ConfigError(f"{' and '.join(sorted(names))}: {message}") from fault


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
    take_folder(parser)
    arguments = parser.parse_intermixed_args(argv)
    return execute(read_order(arguments.settings, arguments.config_dir))


def execute(order: Order) -> int:
    """Runs what is still to do of an experiment; returns the exit status.

    Raises:
        ConfigError: An arm or a task cannot be run, or another experiment is declared there.
        RunError: Another sweep is at work there.
        OSError: The folder cannot be written.
    """
    check_launchers(order.launcher)
    check_jobs(jobs_of(order.experiment, order.sweep_dir), [*order.here, *order.launcher])
    with alone(order.sweep_dir):
        return _execute(order)


def _execute(order: Order) -> int:
    """Declares and runs, alone in the folder."""
    experiment = declare(order.experiment, order.sweep_dir)
    jobs = jobs_of(experiment, order.sweep_dir)
    left = [job for job in jobs if job.state != "finished"]
    console = Console(soft_wrap=not sys.stdout.isatty())
    console.print(
        f"{experiment.name}: {count_text(len(jobs), 'run')}, {len(left)} to do, in {order.sweep_dir}", highlight=False
    )
    if order.launcher:
        batches = multirun_batch(left, order.sweep_dir, [*order.here, *order.launcher])
    else:
        batches = plain_batches(left, order.here)
    watch = Watch(console, jobs, experiment)
    try:
        with watch.bar:
            run_batches(batches, order.at_once, watch)
    except (KeyboardInterrupt, faults.Terminated):
        print("\nstopped; what was done is kept. The same command goes on.", file=sys.stderr)
        raise
    everything = summary(jobs, console)
    console.print(f"compare: python -m experiments.compare {order.sweep_dir}", markup=False, highlight=False)
    return 0 if everything else faults.FAILED
