"""Which elements of a timed call's outputs are brought to the parent while others wait for the device."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..check import Instance
from ..task import Task

PARTS, LENGTH = 512, 128
"""What is taken of an output with more elements than their product: as many parts, of so many elements each.

Who leaves out the share ``f`` of an output stays unseen in ``(1 - f) ** PARTS`` of the judged calls: with a hundredth,
in 6 of 1,000, and several calls are judged. Larger outputs take longer to bring than to time (57 ms for 32 MiB,
measured on an H200).
"""


@dataclass(frozen=True)
class Sample:
    """Parts of outputs. Drawn after the call, so that no kernel can know where it will be looked at.

    Attributes:
        starts: By the name of an output, where its parts begin: indices into its elements, row by row. An output that
            is not named is taken whole.
    """

    starts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def draw(cls, task: Task, axes: Mapping[str, int]) -> Sample:
        """Draws one for a call with these sizes."""
        rng = np.random.default_rng(secrets.randbits(128))
        sizes = {name: math.prod(spec.extent(axes)) for name, spec in task.outputs.items()}
        return cls({n: rng.integers(0, s - LENGTH + 1, PARTS) for n, s in sizes.items() if s > PARTS * LENGTH})

    def message(self) -> dict[str, Any]:
        """Returns what the worker is told."""
        return {"starts": {name: starts.tolist() for name, starts in self.starts.items()}, "length": LENGTH}

    def shape(self, name: str, whole: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of what is taken of an output."""
        return (PARTS * LENGTH,) if name in self.starts else whole

    def of(self, instance: Instance) -> Instance:
        """Returns what must be found in it."""
        if not self.starts:
            return instance
        expected, tolerance = dict(instance.expected), dict(instance.tolerance)
        for name, starts in self.starts.items():
            whole = expected[name]
            chosen = np.unravel_index((starts[:, None] + np.arange(LENGTH)).reshape(-1), whole.shape)
            expected[name] = whole[chosen]
            tolerance[name] = np.broadcast_to(tolerance[name], whole.shape)[chosen]
        return replace(instance, expected=expected, tolerance=tolerance)
