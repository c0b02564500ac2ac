"""Softmax over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..task import Arrays, TensorSpec
from .activations import softmax, softmax_error
from .rounding import Floats
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

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 64, "N": 1024}, {"M": 512, "N": 127})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": softmax(float64(inputs["x"]))}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `softmax_error`."""
        return {"y": softmax_error(self.outputs["y"].dtype, float64(inputs["x"]))}

    def flops(self, axes: Mapping[str, int]) -> float:
        """A subtraction, an exponential, an addition and a multiplication an element."""
        return 4.0 * axes["M"] * axes["N"]
