"""What a Hydra sweep needs beside Hydra: directories that never clash, and a check before the first job."""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from yaml import YAMLError

from .analysis.tables import FAILURE, RESULT
from .composition import composed, take_folder
from .faults import ConfigError, RunError, one_line
from .jobs import quoted
from .records import json_object
from .settings import check_settings

started: list[Path] = []
"""Directories of the sweeps that this process has begun."""


def register_resolvers() -> None:
    """Defines ``${unique:}``: six hex digits that two runs in the same second do not share.

    Like Hydra's ``${now:}`` it is drawn once a command and handed on to every job of a sweep.
    """
    OmegaConf.register_new_resolver("unique", lambda: secrets.token_hex(3), use_cache=True, replace=True)


class SweepStart(Callback):
    """Takes note of the sweeps that Hydra begins; an exception in a callback would only be a warning to Hydra."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Keeps the directory, and gives it to all jobs as it is: processes of a launcher do not know `unique`."""
        sweep_dir = Path(str(config.hydra.sweep.dir))
        started.append(sweep_dir)
        config.hydra.overrides.hydra.append(f"hydra.sweep.dir={quoted(sweep_dir)}")


def check_sweep(argv: Sequence[str]) -> None:
    """Composes and checks every value of a sweep before its first job starts; does nothing for a single run.

    Hydra composes a job when its turn comes: a misspelt name in the last one would be found hours
    later, and take the jobs after it along. Each value is checked once, with the first value of
    all other keys.

    Raises:
        ConfigError: A value is of the wrong type or out of range.
        HydraException: An override names something that does not exist.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--multirun", "-m", action="store_true")
    take_folder(parser)
    given, unknown = parser.parse_known_intermixed_args(argv)
    if not given.multirun or unknown:
        return
    columns = [_values(override) for override in OverridesParser.create().parse_overrides(given.overrides)]
    first = [column[0] for column in columns]
    check_settings(composed(first, given.config_dir))
    for index, column in enumerate(columns):
        for value in column[1:]:
            check_settings(composed([*first[:index], value, *first[index + 1 :]], given.config_dir))


def _values(override: Override) -> list[str]:
    """Returns an override for each value, of an interval or a range for both ends; itself when it sweeps over none.

    Raises:
        ConfigError: It sweeps over nothing.
    """
    if not override.is_sweep_override():
        return [override.input_line or ""]
    key, swept = override.get_key_element(), override.value()
    if isinstance(swept, IntervalSweep):
        return [f"{key}={value}" for value in (swept.start, swept.end)]
    found = _ends(swept) if isinstance(swept, RangeSweep) else list(override.sweep_string_iterator())
    if not found:
        raise ConfigError(f"{override.input_line}: holds no value; give e.g. {key}=2,4 or {key}=range(2,17)")
    return [f"{key}={value}" for value in found]


def _ends(swept: RangeSweep) -> list[float]:
    """Returns the first and the last value of a range, which may have millions; none where there is none."""
    start, stop, step = swept.start or 0, swept.stop or 0, swept.step
    count = math.ceil((stop - start) / step) if step else 0
    return [start, start + (count - 1) * step][:count] if count > 0 else []


def summarise(sweep_dir: Path, console: Console) -> None:
    """Prints what became of every job of a sweep."""
    jobs = sorted((path for path in sweep_dir.glob("*/") if path.name.isdigit()), key=lambda path: int(path.name))
    if not jobs:
        return
    table = Table(title=f"sweep {sweep_dir}", title_justify="left", title_style="bold")
    for name in ("job", "task", "seed", "in the search", "re-verified", "ended by"):
        table.add_column(name)
    for job in jobs:
        table.add_row(job.name, *_job_cells(job))
    console.print(table)


def _job_cells(job: Path) -> tuple[str, ...]:
    """Returns the cells of one job after its name."""
    try:
        environment, result, failure = (json_object(job / name) for name in ("environment.json", RESULT, FAILURE))
        config = OmegaConf.load(job / "config.yaml") if (job / "config.yaml").exists() else OmegaConf.create({})
    except (RunError, YAMLError) as fault:
        return ("?", "?", "", "", f"unreadable: {one_line(str(fault))}")
    what = (str(environment.get("choices", {}).get("task", "?")), str(OmegaConf.select(config, "seed", default="?")))
    if not result:
        error = failure.get("error")
        return (*what, "", "", f"failed: {error}" if error else f"not finished, see {job / 'run.log'}")
    verified = result["verification"]
    speedups = (result["best"]["speedup"], verified["speedup"] if verified is not None else None)
    return (*what, *(f"{each:.2f}×" if each is not None else "–" for each in speedups), str(result["ended"]))


if __name__ == "__main__":
    from .sweep_command import main

    sys.exit(main())
