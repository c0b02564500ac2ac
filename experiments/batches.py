"""Working through jobs: one process for each, or one Hydra multirun for all of them, whose launcher spreads them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from .analysis.tables import FAILURE
from .jobs import Job, keep_failure, quoted
from .records import write_json

CONSOLE = "console.log"
LISTED = "jobs.json"
LAST_BYTES = 65_536
"""Of a console's output, in which a run says why it failed."""
POLL_S = 0.2
GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs that one process works through.

    Attributes:
        jobs: One for a plain run, several for a Hydra multirun.
        overrides: That are of this machine and not of the experiment, e.g. ``gpus=[0,1]`` or Hydra's launcher.
        sweep_dir: Of the experiment; None for a plain run.
    """

    jobs: tuple[Job, ...]
    overrides: tuple[str, ...] = ()
    sweep_dir: Path | None = None

    @property
    def console(self) -> Path:
        """Where the output of the process goes."""
        return (self.sweep_dir or self.jobs[0].run_dir) / CONSOLE

    @property
    def argv(self) -> tuple[str, ...]:
        """Arguments of ``python -m experiments.run``."""
        if self.sweep_dir is None:
            (job,) = self.jobs
            return (*job.overrides, *self.overrides, f"hydra.run.dir={quoted(job.run_dir)}")
        listed = quoted(self.sweep_dir / LISTED)
        sweeper = ("hydra/sweeper=listed", f"hydra.sweeper.jobs={listed}", f"hydra.sweep.dir={quoted(self.sweep_dir)}")
        return ("-m", *self.overrides, *sweeper)

    def prepare(self) -> None:
        """Makes what the process will look for.

        Raises:
            OSError: It cannot be written.
        """
        for job in self.jobs:
            (job.run_dir / FAILURE).unlink(missing_ok=True)
        self.console.parent.mkdir(parents=True, exist_ok=True)
        if self.sweep_dir is not None:
            listed = [[*job.overrides, f"hydra.sweep.subdir={quoted(Path(job.name))}"] for job in self.jobs]
            write_json(self.sweep_dir / LISTED, listed)


def plain_batches(jobs: Sequence[Job], overrides: Sequence[str] = ()) -> list[Batch]:
    """Returns one process for each job."""
    return [Batch((job,), tuple(overrides)) for job in jobs]


def multirun_batch(jobs: Sequence[Job], sweep_dir: Path, overrides: Sequence[str]) -> list[Batch]:
    """Returns one Hydra multirun over all jobs; none when there are no jobs.

    Args:
        jobs: What is to be done.
        sweep_dir: Of the experiment.
        overrides: Of Hydra's own, e.g. ``["hydra/launcher=joblib"]``.
    """
    return [Batch(tuple(jobs), tuple(overrides), sweep_dir)] if jobs else []


@dataclass(slots=True)
class Running:
    """A batch at work."""

    batch: Batch
    process: subprocess.Popen[bytes]
    output: BinaryIO


def run_batches(
    batches: Sequence[Batch],
    at_once: int,
    watch: Callable[[Sequence[Batch]], None],
    command: Sequence[str] = (sys.executable, "-m", "experiments.run"),
) -> None:
    """Works through all batches; what fails is recorded in its folder and holds nothing up.

    When it is interrupted, the processes at work are asked to end and every answer is kept.

    Args:
        batches: In this order.
        at_once: Processes.
        watch: Told several times a second what is at work.
        command: What runs a batch.

    Raises:
        OSError: A folder cannot be written.
    """
    waiting = deque(batches)
    running: list[Running] = []
    try:
        while waiting or running:
            _start_some(waiting, at_once, running, command)
            watch([each.batch for each in running])
            time.sleep(POLL_S)
            for each in [each for each in running if each.process.poll() is not None]:
                running.remove(each)
                each.output.close()
                waiting.extend(_left_over(each))
        watch([])
    finally:
        _stop(running)


def _start_some(waiting: deque[Batch], at_once: int, running: list[Running], command: Sequence[str]) -> None:
    """Starts what can be started now, in order."""
    for _ in range(len(waiting)):
        if len(running) >= at_once:
            break
        batch = waiting.popleft()
        left = tuple(job for job in batch.jobs if job.state != "finished")
        # What a killed sweep left running is waited for: it will finish its job.
        taken = tuple(job for job in left if job.is_taken())
        if taken:
            waiting.append(replace(batch, jobs=taken))
        if free := tuple(job for job in left if job not in taken):
            running.append(_start(replace(batch, jobs=free), command))


def _start(batch: Batch, command: Sequence[str]) -> Running:
    """Starts the process of a batch, in a session of its own, so that it is stopped by us alone."""
    batch.prepare()
    output = batch.console.open("wb")
    process = subprocess.Popen(
        [*command, *batch.argv],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return Running(batch, process, output)


def _stop(running: Sequence[Running]) -> None:
    """Asks processes to end, and ends those that do not."""
    for each in running:
        each.process.send_signal(signal.SIGTERM)
    end_s = time.monotonic() + GRACE_S
    for each in running:
        try:
            each.process.wait(max(0.0, end_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()
        each.output.close()


def _left_over(ended: Running) -> list[Batch]:
    """Records what failed in a batch that has ended; returns what is to be launched again.

    A job that another process turned out to be at work on has not failed, and is waited for. A launcher whose worker is
    killed may give up all its jobs. They are launched again together as long as each attempt brings one of them to an
    end of its own; then those that had begun, of which one must be the culprit, alone.
    """
    batch, status = ended.batch, ended.process.returncode
    left = tuple(job for job in batch.jobs if job.state not in ("finished", "failed"))
    taken = tuple(job for job in left if job.is_taken())
    jobs = tuple(job for job in left if job not in taken)
    begun = tuple(job for job in jobs if job.state == "unfinished")
    again = [taken]
    if len(left) < len(batch.jobs):
        again.append(jobs)
    elif begun and len(jobs) > 1:
        again += [*((job,) for job in begun), tuple(job for job in jobs if job not in begun)]
    else:
        for job in jobs:
            words = _last_words(job.run_dir / "run.log", batch.console, status)
            keep_failure(job.run_dir, words, status, job.overrides)
    return [replace(batch, jobs=each) for each in again if each]


def _last_words(log: Path, console: Path, exit_status: int) -> str:
    """Returns the line in which a run said why it failed."""
    said = [line for line in _lines(console) if line.strip()]
    errors = [line.removeprefix("error:").strip() for line in said if line.startswith("error:")]
    if errors:
        return errors[-1]
    if exit_status < 0:
        return f"ended by signal {-exit_status}"
    logged = [line for line in _lines(log) if line.strip()]
    return (said or logged or [f"ended with exit status {exit_status}"])[-1].strip()


def _lines(path: Path) -> Iterator[str]:
    """Yields the last lines of a text file, however long it is; nothing where there is none."""
    if path.exists():
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            yield from file.read().decode("utf-8", errors="replace").splitlines()
