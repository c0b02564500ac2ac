"""The best kernels of a finished sweep, judged once more under other conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from fitness import Evaluation, Kernel

from ..analysis.tables import load_sweep
from ..build import build_problem
from ..records import load_run
from ..replay import stored_config

if TYPE_CHECKING:
    import pandas as pd

Judge = Callable[[Kernel], Evaluation]


def judge(config: DictConfig) -> Judge:
    """Returns what judges kernels as a configuration says, each in a fresh process on hidden sizes.

    Raises:
        FitnessError: The machine or the task is broken.
    """
    evaluator = build_problem(config).evaluator
    calibration = evaluator.calibrate()
    return lambda kernel: evaluator.verify(kernel, calibration)


def finished_runs(sweep_dir: Path) -> Iterator[tuple[str, DictConfig, pd.DataFrame]]:
    """Yields each task of a sweep with the configuration of one of its runs, and a row for each finished run."""
    runs = load_sweep(sweep_dir).declared_part().runs
    for task, members in runs[runs["state"] == "finished"].groupby("task"):
        yield str(task), stored_config(sweep_dir / members["path"].iloc[0]), members


def judged_winners(sweep_dir: Path, runs: pd.DataFrame, judged: Judge, entry_point: str) -> Iterator[dict[str, Any]]:
    """Judges the best kernel of each run.

    Args:
        sweep_dir: Where the runs are.
        runs: Rows of the table of runs.
        judged: What judges.
        entry_point: Of the kernels.

    Yields:
        Arm, task, seed, what the search reported of the kernel, and status, speedup and log of the new verdict.
    """
    for row in runs.itertuples():
        found = load_run(sweep_dir / str(row.path))
        digest = found.best_digest
        if digest is None:
            continue
        evaluation = judged(Kernel(found.sources[digest], found.language, entry_point))
        yield {
            "arm": row.arm,
            "task": row.task,
            "seed": row.seed,
            "reported": row.verified if row.is_verified else row.best,
            "status": str(evaluation.status),
            "speedup": evaluation.speedup,
            "log": evaluation.log[:200],
        }
