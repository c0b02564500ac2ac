"""From the configuration of a run to its tracker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..build import make
from .tracker import Tracker


def begun(config: DictConfig, run_dir: Path) -> Tracker | None:
    """Makes the tracker that a configuration chooses and begins the run with it; None where it chooses none.

    Raises:
        ConfigError: What the tracker needs is not installed, or its settings cannot be used.
        OSError: It cannot write.
    """
    if not config.get("tracking"):
        return None
    tracker: Tracker = make(config, "tracking")
    tracker.begin(run_dir, dict(_flat(OmegaConf.to_container(config, resolve=True), "")))
    return tracker


def _flat(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields dotted names and values of a nested mapping."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, str(node)
