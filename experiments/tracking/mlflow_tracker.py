"""MLflow: a local folder of files by default, or any tracking server."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve import Generation
from fitness import Evaluation

from ..faults import ConfigError
from .tracker import figures, final_figures

_RUN_FILE = "mlflow_run.txt"
_LONGEST_PARAMETER = 500
_PARAMETERS_AT_ONCE = 100


class MlflowTracker:
    """Logs every generation as a step of one MLflow run; a resumed run goes on with it.

    Args:
        tracking_uri: ``file:FOLDER``, ``sqlite:///FILE`` or the address of a server.
        experiment: Name of the experiment; made when it is absent.
    """

    def __init__(self, tracking_uri: str = "file:mlruns", experiment: str = "kernelwright") -> None:
        self._uri = tracking_uri
        self._experiment = experiment
        self._client: Any = None
        self._run = ""
        self._logged = -1

    def begin(self, run_dir: Path, settings: Mapping[str, str]) -> None:
        """Opens the MLflow run that belongs to a run directory.

        Raises:
            ConfigError: MLflow is not installed, or the address cannot be used.
        """
        if self._uri.startswith("file:"):
            # Newer versions prefer a database and refuse folders of files unless told that they are meant.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        try:
            from mlflow import MlflowClient
            from mlflow.exceptions import MlflowException
        except ImportError as fault:
            raise ConfigError("tracking=mlflow: needs MLflow; run pip install mlflow-skinny") from fault
        try:
            self._client = MlflowClient(tracking_uri=self._uri)
            self._open(run_dir, settings)
        except MlflowException as fault:
            raise ConfigError(f"tracking.tracking_uri: {self._uri} cannot be used: {fault}") from fault

    def generation(self, generation: Generation) -> None:
        """Logs the figures of a generation, unless an earlier attempt did."""
        if generation.index > self._logged:
            self._log(figures(generation), generation.index)
            self._logged = generation.index

    def end(self, ended: str, verification: Evaluation | None) -> None:
        """Logs the verification and closes the MLflow run."""
        self._log(final_figures(verification), self._logged)
        self._client.set_tag(self._run, "kernelwright.ended", ended)
        self._client.set_terminated(self._run)

    def _open(self, run_dir: Path, settings: Mapping[str, str]) -> None:
        known = run_dir / _RUN_FILE
        if known.is_file():
            self._run = known.read_text(encoding="utf-8").strip()
            history = self._client.get_metric_history(self._run, "evaluations")
            self._logged = max((metric.step for metric in history), default=-1)
            self._client.update_run(self._run, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(self._experiment)
        number = experiment.experiment_id if experiment else self._client.create_experiment(self._experiment)
        tags = {"kernelwright.run_dir": str(run_dir)}
        self._run = self._client.create_run(number, run_name=run_dir.name, tags=tags).info.run_id
        self._log_settings(settings)
        known.write_text(f"{self._run}\n", encoding="utf-8")

    def _log_settings(self, settings: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        parameters = [Param(name, value[:_LONGEST_PARAMETER]) for name, value in settings.items()]
        for start in range(0, len(parameters), _PARAMETERS_AT_ONCE):
            self._client.log_batch(self._run, params=parameters[start : start + _PARAMETERS_AT_ONCE])

    def _log(self, found: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now_ms = int(time.time() * 1000)
        self._client.log_batch(self._run, metrics=[Metric(name, value, now_ms, step) for name, value in found.items()])
