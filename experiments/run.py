"""One run, or with ``-m`` a sweep: ``python -m experiments.run task=softmax seed=3``.

The console script ``kernelwright`` is the same command.
"""

from __future__ import annotations

import logging
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from evolve import JournalLocked, JournalMismatch
from llm import LLMError

from . import faults
from .analysis.tables import FAILURE
from .attempt import attempt
from .composition import VERSION_BASE, check_groups
from .devices import own_gpu
from .jobs import keep_failure
from .launching import check_launchers, launcher_faults
from .names import DISTRIBUTION, check_import_names
from .settings import check_settings
from .sweep import check_sweep, register_resolvers, started, summarise

log = logging.getLogger(__name__)


def main() -> int:
    """Runs the command and returns its exit status."""
    return faults.main(_command)


def _command() -> int:
    """Starts Hydra, and sums up what it started."""
    check_import_names()
    register_resolvers()
    _check_flags(sys.argv[1:])
    check_groups(sys.argv[1:])
    check_launchers(sys.argv[1:])
    check_sweep(sys.argv[1:])
    try:
        with launcher_faults():
            job()
    finally:
        for sweep_dir in started:
            summarise(sweep_dir, Console())
    return 0


def _check_flags(arguments: Sequence[str]) -> None:
    """Refuses flags of Hydra that need another one, for which it has a traceback only.

    Raises:
        ConfigError: The other one is missing.
    """
    shows = any(each.startswith(("--cfg", "-c", "--help", "--hydra-help")) for each in arguments)
    for flag in ("--resolve", "--package", "-p"):
        if flag in arguments and not shows:
            raise faults.ConfigError(f"{flag}: only together with --cfg job, which shows the configuration")


@hydra.main(version_base=VERSION_BASE, config_path="pkg://conf", config_name="config")
def job(config: DictConfig) -> float | None:
    """One job: a whole run.

    Returns:
        The re-verified speedup, which a sweeper may maximise; None when there is none.

    Raises:
        SystemExit: A single run failed, and the reason was told.
        Exception: A run of a sweep failed, one of `faults.KNOWN`; Hydra goes on with the next one.
    """
    run_dir = _relative(Path(HydraConfig.get().runtime.output_dir))
    (run_dir / FAILURE).unlink(missing_ok=True)
    try:
        check_settings(config)
        with _log_file(run_dir / "run.log"), own_gpu(config.get("gpus")):
            return attempt(config, _choices(), run_dir, Console())
    except (KeyboardInterrupt, faults.Terminated):
        print(f"\nstopped; every answer so far is kept. Go on with:\n  {resume_command()}", file=sys.stderr)
        raise
    except faults.KNOWN as fault:
        message, status = faults.explain(fault)
        print(f"error: {message}", file=sys.stderr)
        _keep(run_dir, fault, message, status)
        if _sweeps():
            raise
        if isinstance(fault, LLMError):
            print(f"everything so far is kept. Go on with:\n  {resume_command()}", file=sys.stderr)
        sys.exit(status)


def _keep(run_dir: Path, fault: Exception, message: str, status: int) -> None:
    """Writes down why a run failed, unless what stands in the folder is another run."""
    if isinstance(fault, JournalLocked) or (isinstance(fault, JournalMismatch) and not _sweeps()):
        return
    overrides: Any = OmegaConf.to_container(HydraConfig.get().overrides.task)  # as typed, ${…} too
    with suppress(OSError):  # a full disk; it was told on the screen
        keep_failure(run_dir, message, status, overrides)


def resume_command() -> str:
    """Returns the command that goes on with this run, or with this sweep."""
    settings = HydraConfig.get()
    key, folder = (
        ("hydra.sweep.dir", str(settings.sweep.dir)) if _sweeps() else ("hydra.run.dir", str(settings.run.dir))
    )
    given = [each for each in sys.argv[1:] if not each.startswith(("hydra.run.dir=", "hydra.sweep.dir="))]
    name = Path(sys.argv[0]).name
    program = [name] if name == DISTRIBUTION else ["python", "-m", "experiments.run"]
    return shlex.join([*program, *given, f"{key}={_quoted(folder)}"])


def _quoted(value: str) -> str:
    """Returns a value as Hydra's grammar takes it, in which many characters must stand in quotes."""
    if re.fullmatch(r"[A-Za-z0-9_./@+-]+", value):
        return value
    return "'" + value.replace("'", r"\'") + "'"


def _sweeps() -> bool:
    """Returns whether this is a sweep."""
    return HydraConfig.get().mode is RunMode.MULTIRUN


def _choices() -> dict[str, str]:
    """Returns which member of each of our configuration groups was chosen."""
    chosen = HydraConfig.get().runtime.choices
    return {str(key): str(value) for key, value in chosen.items() if not str(key).startswith("hydra/")}


def _relative(path: Path) -> Path:
    """Returns a path as a person in the current folder would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


class _RunLog(logging.FileHandler):
    """A log that a full disk silences: what happened is told on the screen anyway."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  named by logging
        """Says nothing."""


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    """Keeps what the libraries log, and why a run failed, in the run's own folder.

    Raises:
        OSError: The folder cannot be written.
    """
    handler = _RunLog(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    except Exception:
        log.info("the run failed", exc_info=True)
        raise
    finally:
        root.removeHandler(handler)
        with suppress(OSError):
            handler.close()


if __name__ == "__main__":
    sys.exit(main())
