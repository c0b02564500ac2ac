"""Is a task fit for search? ``python -m experiments.admit task=softmax``.

Proves on drawn data that zeros, constants, the expected value, the inputs, a shuffled and a partial
output all fail, that every input matters and that the reference is sound; and, through the
evaluator, that the task's own seed kernel passes. Prints one table.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from evolve import stream
from fitness import TaskError
from fitness.admission import Admission, Check, admit
from fitness.kernelbench import KernelBench

from . import faults
from .build import Problem, build_problem, make
from .composition import composed, split
from .faults import FAILED, ConfigError
from .names import check_import_names
from .settings import check_settings

ALL = "all"
EPILOG = """\
keys of this command:
  task=NAME          a task, several as task=softmax,matmul, or task=all

keys of the configuration that matter here: task.*, language, target, evaluator.*, seed
example:
  python -m experiments.admit task=softmax
  python -m experiments.admit task=kernelbench level=1 problem=2 root=KernelBench

exit status: 0 all are fit for search, 1 one is not, or the machine is broken, 2 wrong usage
"""


def task_names(wanted: str, config_dir: Path | None) -> list[str]:
    """Returns the names that ``wanted`` stands for.

    With ``all``, a task that needs values of its user, such as a path, is left out.

    Raises:
        ConfigError: It names nothing.
    """
    if wanted != ALL:
        names = [name.strip() for name in wanted.split(",") if name.strip()]
        if not names:
            raise ConfigError("task: give a name, several separated by commas, or all")
        return names
    folders = [files("conf").joinpath("task"), *([config_dir / "task"] if config_dir is not None else [])]
    found = sorted({Path(each.name).stem for folder in folders if folder.is_dir() for each in folder.iterdir()})
    return [name for name in found if not _wants_more(composed([f"task={name}"], config_dir).task)]


def _wants_more(task: DictConfig) -> bool:
    """Whether a task has a value that only its user knows."""
    return any(task.get(name, "") is None for name in ("path", "root"))


def verdict(config: DictConfig) -> Admission:
    """Puts one task to all tests.

    Raises:
        ConfigError: The configuration is wrong.
        FitnessError: The machine is broken.
    """
    check_settings(config)
    task, rng = make(config, "task"), stream(config.seed, 0, "admission")
    if not isinstance(task, KernelBench):
        admission = admit(task, rng)
        return Admission(admission.task, (*admission.checks, seed_check(build_problem(config))))
    admission = task.admission(rng)
    config.task.forced = True  # it has been examined
    problem = build_problem(config)
    if not _has_seed(problem):
        return admission
    return Admission(admission.task, (*admission.checks, seed_check(problem)))


def _has_seed(problem: Problem) -> bool:
    try:
        problem.task.seed_kernel(problem.language.name)
    except TaskError as fault:
        print(f"no seed kernel is tried: {fault}", file=sys.stderr)
        return False
    return True


def seed_check(problem: Problem) -> Check:
    """Whether the task's own kernel, an honest one in its declared type, passes the evaluator."""
    name = f"seed kernel in {problem.language.name} passes"
    try:
        problem.evaluator.calibrate()
    except TaskError as fault:
        return Check(name, False, faults.one_line(str(fault)))
    return Check(name, True)


def table_of(admissions: Sequence[Admission]) -> Table:
    """Returns every demand on one task, or one line a task when there are several."""
    if len(admissions) == 1:
        only = admissions[0]
        title = f"task {only.task}: {'fit for search' if only.admitted else 'NOT fit for search'}"
        table = Table("demand", "met", "reason", title=title, title_justify="left", title_style="bold")
        for check in only.checks:
            table.add_row(check.name, "yes" if check.passed else "NO", check.reason)
        return table
    table = Table("task", "demands met", "fit for search", "reasons", title="tasks", title_justify="left")
    for each in admissions:
        met = sum(check.passed for check in each.checks)
        table.add_row(
            each.task, f"{met} of {len(each.checks)}", "yes" if each.admitted else "NO", "\n".join(each.reasons)
        )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


class _Latest(logging.Handler):
    """Shows what was logged last behind what is being done."""

    def __init__(self, status: Status, doing: str) -> None:
        super().__init__()
        self._status, self._doing = status, doing

    def emit(self, record: logging.LogRecord) -> None:
        """Shows one record."""
        self._status.update(Text(f"{self._doing}: {record.getMessage()}"))


@contextmanager
def _told(task: str) -> Iterator[None]:
    """Tells which task is tried, and on a terminal how far it is: a problem of KernelBench may take minutes."""
    log, console, doing = logging.getLogger("kernelwright.fitness"), Console(stderr=True), f"trying {task}"
    if not console.is_terminal:
        print(doing, file=sys.stderr)
    with console.status(Text(doing)) as status:
        handler, before = _Latest(status, doing), log.level
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(before)


def _command(argv: Sequence[str]) -> int:
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.admit",
        description="Proves that a task is fit for search: what computes nothing fails, what is honest passes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own, others, config_dir = split(argv, parser, {"task": True})
    names = task_names(own["task"], config_dir)
    configs = [composed([f"task={name}", *others], config_dir) for name in names]
    admissions = []
    for name, config in zip(names, configs, strict=True):
        with _told(f"{name} {config.level}/{config.problem}" if "problem" in config else name):
            admissions.append(verdict(config))
    Console().print(table_of(admissions))
    return 0 if all(each.admitted for each in admissions) else FAILED


if __name__ == "__main__":
    sys.exit(main())
