"""From overrides on a command line to a checked configuration, without starting a Hydra job."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig

from .faults import ConfigError, choices

VERSION_BASE = "1.3"

BENCHMARK = {"level", "problem", "root"}
"""Keys that ``task=kernelbench`` adds: which problem of which checkout."""


def composed(overrides: Sequence[str], config_dir: Path | None = None) -> DictConfig:
    """Returns the configuration that ``experiments.run`` would use for these overrides.

    Args:
        overrides: As on a command line, e.g. ``["task=softmax", "seed=3"]``.
        config_dir: A folder of a user's own with further members of the groups.

    Raises:
        ConfigError: A group is set to null.
        HydraException: An override names something that does not exist.
    """
    check_groups(overrides)
    with _initialized():
        return compose("config", overrides=[*search_path(config_dir), *overrides])


def search_path(config_dir: Path | None) -> list[str]:
    """Returns the override of Hydra's that has it look for members of the groups in a folder too, if there is one."""
    return [] if config_dir is None else [f"hydra.searchpath=['file://{config_dir.resolve()}']"]


def take_folder(parser: argparse.ArgumentParser) -> None:
    """Gives a command the option that names a folder of a user's own, as ``config_dir``; spelt as Hydra spells it."""
    told = "a folder of your own with further tasks, targets, operators …"
    parser.add_argument("--config-dir", "-cd", type=Path, metavar="FOLDER", help=told)


def check_folder(config_dir: Path | None) -> None:
    """Refuses a folder of a user's own that is none.

    Raises:
        ConfigError: It is not there.
    """
    if config_dir is not None and not config_dir.is_dir():
        raise ConfigError(f"--config-dir: {config_dir} is not a folder")


def composed_hydra(overrides: Sequence[str]) -> DictConfig:
    """Returns the configuration of Hydra itself: its launcher, its sweeper.

    Args:
        overrides: Of Hydra's own keys, e.g. ``["hydra/launcher=ray"]``.

    Raises:
        HydraException: An override names something that does not exist.
    """
    with _initialized():
        config: DictConfig = compose("config", overrides=[*overrides], return_hydra_config=True).hydra
        return config


def _initialized() -> AbstractContextManager[None]:
    """Makes Hydra find our configuration, whatever was initialised before."""
    GlobalHydra.instance().clear()
    return initialize_config_module(config_module="conf", version_base=VERSION_BASE)


def check_groups(arguments: Sequence[str]) -> None:
    """Refuses ``GROUP=null`` among the arguments of a command, for which Hydra has a traceback only.

    Raises:
        ConfigError: A group is set to null; the message names its members.
    """
    groups = _groups(_main())
    for argument in arguments:
        group, _, value = argument.partition("=")
        if value == "null" and group in groups:
            members = [path.name.removesuffix(".yaml") for path in (files("conf") / group).iterdir()]
            raise ConfigError(f"{argument}: a group cannot be null; {choices('none', members)}")


def known_keys() -> set[str]:
    """Returns what may stand at the top level: the keys of ``config.yaml``, the groups that it lists, `BENCHMARK`."""
    main = _main()
    return {str(key) for key in main if key != "defaults"} | _groups(main) | BENCHMARK


def _main() -> dict[str, Any]:
    """Returns ``config.yaml`` as it is written."""
    main: dict[str, Any] = yaml.safe_load((files("conf") / "config.yaml").read_text(encoding="utf-8"))
    return main


def _groups(main: Mapping[str, Any]) -> set[str]:
    """Returns the groups that ``config.yaml`` lists, without those of Hydra itself."""
    names = {str(name) for entry in main["defaults"] if isinstance(entry, dict) for name in entry}
    return {name.rpartition("@")[2] for name in names if "/" not in name}


def command_line(
    argv: Sequence[str], parser: argparse.ArgumentParser, keys: Mapping[str, bool]
) -> tuple[dict[str, str], DictConfig]:
    """Splits ``key=value`` arguments into a command's own keys and the configuration's.

    Args:
        argv: Without the program's name.
        parser: For ``--help`` and ``--config-dir``.
        keys: The command's own keys; True where one must be given.

    Returns:
        The command's own values, and the configuration of everything else.

    Raises:
        ConfigError: A required key is missing, or an argument is no ``key=value``.
        HydraException: An override names something that does not exist.
    """
    own, overrides, config_dir = split(argv, parser, keys)
    return own, composed(overrides, config_dir)


def split(
    argv: Sequence[str], parser: argparse.ArgumentParser, keys: Mapping[str, bool]
) -> tuple[dict[str, str], list[str], Path | None]:
    """Does the same as `command_line` without composing: returns own values, overrides and the user's folder.

    Raises:
        ConfigError: A required key is missing, or an argument is no ``key=value``.
    """
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="any key of the configuration, e.g. task=softmax"
    )
    take_folder(parser)
    arguments = parser.parse_intermixed_args(argv)
    check_folder(arguments.config_dir)
    own: dict[str, str] = {}
    overrides = []
    for argument in arguments.overrides:
        key, equals, value = argument.partition("=")
        if not equals and key.lstrip("+~") == key:
            raise ConfigError(f"cannot read {argument!r}; write key=value; {choices(key, list(keys))}")
        if key in keys:
            own[key] = value
        else:
            overrides.append(argument)
    missing = [key for key, required in keys.items() if required and not own.get(key)]
    if missing:
        raise ConfigError(f"{missing[0]}: missing; give {' '.join(f'{key}=…' for key in missing)}, see --help")
    return own, overrides, arguments.config_dir
