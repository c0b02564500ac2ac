"""The runs of an experiment as jobs: what is still to do, and what became of each.

The folder of a job is named by arm, task and seed; whether it is done is read from its records, so
that a sweep that was killed goes on by the same command.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evolve import NO_LOCKS

from .analysis.arms import Placed, declared_jobs
from .analysis.tables import FAILURE, RESULT
from .experiment import Experiment
from .faults import RunError
from .records import write_json

SPENT = re.compile(rb'"evaluations":(\d+),"duels":\d+,"tokens":(\d+)')
TAIL_BYTES = 16_384
FAILURE_SCHEMA = "kernelwright.failure/1"
LOCK = ".lock"


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


def jobs_of(experiment: Experiment, sweep_dir: Path) -> list[Job]:
    """Returns all jobs, seed after seed, so that a sweep that is cut short is even over arms and tasks."""
    budget = [f"budget.{name}={value:.15g}" for name, value in experiment.budget.items()]
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


def quoted(path: Path) -> str:
    """Returns a path as a value of an override, whatever characters are in it."""
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


def keep_failure(run_dir: Path, error: str, exit_status: int, overrides: Sequence[str]) -> None:
    """Writes down why a run did not come to its end; of one that another process has finished meanwhile, nothing.

    Raises:
        OSError: The folder cannot be written.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    record = {"schema": FAILURE_SCHEMA, "exit_status": exit_status, "error": error, "overrides": list(overrides)}
    write_json(run_dir / FAILURE, record)
    # Whoever finishes a run writes its result first and then removes a failure. So a failure that came too late for
    # that finds the result here.
    if (run_dir / RESULT).exists():
        (run_dir / FAILURE).unlink(missing_ok=True)


@contextmanager
def alone(sweep_dir: Path) -> Iterator[None]:
    """Keeps other sweeps out of a folder, until this one ends, however it ends.

    Raises:
        RunError: Another sweep is at work there.
        OSError: The folder cannot be written.
    """
    sweep_dir.mkdir(parents=True, exist_ok=True)
    with (sweep_dir / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            raise RunError(
                f"{sweep_dir}: another sweep is at work in this folder; wait for it, or use another hydra.sweep.dir"
            ) from fault
        except OSError as fault:
            if fault.errno not in NO_LOCKS:
                raise
        yield
