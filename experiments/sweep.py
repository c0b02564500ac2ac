"""What a Hydra sweep needs beside Hydra: directories that never clash, and a check before the first job."""

from __future__ import annotations

import secrets
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from .composition import composed
from .settings import check_settings


def register_resolvers() -> None:
    """Defines ``${unique:}``: six hex digits that two runs in the same second do not share.

    Like Hydra's ``${now:}`` it is drawn once a command and handed on to every job of a sweep.
    """
    OmegaConf.register_new_resolver("unique", lambda: secrets.token_hex(3), use_cache=True, replace=True)


class SweepCheck(Callback):
    """Composes and checks every value of a sweep before its first job starts.

    A misspelt name in the last job would otherwise be found hours later, and take the jobs after
    it along.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Checks each value once, with the first value of all other keys.

        Raises:
            ConfigError: A value is of the wrong type or out of range.
            HydraException: An override names something that does not exist.
        """
        parsed = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
        columns = []
        for override in parsed:
            if override.is_sweep_override() and override.is_discrete_sweep():
                key = override.get_key_element()
                columns.append([f"{key}={value}" for value in override.sweep_string_iterator()])
            elif not override.is_sweep_override():
                columns.append([override.input_line or ""])
        first = [column[0] for column in columns]
        check_settings(composed(first))
        for index, column in enumerate(columns):
            for value in column[1:]:
                check_settings(composed([*first[:index], value, *first[index + 1 :]]))
