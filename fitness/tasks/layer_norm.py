"""Layer normalisation of the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats, row_sum_error, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64

EPSILON = 1e-5


@dataclass(frozen=True)
class LayerNorm(TensorTask):
    """``y[i, j] = (x[i, j] - mean_i) / sqrt(var_i + 1e-5) * gamma[j] + beta[j]``."""

    name: ClassVar[str] = "layer_norm"
    description: ClassVar[str] = (
        "Layer normalisation of every row of the M x N matrix x: y[i][j] = (x[i][j] - mean_i) / sqrt(var_i + 1e-5) * "
        "gamma[j] + beta[j], where var_i is the mean squared deviation (divided by N). Rows may have a mean a thousand "
        "times their deviation, so E[x^2] - mean^2 is not accurate enough. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        "x": float32("M", "N"),
        "gamma": float32("N"),
        "beta": float32("N"),
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 256, "N": 768}, {"M": 1201, "N": 100})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        deviation, scale = _deviation(inputs)
        return {"y": deviation * scale * float64(inputs["gamma"]) + float64(inputs["beta"])}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The mean's error moves every element; the variance's error scales them.

        An error e of the mean (a sum, divided by N, and one rounding) shifts all deviations by e and,
        to second order, adds e² to the variance. The variance is a sum of squares with its own
        rounding; its relative error enters by half. 12 u pay for the subtraction, the root, the
        division and the products.
        """
        dtype = self.outputs["y"].dtype
        u, x = unit_roundoff(dtype), float64(inputs["x"])
        gamma, beta = float64(inputs["gamma"]), float64(inputs["beta"])
        deviation, scale = _deviation(inputs)
        squares = np.square(deviation)
        shift = row_sum_error(dtype, x) / x.shape[1] + 2 * u * np.abs(x).max(axis=1, keepdims=True)
        spread = row_sum_error(dtype, squares) / x.shape[1] + 4 * u * squares.mean(axis=1, keepdims=True) + shift**2
        relative = 12 * u + spread * scale**2
        error = np.abs(gamma) * scale * (shift + np.abs(deviation) * relative)
        return {"y": error + 2 * u * (np.abs(float64(expected["y"])) + np.abs(beta)) + 4 * smallest_normal(dtype)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two additions for the mean and deviation, two for the variance, three for the result."""
        return 7.0 * axes["M"] * axes["N"]


def _deviation(inputs: Arrays) -> tuple[Floats, Floats]:
    """Deviations from the row's mean, ``(M, N)``, and reciprocal standard deviations, ``(M, 1)``."""
    x = float64(inputs["x"])
    deviation = x - x.mean(axis=1, keepdims=True)
    scale = 1.0 / np.sqrt(np.square(deviation).mean(axis=1, keepdims=True) + EPSILON)
    return deviation, scale
