"""Search policies on recorded tuning spaces: ``python -m experiments.benchmarks.spaces FILE… --json OUT``.

An evaluation is one distinct configuration of the file, also when it fails; asking again is free, and what is not in
the file does not exist. Every policy runs through the engine, with the operators on declared tunables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evolve import json_text
from fitness import TaskError
from fitness.spaces import RecordedSpace

from .. import faults
from ..faults import ConfigError, choices
from ..records import write_whole
from ..wording import count_text
from . import kernel_tuner_peer
from .space_runs import POLICIES, best_so_far_ms
from .space_tables import FloatArray, Outcome, outcome, rows, table

_PEER = "kernel_tuner/"
"""How the names of the peer's strategies begin in records."""

_SAY_EVERY_S = 20.0

_tasks: list[RecordedSpace] = []
"""The spaces: read once, before the processes that search them are forked."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run.

    Attributes:
        policy: One of `POLICIES`, or a strategy of the peer with its prefix.
        place: Which of the files.
        repeat: Which run.
        budgets: That its curve is looked at with, ascending; the run has the largest.
    """

    policy: str
    place: int
    repeat: int
    budgets: tuple[int, ...]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    arguments = _arguments(argv)
    policies = [*arguments.policies]
    if arguments.peer:
        kernel_tuner_peer.check_strategies(arguments.strategies)
        policies += [f"{_PEER}{name}" for name in arguments.strategies]
    _check_output(arguments.json)
    console = Console(width=None if sys.stdout.isatty() else 120)
    files = [str(path) for path in arguments.files]
    _tasks[:] = [_read(path) for path in files]
    jobs = list(_jobs(policies, len(files), arguments.repeats, arguments.budgets))
    found: list[Outcome] = []
    for job, curve in _finished(jobs, arguments.seed, arguments.jobs, console):
        space = _tasks[job.place].space
        found += [outcome(space, files[job.place], job.policy, job.repeat, curve[:n]) for n in job.budgets]
    found.sort(key=lambda each: (policies.index(each.policy), files.index(each.file), each.budget, each.repeat))
    if arguments.json is not None:
        write_whole(arguments.json, (json_text([each.record() for each in found]) + "\n").encode())
    _show(found, files, arguments.seed, console)
    return 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.spaces",
        description="Compares search policies on recorded tuning spaces (Kernel Tuner's cache files).",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a recorded space, .json or .json.gz")
    add("--budgets", type=_budgets, default=(50, 100, 220), metavar="N,N", help="evaluations (default 50,100,220)")
    add("--repeats", type=_at_least(1), default=50, metavar="N", help="runs of each policy on each file (default 50)")
    add("--policies", type=_policies, default=tuple(POLICIES), metavar="A,B", help="default: all below")
    add("--json", type=Path, metavar="OUT", help="store a list of records, one a policy, file, budget and repeat")
    add("--seed", type=_at_least(0), default=0, help="of all randomness (default 0)")
    add("--jobs", type=_at_least(1), default=_processors(), help="processes at once (default: all processors)")
    add("--peer", choices=["kernel_tuner"], help="run the strategies of Kernel Tuner 1.5 beside ours")
    add(
        "--strategies",
        type=lambda text: tuple(filter(None, text.split(","))),
        default=(*kernel_tuner_peer.STRATEGIES, *kernel_tuner_peer.VARIANTS),
        metavar="A,B",
        help="with --peer: which (default: all that it ships, and some with options for small budgets)",
    )
    return parser.parse_args(argv)


def _epilog() -> str:
    ours = "\n".join(f"  {name:<20} {setup.about}" for name, setup in POLICIES.items())
    return (
        f"policies:\n{ours}\n\n"
        "fraction is optimum / best time found (0 if nothing valid was found), area its mean over\n"
        "evaluations 1 … budget, score the mean of Willemsen's score (1 is the optimum, 0 random search).\n"
        "In brackets: 95 % bootstrap intervals of the mean over files.\n\nexample:\n"
        "  python -m experiments.benchmarks.spaces gemm.json.gz --policies surrogate,random_sampling --repeats 10"
    )


def _budgets(text: str) -> tuple[int, ...]:
    try:
        found = sorted({int(each) for each in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(f"whole numbers separated by commas are expected, not {text!r}") from None
    if found[0] < 1:
        raise argparse.ArgumentTypeError(f"a budget must be at least 1, is {found[0]}")
    return tuple(found)


def _policies(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    for name in names:
        if name not in POLICIES:
            raise argparse.ArgumentTypeError(f"unknown policy {name!r}; {choices(name, list(POLICIES))}")
    return names


def _at_least(least: int) -> partial[int]:
    return partial(_whole, least)


def _whole(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least} is expected, not {text!r}")
    return int(text)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_output(path: Path | None) -> None:
    """Refuses before hours of work what could not be written after them.

    Raises:
        ConfigError: The folder is missing, or the path is one.
    """
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise ConfigError(f"--json: {path} cannot be written; give a file in a folder that exists")


def _read(path: str) -> RecordedSpace:
    """Reads a space.

    Raises:
        ConfigError: It is missing, or no complete cache file.
    """
    try:
        return RecordedSpace(path)
    except TaskError as fault:
        raise ConfigError(str(fault)) from fault


def _jobs(policies: Sequence[str], num_files: int, repeats: int, budgets: tuple[int, ...]) -> Iterator[Job]:
    """Yields what is to be run, one run for all budgets where the policy does not look at them."""
    for policy in policies:
        aware = policy.removeprefix(_PEER) in kernel_tuner_peer.BUDGET_AWARE
        for wanted in [(budget,) for budget in budgets] if aware else [budgets]:
            for place in range(num_files):
                for repeat in range(repeats):
                    yield Job(policy, place, repeat, wanted)


def run_job(job: Job, seed: int) -> FloatArray:
    """Runs one search; ``(budget,)`` best times in ms."""
    task, budget = _tasks[job.place], job.budgets[-1]
    if job.policy.startswith(_PEER):
        name = job.policy.removeprefix(_PEER)
        return kernel_tuner_peer.best_so_far_ms(task.space, name, budget, seed, job.repeat)
    return best_so_far_ms(task, job.policy, budget, seed, job.repeat)


def _finished(jobs: Sequence[Job], seed: int, num_processes: int, console: Console) -> Iterator[tuple[Job, FloatArray]]:
    """Runs all jobs, in processes if more than one is wanted, and yields them as they come to their end."""
    with _Told(console, len(jobs)) as told:
        if num_processes == 1 or "fork" not in multiprocessing.get_all_start_methods():
            for job in jobs:
                yield job, run_job(job, seed)
                told.one_more()
            return
        pool = ProcessPoolExecutor(min(num_processes, len(jobs)), mp_context=multiprocessing.get_context("fork"))
        try:
            running = {pool.submit(run_job, job, seed): job for job in jobs}
            told.start()
            for future in as_completed(running):
                yield running[future], future.result()
                told.one_more()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Told:
    """Progress with the time left: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn(), TimeRemainingColumn())
        self._console = console
        self._bar = Progress(*columns, console=console, transient=True) if console.is_terminal else None
        self._total, self._done = total, 0
        self._began = self._said = time.monotonic()
        self._task = self._bar.add_task("", total=total) if self._bar is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self) -> None:
        """Begins to show: after the processes were forked, since a bar has a thread."""
        if self._bar is not None:
            self._bar.start()

    def one_more(self) -> None:
        """Counts one run."""
        self._done += 1
        now = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif now - self._said >= _SAY_EVERY_S:
            self._said = now
            left_s = (now - self._began) * (self._total - self._done) / self._done
            print(
                f"{self._done} of {count_text(self._total, 'run')}, about {left_s:.0f} s left",
                file=sys.stderr,
                flush=True,
            )


def _show(found: Sequence[Outcome], files: Sequence[str], seed: int, console: Console) -> None:
    """Prints the mean over files, and each file's own table when there are several."""
    repeats = len({each.repeat for each in found})
    if len(files) > 1:
        for file in files:
            console.print(table(rows([each for each in found if each.file == file], seed), Path(file).name))
    console.print(
        table(rows(found, seed), f"mean over {count_text(len(files), 'file')}, {count_text(repeats, 'repeat')}")
    )


if __name__ == "__main__":
    sys.exit(main())
