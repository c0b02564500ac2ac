"""Which bucket each value falls into, among many sorted borders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..task import Arrays, TensorSpec, Workload
from .rounding import Floats
from .tensor_task import Sizes, TensorTask, float32

BUCKET_CHECKS: Sizes = tuple(
    {"N": n, "B": b}
    for n, b in (
        (1, 1),
        (1, 127),
        (127, 1),
        (3, 5),
        (31, 2),
        (33, 3),
        (509, 7),
        (64, 8),
        (65, 15),
        (63, 31),
        (128, 33),
        (257, 64),
        (1021, 10),
        (2047, 4),
        (1021, 2049),
    )
)
"""One value, one border, odd, block ± 1, many values and many borders."""


def sort_borders(x: NDArray[Any], borders: NDArray[Any], rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns copies in which borders ascend, some repeat another, and a fifth of the values hit one."""
    x, borders = x.copy(), borders.copy()
    repeated = rng.random(borders.size) < 0.1
    borders[repeated] = rng.choice(borders, int(repeated.sum()))
    equal = rng.random(x.size) < 0.2
    x[equal] = rng.choice(borders, int(equal.sum()))
    return x, np.sort(borders)


@dataclass(frozen=True)
class Bucketize(TensorTask):
    """``y[i]`` = number of borders below ``x[i]``; borders ascend and may repeat."""

    name: ClassVar[str] = "bucketize"
    description: ClassVar[str] = (
        "Bucket index of each of N values among B borders: y[i] (int32) = number of borders b with b < x[i]. "
        "The borders ascend and may repeat; a value equal to a border belongs below it. Exact."
    )
    axes: ClassVar[tuple[str, ...]] = ("N", "B")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("N"), "borders": float32("B")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": TensorSpec("int32", ("N",))}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}

    device_sizes: ClassVar[Sizes] = ({"N": 1 << 22, "B": 255}, {"N": 1 << 20, "B": 1000})
    time_sizes: Sizes = ({"N": 8192, "B": 255}, {"N": 3001, "B": 1000})
    check_sizes: Sizes = BUCKET_CHECKS

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Sorts the borders, repeats some of them, and lets a fifth of the values hit one exactly."""
        drawn = super().make_inputs(workload, rng)
        x, borders = sort_borders(drawn["x"], drawn["borders"], rng)
        return {"x": x, "borders": borders}

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Exactly, by binary search."""
        return {"y": np.searchsorted(inputs["borders"], inputs["x"], side="left").astype(np.int32)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Zero: an index is right or wrong."""
        return {"y": np.zeros(1)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """None: comparisons are not counted, and how many are needed depends on the data."""
        return 0.0
