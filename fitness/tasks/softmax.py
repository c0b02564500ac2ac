"""Softmax over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats, row_sum_error, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class Softmax(TensorTask):
    """``y[i, j] = exp(x[i, j] - max_i) / sum_j exp(x[i, j] - max_i)``."""

    name: ClassVar[str] = "softmax"
    description: ClassVar[str] = (
        "Softmax of every row of the M x N matrix x: y[i][j] = exp(x[i][j] - max_j x[i][j]) / "
        "sum_j exp(x[i][j] - max_j x[i][j]). Inputs may be as large as 1e15, so the maximum must be subtracted. "
        "Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}
    distributions: ClassVar[tuple[str, ...]] = (*TensorTask.distributions, "extreme")

    time_sizes: Sizes = ({"M": 64, "N": 1024}, {"M": 512, "N": 127})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        x = float64(inputs["x"])
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return {"y": powers / powers.sum(axis=1, keepdims=True)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Relative to y: the exponent's rounding, an ``exp`` of 4 ulp, the sum, the division.

        ``x - max`` is rounded once, or twice where exp2 is used: ``4 u |x - max|`` relative after
        ``exp``. The sum carries the same errors, weighted by y. 64 u pays for ``exp`` (8 u each in
        numerator and sum), the division or the reciprocal (3 u), and the rescalings of a running
        maximum (about ln N of them at 8 u). Below the smallest normal number a result may be 0.
        """
        dtype = self.outputs["y"].dtype
        u, y, x = unit_roundoff(dtype), float64(expected["y"]), float64(inputs["x"])
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        distance = np.minimum(x.max(axis=1, keepdims=True) - x, 104.0)
        spread = (y * distance).sum(axis=1, keepdims=True)
        total = row_sum_error(dtype, powers) / powers.sum(axis=1, keepdims=True)
        return {"y": y * (4 * u * (distance + spread) + 64 * u + total) + 2 * smallest_normal(dtype)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """A subtraction, an exponential, an addition and a multiplication an element."""
        return 4.0 * axes["M"] * axes["N"]
