"""Transpose of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class Transpose(TensorTask):
    """``y[j, i] = x[i, j]``."""

    name: ClassVar[str] = "transpose"
    description: ClassVar[str] = (
        "Transpose of the M x N matrix x into the N x M matrix y: y[j][i] = x[i][j]. "
        "Row-major, contiguous; every element is copied exactly."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("N", "M")}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e30, "tiny": 1e-30}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 512, "N": 512}, {"M": 1201, "N": 801})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """Exactly."""
        return {"y": float64(inputs["x"]).T.copy()}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Zero: a copy has no rounding."""
        return {"y": np.zeros((1, 1))}

    def flops(self, axes: Mapping[str, int]) -> float:
        """None."""
        return 0.0
