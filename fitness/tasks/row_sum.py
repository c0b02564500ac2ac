"""Sums of the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..task import Arrays, TensorSpec
from .rounding import Floats, row_sum_error
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class RowSum(TensorTask):
    """``y[i] = sum_j x[i, j]``."""

    name: ClassVar[str] = "row_sum"
    description: ClassVar[str] = (
        "Sum of every row of the M x N matrix x into the vector y of M elements: y[i] = sum_j x[i][j]. "
        "Any order of summation is allowed. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M")}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 512, "N": 1024}, {"M": 4001, "N": 101})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": float64(inputs["x"]).sum(axis=1)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` for N terms."""
        return {"y": row_sum_error(self.outputs["y"].dtype, float64(inputs["x"]))[:, 0]}

    def flops(self, axes: Mapping[str, int]) -> float:
        """An addition an element."""
        return 1.0 * axes["M"] * axes["N"]
