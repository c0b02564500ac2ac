"""Bucketising feature by feature, with a few borders each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..task import Arrays, TensorSpec, Workload
from .bucketize import sort_borders
from .rounding import Floats
from .tensor_task import Sizes, TensorTask, float32


@dataclass(frozen=True)
class MultiBucketize(TensorTask):
    """A dense matrix whose every feature has a few borders of its own (MBDT)."""

    name: ClassVar[str] = "multi_bucketize"
    description: ClassVar[str] = (
        "Multi-feature bucketised dense transform: x is N x F, borders is F x B, ascending in every row, with repeats; "
        "y[i][f] (int32) = number of borders b in row f with b < x[i][f]. B is small, 3 to 10 as a rule. Exact."
    )
    axes: ClassVar[tuple[str, ...]] = ("N", "F", "B")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("N", "F"), "borders": float32("F", "B")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": TensorSpec("int32", ("N", "F"))}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}
    hidden_limit: ClassVar[int] = 60

    device_sizes: ClassVar[Sizes] = ({"N": 1 << 17, "F": 32, "B": 8}, {"N": 65537, "F": 67, "B": 5})
    time_sizes: Sizes = ({"N": 2048, "F": 32, "B": 8}, {"N": 1009, "F": 67, "B": 5})
    check_sizes: Sizes = tuple(
        {"N": n, "F": f, "B": b}
        for n, f, b in (
            (1, 1, 1),
            (1, 127, 3),
            (127, 1, 10),
            (3, 5, 7),
            (31, 33, 4),
            (32, 32, 8),
            (33, 31, 1),
            (65, 63, 3),
            (1021, 3, 9),
            (257, 31, 64),
        )
    )

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """As in `Bucketize`, feature by feature."""
        drawn = super().make_inputs(workload, rng)
        pairs = [sort_borders(x, row, rng) for x, row in zip(drawn["x"].T, drawn["borders"], strict=True)]
        x = np.ascontiguousarray(np.stack([pair[0] for pair in pairs], axis=1))
        return {"x": x, "borders": np.stack([pair[1] for pair in pairs])}

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Exactly, by counting."""
        below = inputs["borders"][None, :, :] < inputs["x"][:, :, None]
        return {"y": below.sum(axis=2, dtype=np.int32)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Zero: an index is right or wrong."""
        return {"y": np.zeros((1, 1))}

    def flops(self, axes: Mapping[str, int]) -> float:
        """None: comparisons are not counted."""
        return 0.0
