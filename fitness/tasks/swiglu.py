"""SwiGLU: a gate through SiLU, times a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class SwiGlu(TensorTask):
    """``y = gate / (1 + exp(-gate)) * up``."""

    name: ClassVar[str] = "swiglu"
    description: ClassVar[str] = (
        "SwiGLU of two M x N matrices: y[i][j] = gate[i][j] / (1 + exp(-gate[i][j])) * up[i][j]. "
        "Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"gate": float32("M", "N"), "up": float32("M", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 256, "N": 512}, {"M": 803, "N": 101})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": _silu(float64(inputs["gate"])) * float64(inputs["up"])}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Relative: an ``exp`` of 4 ulp (8 u, and ``2 u |gate|`` where exp2 is used), a sum, a division, a product.

        Below -88.7 ``exp(-gate)`` overflows float32 and SiLU becomes 0 where it is 2.6e-37: 23 smallest
        normal numbers are lost, times ``up``.
        """
        dtype = self.outputs["y"].dtype
        gate, up = float64(inputs["gate"]), float64(inputs["up"])
        relative = unit_roundoff(dtype) * (16 + 2 * np.minimum(np.abs(gate), 104.0))
        lost = 32 * smallest_normal(dtype) * (1 + np.abs(up))
        return {"y": np.abs(float64(expected["y"])) * relative + lost}

    def flops(self, axes: Mapping[str, int]) -> float:
        """An exponential, an addition, a division and a multiplication an element."""
        return 4.0 * axes["M"] * axes["N"]


def _silu(gate: Floats) -> Floats:
    """Without overflow on either side."""
    small = np.exp(-np.abs(gate))
    value: Floats = gate * np.where(gate >= 0, 1.0, small) / (1.0 + small)
    return value
