"""Hydra jobs on a Ray cluster.

hydra-ray-launcher 1.2.2 wants cloudpickle<3, and ends a sweep when one of its jobs is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, configure_log, filter_overrides, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

log = logging.getLogger(__name__)


class RayLauncher(Launcher):
    """Makes every job a Ray task. A job that fails, or whose node is lost too often, takes no other along.

    Args:
        address: Of the cluster's head; None for ``$RAY_ADDRESS``, this machine's cluster, or a new one.
        num_cpus: Processors that a job reserves.
        num_gpus: GPUs that a job reserves; Ray makes them the only ones that it sees.
        resubmissions: How often a job whose node is lost is given to another one.
    """

    def __init__(self, address: str | None, num_cpus: float, num_gpus: float, resubmissions: int) -> None:
        self._address = address
        self._options: dict[str, Any] = {"num_cpus": num_cpus, "num_gpus": num_gpus, "max_retries": resubmissions}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keeps what jobs are made of."""
        self._context, self._task, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Runs jobs and waits for all of them.

        Raises:
            ToolchainError: Ray is not installed.
            TargetUnavailable: No cluster answers.
        """
        from fitness.executors import connected

        setup_globals()
        configure_log(self._config.hydra.hydra_logging, self._config.hydra.verbose)
        sweep_dir = Path(str(self._config.hydra.sweep.dir))
        sweep_dir.mkdir(parents=True, exist_ok=True)
        log.info("number of jobs for Ray: %d, sweep output dir: %s", len(job_overrides), sweep_dir)
        with connected(self._address, log_to_driver=True):
            import ray

            remote: Any = ray.remote(_run)
            remote = remote.options(**self._options)
            shared = ray.put((self._context, self._task, Singleton.get_state()))
            tasks = []
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                log.info("\t#%d : %s", number, " ".join(filter_overrides(overrides)))
                tasks.append(remote.remote(shared, self._job_config(number, overrides)))
            return [_answer(task, overrides) for task, overrides in zip(tasks, job_overrides, strict=True)]

    def _job_config(self, number: int, overrides: Sequence[str]) -> DictConfig:
        config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = number
        return config


def _run(shared: tuple[HydraContext, TaskFunction, Any], config: DictConfig) -> JobReturn:
    """Runs one job; called by Ray, in a process of a node."""
    context, task, singletons = shared
    setup_globals()
    Singleton.set_state(singletons)
    HydraConfig.instance().set_config(config)
    return run_job(
        hydra_context=context,
        task_function=task,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )


def _answer(task: Any, overrides: Sequence[str]) -> JobReturn:
    """Waits for a job; one that Ray gave up is a failed job."""
    import ray

    try:
        answer: JobReturn = ray.get(task)
    except ray.exceptions.RayError as error:
        answer = JobReturn(overrides=overrides, status=JobStatus.FAILED)
        answer.return_value = error
        return answer
    return answer
