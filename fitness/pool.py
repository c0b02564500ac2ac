"""The secret inputs of a timed workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import sources_of
from .check import Instance, make_instance
from .task import Task, Workload

_ENTRIES = 4


@dataclass
class Pool:
    """Secret inputs of one timed workload, drawn once a run; every call gets its own multiple of one of them."""

    task: Task
    workload: Workload
    entries: tuple[Instance, ...]
    sources: Any = field(init=False)

    def __post_init__(self) -> None:
        self.sources = sources_of(self.task, [entry.inputs for entry in self.entries])

    @classmethod
    def draw(cls, task: Task, workload: Workload, rng: np.random.Generator) -> Pool:
        """Draws the entries."""
        return cls(task, workload, tuple(make_instance(task, workload, rng) for _ in range(_ENTRIES)))

    def inputs(self, entry: int, scales: Sequence[float]) -> dict[str, NDArray[Any]]:
        """Returns the very inputs that the driver wrote for a call."""
        drawn = {}
        for (name, array), scale in zip(self.entries[entry].inputs.items(), scales, strict=False):
            drawn[name] = array * array.dtype.type(scale) if array.dtype.name in ("float32", "float64") else array
        return drawn
