"""A small recorded space, written in Kernel Tuner's cache format."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

PARAMETERS: dict[str, list[Any]] = {
    "block": [16, 32, 64, 128],
    "tile": [1, 2, 4],
    "unroll": [0, 1],
    "layout": ["row", "column"],
    "fixed": [15],
}


def exists(block: int, tile: int, unroll: int, layout: str, fixed: int) -> bool:
    return block * tile <= 256 and not (unroll and tile == 1)


def time_ms(block: int, tile: int, unroll: int, layout: str, fixed: int) -> float | str:
    """The optimum is (64, 2, 1, "column", 15), at 1 ms."""
    if layout == "row" and block == 128:
        return "CompilationFailedConfig"
    if tile == 4 and block == 16:
        return "RuntimeFailedConfig"
    cost = 1.0 + abs(block / 64 - 1) + 0.5 * abs(tile - 2) + 0.25 * (1 - unroll)
    return cost * (1.0 if layout == "column" else 1.5)


def write_space(path: Path) -> Path:
    """Writes the space, with two samples a time that are 2 % apart."""
    entries = {}
    for values in itertools.product(*PARAMETERS.values()):
        if exists(*values):
            time = time_ms(*values)
            entry: dict[str, Any] = {**dict(zip(PARAMETERS, values, strict=True)), "time": time, "timestamp": "now"}
            if isinstance(time, float):
                entry["times"] = [0.99 * time, 1.01 * time]
            entries[",".join(map(str, values))] = entry
    content = {
        "device_name": "Board",
        "kernel_name": "toy",
        "tune_params_keys": list(PARAMETERS),
        "tune_params": PARAMETERS,
        "cache": entries,
    }
    path.write_text(json.dumps(content))
    return path
