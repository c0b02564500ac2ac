"""An id for every value: bucketize, clamp, gather and where in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..task import Arrays, TensorSpec, Workload
from .bucketize import BUCKET_CHECKS, sort_borders
from .rounding import Floats
from .tensor_task import Sizes, TensorTask, float32


@dataclass(frozen=True)
class MapId(TensorTask):
    """Bucketize, clamp, gather and where in one: an id for every value."""

    name: ClassVar[str] = "map_id"
    description: ClassVar[str] = (
        "Maps each of N values to an id: with n = number of borders b with b < x[i] (borders ascend and may repeat), "
        "y[i] (int32) = -1 where x[i] == 0, else ids[min(n, B - 1)]. borders and ids (int32) have B elements. Exact."
    )
    axes: ClassVar[tuple[str, ...]] = ("N", "B")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        "x": float32("N"),
        "borders": float32("B"),
        "ids": TensorSpec("int32", ("B",)),
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": TensorSpec("int32", ("N",))}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}

    device_sizes: ClassVar[Sizes] = ({"N": 1 << 22, "B": 200}, {"N": 1 << 20, "B": 777})
    time_sizes: Sizes = ({"N": 8192, "B": 200}, {"N": 3001, "B": 777})
    check_sizes: Sizes = BUCKET_CHECKS

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Values that hit borders, and a tenth of zeros; ids are not in order."""
        drawn = super().make_inputs(workload, rng)
        x, borders = sort_borders(drawn["x"], drawn["borders"], rng)
        x[rng.random(x.size) < 0.1] = 0.0
        return {"x": x, "borders": borders, "ids": rng.integers(0, 1 << 20, borders.size, dtype=np.int32)}

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Exactly, by binary search."""
        bucket = np.searchsorted(inputs["borders"], inputs["x"], side="left")
        mapped = inputs["ids"][np.minimum(bucket, len(inputs["ids"]) - 1)]
        return {"y": np.where(inputs["x"] == 0, np.int32(-1), mapped)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Zero: an id is right or wrong."""
        return {"y": np.zeros(1)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """None: how many comparisons are needed depends on the data."""
        return 0.0
