"""Prefix sums of the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats, sum_error
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class PrefixSum(TensorTask):
    """``y[i, j] = sum_{k <= j} x[i, k]``."""

    name: ClassVar[str] = "prefix_sum"
    description: ClassVar[str] = (
        "Inclusive prefix sum along every row of the M x N matrix x: y[i][j] = x[i][0] + ... + x[i][j]. "
        "Any order of summation is allowed. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 256, "N": 512}, {"M": 203, "N": 1009})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": np.cumsum(float64(inputs["x"]), axis=1)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` for the j + 1 terms of each element."""
        x = float64(inputs["x"])
        length = np.arange(1.0, x.shape[1] + 1)
        magnitude, norm = np.cumsum(np.abs(x), axis=1), np.sqrt(np.cumsum(np.square(x), axis=1))
        return {"y": sum_error(self.outputs["y"].dtype, length, float64(expected["y"]), magnitude, norm)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """An addition an element."""
        return 1.0 * axes["M"] * axes["N"]
