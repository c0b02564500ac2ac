"""The runs of an experiment as jobs: what is still to do, doing it side by side, and what became of each.

A job is a process of its own, so that no failure takes others along. Its folder is named by arm,
task and seed; whether it is done is read from its records, so that a sweep that was killed goes on
by the same command.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .analysis.arms import Placed, declared_jobs
from .analysis.tables import FAILURE, RESULT
from .experiment import Experiment
from .records import write_whole

CONSOLE = "console.log"
POLL_S = 0.2
GRACE_S = 30.0
SPENT = re.compile(rb'"evaluations":(\d+),"duels":\d+,"tokens":(\d+)')
TAIL_BYTES = 16_384
FAILURE_SCHEMA = "kernelwright.failure/1"


@dataclass(frozen=True, slots=True)
class Job:
    """One run of an experiment.

    Attributes:
        placed: Its arm, task and seed.
        run_dir: Where it goes.
        overrides: Of the configuration, without the folder.
    """

    placed: Placed
    run_dir: Path
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        """Arm, task and seed."""
        return f"{self.placed.arm}/{self.placed.task}/seed_{self.placed.seed}"

    @property
    def state(self) -> str:
        """``"finished"``, ``"failed"``, ``"unfinished"`` or ``"pending"``, as its folder tells."""
        if (self.run_dir / RESULT).exists():
            return "finished"
        if (self.run_dir / FAILURE).exists():
            return "failed"
        return "unfinished" if self.run_dir.exists() else "pending"

    def is_taken(self) -> bool:
        """Returns whether another process is at work in the folder."""
        try:
            with (self.run_dir / "journal.jsonl").open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def progress(self, budget: Mapping[str, float]) -> float:
        """Returns how much of its budget a run has spent, between 0 and 1."""
        try:
            with (self.run_dir / "generations.jsonl").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                found = SPENT.findall(file.read())
        except OSError:
            return 0.0
        if not found:
            return 0.0
        spent = dict(zip(("evaluations", "tokens"), map(int, found[-1]), strict=True))
        return min(1.0, max((spent[name] / budget[name] for name in spent if budget.get(name)), default=0.0))


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs that one process works through.

    Attributes:
        jobs: One for a plain run, several for a Hydra multirun.
        argv: Arguments of ``python -m experiments.run``.
        console: Where its output goes.
    """

    jobs: tuple[Job, ...]
    argv: tuple[str, ...]
    console: Path


def jobs_of(experiment: Experiment, sweep_dir: Path) -> list[Job]:
    """Returns all jobs, seed after seed, so that a sweep that is cut short is even over arms and tasks."""
    budget = [f"budget.{name}={value:g}" for name, value in experiment.budget.items()]
    given = (*experiment.overrides, *(override for arm in experiment.arms.values() for override in arm))
    if budget and not any(override.startswith("generations=") for override in given):
        budget.append("generations=null")  # the budget ends the run, not a number of generations
    return [
        Job(
            placed,
            sweep_dir / path,
            (
                *experiment.overrides,
                *budget,
                *experiment.tasks[placed.task],
                *experiment.arms[placed.arm],
                f"seed={placed.seed}",
            ),
        )
        for path, placed in declared_jobs(experiment).items()
    ]


def plain_batches(jobs: Sequence[Job]) -> list[Batch]:
    """Returns one process for each job."""
    return [
        Batch((job,), (*job.overrides, f"hydra.run.dir={quoted(job.run_dir)}"), job.run_dir / CONSOLE) for job in jobs
    ]


def multirun_batches(jobs: Sequence[Job], sweep_dir: Path, launcher: Sequence[str]) -> list[Batch]:
    """Returns a Hydra multirun over seeds for each arm and task.

    Args:
        jobs: What is to be done.
        sweep_dir: Of the experiment.
        launcher: Overrides of Hydra's own, e.g. ``["hydra/launcher=joblib"]``.
    """
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.placed.arm, job.placed.task), []).append(job)
    batches = []
    for (arm, task), members in groups.items():
        seeds = ",".join(str(job.placed.seed) for job in members)
        folder = sweep_dir / arm / task
        argv = (
            "-m",
            *members[0].overrides[:-1],
            f"seed={seeds}",
            *launcher,
            f"hydra.sweep.dir={quoted(folder)}",
            "hydra.sweep.subdir=seed_${seed}",
        )
        batches.append(Batch(tuple(members), argv, folder / CONSOLE))
    return batches


def quoted(path: Path) -> str:
    """Returns a path as a value of an override, whatever characters are in it."""
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


@dataclass(slots=True)
class Running:
    """A batch at work in a place of its own."""

    batch: Batch
    process: subprocess.Popen[bytes]
    output: BinaryIO
    place: Mapping[str, str]


def run_batches(
    batches: Sequence[Batch],
    places: Sequence[Mapping[str, str]],
    watch: Callable[[Sequence[Batch]], None],
    command: Sequence[str] = (sys.executable, "-m", "experiments.run"),
) -> None:
    """Works through all batches; what fails is recorded in its folder and holds nothing up.

    When it is interrupted, the processes at work are asked to end and every answer is kept.

    Args:
        batches: In this order.
        places: Environment of each process that may run at once, e.g. one for every device.
        watch: Told several times a second what is at work.
        command: What runs a batch.

    Raises:
        OSError: A folder cannot be written.
    """
    waiting, free = deque(batches), list(places)
    running: list[Running] = []
    try:
        while waiting or running:
            _start_some(waiting, free, running, command)
            watch([each.batch for each in running])
            time.sleep(POLL_S)
            for each in [each for each in running if each.process.poll() is not None]:
                running.remove(each)
                free.append(each.place)
                each.output.close()
                _record_failures(each)
        watch([])
    finally:
        _stop(running)


def _start_some(
    waiting: deque[Batch], free: list[Mapping[str, str]], running: list[Running], command: Sequence[str]
) -> None:
    """Starts what can be started now, in order."""
    for _ in range(len(waiting)):
        if not free:
            break
        batch = waiting.popleft()
        if all(job.state == "finished" for job in batch.jobs):
            continue
        # What a killed sweep left running is waited for: it will finish its job.
        if any(job.is_taken() for job in batch.jobs):
            waiting.append(batch)
        else:
            running.append(_start(batch, free.pop(), command))


def _start(batch: Batch, place: Mapping[str, str], command: Sequence[str]) -> Running:
    """Starts the process of a batch, in a session of its own, so that it is stopped by us alone."""
    for job in batch.jobs:
        (job.run_dir / FAILURE).unlink(missing_ok=True)
    batch.console.parent.mkdir(parents=True, exist_ok=True)
    output = batch.console.open("wb")
    process = subprocess.Popen(
        [*command, *batch.argv],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **place},
        start_new_session=True,
    )
    return Running(batch, process, output, place)


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


def _record_failures(ended: Running) -> None:
    """Writes down why jobs of a batch did not come to their end."""
    for job in ended.batch.jobs:
        if job.state == "finished":
            continue
        job.run_dir.mkdir(parents=True, exist_ok=True)
        record = {
            "schema": FAILURE_SCHEMA,
            "exit_status": ended.process.returncode,
            "error": _last_words(job.run_dir / "run.log", ended.batch.console, ended.process.returncode),
            "overrides": list(job.overrides),
        }
        write_whole(job.run_dir / FAILURE, (json.dumps(record, indent=1) + "\n").encode())


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
    """Yields the last lines of a text file; nothing where there is none."""
    if path.exists():
        yield from path.read_text("utf-8", errors="replace").splitlines()[-200:]
