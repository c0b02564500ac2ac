"""How far a whole sweep is, and what became of its jobs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from . import faults
from .analysis.tables import FAILURE
from .batches import Batch
from .experiment import Experiment
from .jobs import Job
from .records import json_object
from .wording import duration_text

RATE_AFTER = 0.02
"""Share of one job that must be done before a time left is guessed."""


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
    return str(json_object(job.run_dir / FAILURE).get("error", ""))


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
