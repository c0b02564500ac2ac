"""Root-mean-square normalisation of the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .activations import root_mean_square, root_mean_square_error
from .rounding import Floats, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64

EPSILON = 1e-6


@dataclass(frozen=True)
class RmsNorm(TensorTask):
    """``y[i, j] = x[i, j] / sqrt(mean_j(x²) + 1e-6) * w[j]``."""

    name: ClassVar[str] = "rms_norm"
    description: ClassVar[str] = (
        "Root-mean-square normalisation of every row of the M x N matrix x, scaled by w: "
        "y[i][j] = x[i][j] / sqrt((sum_j x[i][j]^2) / N + 1e-6) * w[j]. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N"), "w": float32("N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 512, "N": 1024}, {"M": 2003, "N": 100})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        x = float64(inputs["x"])
        return {"y": x / root_mean_square(x, EPSILON) * float64(inputs["w"])}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Relative to y: the root's error and two products."""
        dtype, x = self.outputs["y"].dtype, float64(inputs["x"])
        relative = root_mean_square_error(dtype, x, EPSILON) + 2 * unit_roundoff(dtype)
        # A flushed x / root loses up to the smallest normal number, which w may enlarge.
        flushed = smallest_normal(dtype) * (2 + np.abs(float64(inputs["w"])))
        return {"y": np.abs(float64(expected["y"])) * relative + flushed}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two for the mean square, two for the result, an element."""
        return 4.0 * axes["M"] * axes["N"]
