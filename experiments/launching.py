"""Launchers and sweepers of Hydra that need more than Hydra, and how to get it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from .faults import ConfigError, RunError, one_line

NEEDS = {
    "hydra/launcher=joblib": ("hydra_plugins.hydra_joblib_launcher", "hydra-joblib-launcher"),
    "hydra/launcher=submitit_local": ("hydra_plugins.hydra_submitit_launcher", "hydra-submitit-launcher"),
    "hydra/launcher=submitit_slurm": ("hydra_plugins.hydra_submitit_launcher", "hydra-submitit-launcher"),
    "hydra/launcher=ray": ("ray", "'ray>=2.40'"),
    "hydra/sweeper=optuna": ("optuna", "optuna"),
}
"""The module that each one is in, and what to install."""


def check_launchers(arguments: Sequence[str]) -> None:
    """Refuses a launcher or sweeper that this environment or this machine does not have.

    Args:
        arguments: Of a command line.

    Raises:
        ConfigError: Something is not installed; the message says what to run.
    """
    for argument in arguments:
        module, package = NEEDS.get(argument, ("hydra", ""))
        if not _is_there(module):
            raise ConfigError(f"{argument}: is not installed; run pip install {package}")
        if argument == "hydra/launcher=submitit_slurm" and shutil.which("srun") is None:
            raise ConfigError(f"{argument}: there is no Slurm here (no srun); submitit_local runs on this machine")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def launcher_faults() -> Iterator[None]:
    """Lets a launcher's own errors through as one line: a refused submission, a killed worker.

    Raises:
        RunError: The launcher failed, not a job of it.
    """
    try:
        yield
    except Exception as fault:
        if type(fault).__module__.partition(".")[0] not in ("joblib", "submitit"):
            raise
        raise RunError(f"the launcher failed: {one_line(str(fault))}") from fault
