"""Exact GELU of a matrix after a bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..task import Arrays, TensorSpec
from .activations import gelu, gelu_error
from .rounding import Floats
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class GeluBias(TensorTask):
    """``y = v Φ(v)`` with ``v = x + bias``; Φ is the normal distribution function."""

    name: ClassVar[str] = "gelu_bias"
    description: ClassVar[str] = (
        "Bias and exact GELU: v = x[i][j] + bias[j], y[i][j] = 0.5 * v * (1 + erf(v / sqrt(2))), for the M x N matrix "
        "x. The tanh approximation is not accurate enough. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N"), "bias": float32("N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 64, "N": 768}, {"M": 331, "N": 101})
    check_sizes: Sizes = MATRIX_CHECKS

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": gelu(float64(inputs["x"]) + float64(inputs["bias"]))}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `gelu_error`."""
        v = float64(inputs["x"]) + float64(inputs["bias"])
        return {"y": gelu_error(self.outputs["y"].dtype, v)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two additions, two multiplications and an error function an element."""
        return 5.0 * axes["M"] * axes["N"]
