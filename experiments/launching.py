"""Launchers and sweepers of Hydra that need more than Hydra, and how to get it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from omegaconf import OmegaConf

from .composition import composed_hydra
from .faults import ConfigError, RunError, one_line
from .settings import check_node

NEEDS = {
    "hydra/launcher=joblib": ("hydra_plugins.hydra_joblib_launcher", "hydra-joblib-launcher"),
    "hydra/launcher=submitit_local": ("hydra_plugins.hydra_submitit_launcher", "hydra-submitit-launcher"),
    "hydra/launcher=submitit_slurm": ("hydra_plugins.hydra_submitit_launcher", "hydra-submitit-launcher"),
    "hydra/launcher=ray": ("ray", "'ray>=2.40'"),
    "hydra/sweeper=optuna": ("optuna", "optuna"),
}
"""The module that each one is in, and what to install."""
OURS = "hydra_plugins.kernelwright."


def check_launchers(arguments: Sequence[str]) -> None:
    """Refuses a launcher or sweeper that this environment or this machine does not have.

    Args:
        arguments: Of a command line.

    Raises:
        ConfigError: Something is not installed; the message says what to run. Or a setting of it is of the wrong type.
        HydraException: A setting does not exist.
    """
    for argument in arguments:
        module, package = NEEDS.get(argument, ("hydra", ""))
        if not _is_there(module):
            raise ConfigError(f"{argument}: is not installed; run pip install {package}")
        if argument == "hydra/launcher=submitit_slurm" and shutil.which("srun") is None:
            raise ConfigError(f"{argument}: there is no Slurm here (no srun); submitit_local runs on this machine")
    if not {"hydra/launcher=ray", "hydra/sweeper=optuna"}.isdisjoint(arguments):
        _check_ours(arguments)


def _check_ours(arguments: Sequence[str]) -> None:
    """Compares the settings of our own launchers and sweepers with what they take.

    Raises:
        ConfigError: A key is unknown, or a value is of the wrong type.
        HydraException: An override names something that does not exist.
    """
    hydra = composed_hydra([each for each in arguments if each.startswith(("hydra/", "hydra."))])
    for name in ("launcher", "sweeper"):
        if str(hydra[name].get("_target_")).startswith(OURS):
            node = OmegaConf.to_container(hydra[name], resolve=True)
            assert isinstance(node, dict)
            check_node(f"hydra.{name}", {str(key): value for key, value in node.items()})


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def launcher_faults() -> Iterator[None]:
    """Lets a launcher's own errors through as one line: a refused submission, a killed worker, a study out of reach.

    Raises:
        RunError: The launcher or the sweeper failed, not a job of it.
    """
    try:
        yield
    except Exception as fault:
        if type(fault).__module__.partition(".")[0] not in ("joblib", "submitit", "optuna", "sqlalchemy"):
            raise
        raise RunError(f"the launcher or sweeper failed: {one_line(str(fault))}") from fault
