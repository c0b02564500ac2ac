"""A 3 x 3 stencil on a grid with zeros outside."""

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
class Stencil2d(TensorTask):
    """``y[i, j] = sum_{p, q} w[p, q] x[i + p - 1, j + q - 1]``, zeros outside."""

    name: ClassVar[str] = "stencil2d"
    description: ClassVar[str] = (
        "A 3 x 3 stencil on the M x N grid x: y[i][j] = sum over p, q in 0..2 of w[p][q] * x[i + p - 1][j + q - 1], "
        "where x is 0 outside the grid. w has 9 elements, row by row. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N"), "w": float32(3, 3)}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 384, "N": 384}, {"M": 307, "N": 401})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": _apply(float64(inputs["x"]), float64(inputs["w"]))}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` for nine products."""
        x, w = float64(inputs["x"]), float64(inputs["w"])
        magnitude, norm = _apply(np.abs(x), np.abs(w)), np.sqrt(_apply(np.square(x), np.square(w)))
        return {"y": sum_error(self.outputs["y"].dtype, 9, float64(expected["y"]), magnitude, norm)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Nine multiplications and eight additions inside the grid."""
        return 17.0 * max(axes["M"] - 2, 0) * max(axes["N"] - 2, 0)


def _apply(x: Floats, w: Floats) -> Floats:
    rows, columns = x.shape
    padded = np.pad(x, 1)
    shifted = (w[p, q] * padded[p : p + rows, q : q + columns] for p in range(3) for q in range(3))
    return sum(shifted, np.zeros((rows, columns)))
