"""A sweep that Optuna steers; hydra-optuna-sweeper 1.3.0 wants optuna<3."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

if TYPE_CHECKING:
    import optuna

log = logging.getLogger(__name__)

SAMPLERS = {
    "tpe": "TPESampler",
    "random": "RandomSampler",
    "cmaes": "CmaEsSampler",
    "nsgaii": "NSGAIISampler",
}
BEST = "best.json"


class OptunaSweeper(Sweeper):
    """Maximises what a job returns, the re-verified speedup, over the swept keys.

    ``mu=2,4,8`` is a choice, ``mu=range(2,17)`` or ``mu=int(interval(2,16))`` a whole number, ``x=interval(0,1)`` a
    real one; ``tag(log, int(interval(2,256)))`` is searched on a logarithmic scale.

    A job that fails, that ends without a speedup or with one that is no number is told to the study as failed; the
    sweep goes on. The study is kept in the sweep's folder, and the same command goes on with it.

    Args:
        trials: How many, with those of earlier attempts.
        at_once: Trials that are proposed together and launched as one batch.
        sampler: One of `SAMPLERS`.
        seed: Of the sampler.
        study: Its name; None for ``"optuna"``.
        storage: URL of Optuna's storage; None for a journal file in the sweep's folder.

    Raises:
        ConfigError: A value is out of range.
    """

    def __init__(
        self, *, trials: int, at_once: int, sampler: str, seed: int | None, study: str | None, storage: str | None
    ) -> None:
        from experiments.faults import ConfigError, choices

        if trials < 1 or at_once < 1:
            raise ConfigError("hydra.sweeper: trials and at_once must be at least 1")
        if sampler not in SAMPLERS:
            raise ConfigError(f"hydra.sweeper.sampler: unknown {sampler!r}; {choices(sampler, list(SAMPLERS))}")
        self._trials, self._at_once = trials, at_once
        self._sampler, self._seed = sampler, seed
        self._study, self._storage = study or "optuna", storage

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Makes the launcher."""
        self._sweep_dir = Path(str(config.hydra.sweep.dir))
        self._launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Asks, launches and tells until all trials are made.

        Raises:
            ConfigError: Nothing is swept over, or Optuna is missing.
            Exception: What the last trial raised, when not one of them came to a speedup.
        """
        from experiments.faults import ConfigError

        parsed = OverridesParser.create().parse_overrides(arguments)
        space = {each.get_key_element(): each for each in parsed if each.is_sweep_override()}
        fixed = [each.input_line or "" for each in parsed if not each.is_sweep_override()]
        if not space:
            raise ConfigError("hydra/sweeper=optuna: nothing is swept over; give e.g. mu=2,4,8 or 'mu=range(2,17)'")
        study = self._open()
        last: JobReturn | None = None
        while (begun := len(study.get_trials(deepcopy=False))) < self._trials:
            trials = [study.ask() for _ in range(min(self._at_once, self._trials - begun))]
            jobs = [[*fixed, *suggested(trial, space)] for trial in trials]
            for trial, last in zip(trials, self._launcher.launch(jobs, initial_job_idx=begun), strict=True):
                tell(study, trial, last)
        self._conclude(study, last)

    def _open(self) -> optuna.Study:
        """Opens the study of this folder, or begins it; trials that a killed sweep left open are failed.

        Raises:
            ConfigError: Optuna, or the package that a sampler needs, is missing.
        """
        from experiments.faults import ConfigError

        try:
            import optuna
        except ImportError:
            raise ConfigError("hydra/sweeper=optuna: needs Optuna; run pip install optuna") from None
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._sweep_dir.mkdir(parents=True, exist_ok=True)
        storage = self._storage or JournalStorage(JournalFileBackend(str(self._sweep_dir / "optuna.journal")))
        study = optuna.create_study(study_name=self._study, storage=storage, direction="maximize", load_if_exists=True)
        study.sampler = self._make_sampler(optuna.samplers, len(study.get_trials(deepcopy=False)))
        for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        return study

    def _make_sampler(self, samplers: Any, begun: int) -> Any:
        """Returns the sampler; after ``begun`` trials with another seed, or it would propose the first ones again.

        Raises:
            ConfigError: The package that it needs is missing.
        """
        from experiments.faults import ConfigError

        try:
            return getattr(samplers, SAMPLERS[self._sampler])(seed=None if self._seed is None else self._seed + begun)
        except ImportError as fault:
            raise ConfigError(f"hydra.sweeper.sampler={self._sampler}: {fault}") from fault

    def _conclude(self, study: optuna.Study, last: JobReturn | None) -> None:
        """Writes ``best.json`` and says what is in it; raises what the last job raised when there is nothing."""
        from experiments.faults import ConfigError

        done = [trial for trial in study.get_trials(deepcopy=False) if trial.value is not None]
        if not done:
            if last is not None:
                _ = last.return_value  # raises when the job failed
            raise ConfigError(f"hydra/sweeper=optuna: no trial in {self._sweep_dir} came to a speedup; see its run.log")
        best = study.best_trial
        record = {"job": best.number, "speedup": best.value, "overrides": best.user_attrs["overrides"]}
        (self._sweep_dir / BEST).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        log.info("best trial of %d: %s, %.3fx", len(done), " ".join(record["overrides"]), best.value)


def suggested(trial: optuna.Trial, space: Mapping[str, Override]) -> list[str]:
    """Returns the overrides of a trial, and notes them with it.

    Raises:
        ConfigError: Optuna cannot search these values, or the study was begun with others.
    """
    from experiments.faults import ConfigError

    chosen = []
    for key, override in space.items():
        try:
            chosen.append(f"{key}={_suggest(trial, key, override)}")
        except ValueError as fault:
            raise ConfigError(f"{override.input_line}: {fault}") from fault
    trial.set_user_attr("overrides", chosen)
    return chosen


def _suggest(trial: optuna.Trial, key: str, override: Override) -> Any:
    """Asks Optuna for a value of one swept key."""
    swept = override.value()
    if isinstance(swept, IntervalSweep):
        assert swept.start is not None
        assert swept.end is not None
        is_log = "log" in swept.tags
        if isinstance(swept.start, int) and isinstance(swept.end, int):
            return trial.suggest_int(key, swept.start, swept.end, log=is_log)
        return trial.suggest_float(key, swept.start, swept.end, log=is_log)
    if isinstance(swept, RangeSweep) and not swept.shuffle and _is_whole(swept):
        values = range(int(swept.start or 0), int(swept.stop or 0), int(swept.step))
        if values.step > 0 and values:
            return trial.suggest_int(key, values[0], values[-1], step=values.step)
    return trial.suggest_categorical(key, list(override.sweep_string_iterator()))


def _is_whole(swept: RangeSweep) -> bool:
    return all(float(each or 0).is_integer() for each in (swept.start, swept.stop, swept.step))


def tell(study: optuna.Study, trial: optuna.Trial, job: JobReturn) -> None:
    """Tells the study what became of a trial: a speedup, or that it failed."""
    from optuna.trial import TrialState

    value = job.return_value if job.status is JobStatus.COMPLETED else None
    if isinstance(value, int | float) and math.isfinite(value):
        study.tell(trial, float(value))
        return
    log.warning("trial %d failed: %s", trial.number, _why(job))
    study.tell(trial, state=TrialState.FAIL)


def _why(job: JobReturn) -> str:
    if job.status is JobStatus.COMPLETED:
        return f"it came to {job.return_value!r} instead of a speedup"
    return " ".join(str(job._return_value).split())
