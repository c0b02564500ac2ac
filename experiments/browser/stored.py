"""The small files of a run directory: how it was configured, where it ran, and how it ended."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..analysis.tables import FAILURE, RESULT
from ..faults import RunError, one_line
from .root import Root

FAULTS = (
    RunError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
    zlib.error,
    yaml.YAMLError,
)
"""What a damaged record may raise while it is read."""


@dataclass(frozen=True)
class Facts:
    """What the small files say; empty where there is no file.

    Attributes:
        config: ``config.yaml``.
        config_text: The same as it is stored.
        environment: ``environment.json``.
        result: ``result.json``, which a run that came to its end leaves.
        failure: ``failed.json``, which a sweep leaves for a job that failed.
        problems: What could not be read, a line each.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    config_text: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    failure: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def choices(self) -> Mapping[str, str]:
        """Which member of each configuration group was chosen."""
        found = self.environment.get("choices")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def read_facts(root: Root, run_dir: Path, *, with_config: bool = True) -> Facts:
    """Reads the small files of a run; never raises for what is in them.

    Args:
        root: What may be opened.
        run_dir: Inside the root.
        with_config: Whether ``config.yaml`` is read, too; parsing it takes longest.
    """
    problems: list[str] = []

    def read(name: str, parse: Callable[[str], Any]) -> tuple[dict[str, Any], str]:
        try:
            text = root.read(run_dir / name).decode()
            found = parse(text)
            if not isinstance(found, dict):
                raise RunError("holds no mapping")
        except FileNotFoundError:
            return {}, ""
        except FAULTS as fault:
            problems.append(f"{name}: {told(fault)}")
            return {}, ""
        return found, text

    config, config_text = read("config.yaml", _yaml) if with_config else ({}, "")
    environment, result, failure = (read(name, json.loads)[0] for name in ("environment.json", RESULT, FAILURE))
    return Facts(config, config_text, environment, result, failure, tuple(problems))


def told(fault: BaseException) -> str:
    """Returns what is wrong with a record, in one line."""
    if isinstance(fault, KeyError):
        return f"a record lacks {fault}"
    if isinstance(fault, RecursionError):
        return "a record is nested too deep"
    if isinstance(fault, OSError):
        return one_line(str(fault.strerror or fault))
    return one_line(str(fault))[:300]


def _yaml(text: str) -> Any:
    """Reads YAML without references, with which a few lines can stand for a document that fills the memory."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
        raise RunError("uses references, which no run writes")
    return yaml.load(text, Loader=loader)
