"""Gradients of root-mean-square normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .activations import root_mean_square, root_mean_square_error
from .rms_norm import EPSILON
from .rounding import Floats, row_sum_error, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class RmsNormBackward(TensorTask):
    """Gradients of `RmsNorm` in x and w, given those in y."""

    name: ClassVar[str] = "rms_norm_backward"
    description: ClassVar[str] = (
        "Backward pass of RMS normalisation. With r[i] = 1 / sqrt((sum_j x[i][j]^2) / N + 1e-6) and "
        "c[i] = sum_j dy[i][j] * w[j] * x[i][j]: dx[i][j] = r[i] * (dy[i][j] * w[j] - x[i][j] * r[i]^2 * c[i] / N), "
        "dw[j] = sum_i dy[i][j] * x[i][j] * r[i]. x, dy and dx are M x N, w and dw have N elements. "
        "Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        "dy": float32("M", "N"),
        "x": float32("M", "N"),
        "w": float32("N"),
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"dx": float32("M", "N"), "dw": float32("N")}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e8, "tiny": 1e-8}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 512, "N": 512}, {"M": 2003, "N": 67})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        scaled, pull, columns = _terms(inputs)
        return {"dx": scaled - pull, "dw": columns.sum(axis=0)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Both terms of dx carry the error of r, once and three times; c and dw are sums with errors of their own."""
        dtype = self.outputs["dx"].dtype
        u, x = unit_roundoff(dtype), float64(inputs["x"])
        scaled, pull, columns = _terms(inputs)
        relative = root_mean_square_error(dtype, x, EPSILON)
        products = float64(inputs["dy"]) * float64(inputs["w"]) * x
        reciprocal = 1.0 / root_mean_square(x, EPSILON)
        c_error = (row_sum_error(dtype, products) + 2 * u * np.abs(products).sum(axis=1, keepdims=True)) / x.shape[1]
        dx = np.abs(scaled) * (relative + 4 * u) + np.abs(pull) * (3 * relative + 8 * u)
        dx += np.abs(x) * reciprocal**3 * c_error + 8 * smallest_normal(dtype) * (1 + reciprocal**3)
        carried = np.abs(columns) * (relative + 3 * u)
        probable = 4 * np.sqrt(np.square(carried).sum(axis=0))
        dw = row_sum_error(dtype, columns.T)[:, 0] + np.minimum(carried.sum(axis=0), probable)
        return {"dx": dx, "dw": dw + x.shape[0] * smallest_normal(dtype) * reciprocal.max()}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two for the mean square, three for c, four for dx and three for dw, an element."""
        return 12.0 * axes["M"] * axes["N"]


def _terms(inputs: Arrays) -> tuple[Floats, Floats, Floats]:
    """The two terms of dx and the terms that dw sums, each ``(M, N)``."""
    dy, x, w = (float64(inputs[name]) for name in ("dy", "x", "w"))
    r = 1.0 / root_mean_square(x, EPSILON)
    c = (dy * w * x).mean(axis=1, keepdims=True)
    return dy * w * r, x * r**3 * c, dy * x * r
