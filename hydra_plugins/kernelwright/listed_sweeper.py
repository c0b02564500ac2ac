"""Jobs that are no product of anything: a sweep over a list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class ListedSweeper(Sweeper):
    """Hands all jobs of a list to the launcher at once.

    Args:
        jobs: A JSON file with a list of lists of overrides, also those of Hydra, e.g. ``hydra.sweep.subdir``.
    """

    def __init__(self, jobs: str) -> None:
        self._jobs = Path(jobs)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Makes the launcher."""
        self._launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Sequence[Any]:
        """Runs the jobs.

        Args:
            arguments: Overrides that all jobs share.

        Raises:
            Exception: What the first failed job raised, after the end of the last one.
        """
        jobs = [[*arguments, *job] for job in json.loads(self._jobs.read_text("utf-8"))]
        returns = self._launcher.launch(jobs, initial_job_idx=0)
        for each in returns:
            _ = each.return_value  # raises when the job failed
        return returns
