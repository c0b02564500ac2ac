"""The interaction X (Xᵀ Y) of an optimised factorisation machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..task import Arrays, TensorSpec
from .rounding import Floats, carried_error, product_error
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class FactorisationMachine(TensorTask):
    """``out[b] = x[b] (x[b]^T y)``: two products, of which the first is small."""

    name: ClassVar[str] = "factorisation_machine"
    description: ClassVar[str] = (
        "Feature interaction of an optimised factorisation machine, for each of B samples: out[b] = x[b] (x[b]^T y), "
        "where x[b] is N x D (N features of dimension D), y is N x K and shared by all samples, out[b] is N x K. "
        "Row-major, contiguous, float32 accuracy (no half precision, no TF32)."
    )
    axes: ClassVar[tuple[str, ...]] = ("B", "N", "D", "K")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("B", "N", "D"), "y": float32("N", "K")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"out": float32("B", "N", "K")}
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e10, "tiny": 1e-10}
    hidden_limit: ClassVar[int] = 50

    device_sizes: ClassVar[Sizes] = ({"B": 1024, "N": 24, "D": 128, "K": 16}, {"B": 501, "N": 67, "D": 96, "K": 32})
    time_sizes: Sizes = ({"B": 16, "N": 24, "D": 64, "K": 16}, {"B": 7, "N": 41, "D": 67, "K": 13})
    check_sizes: Sizes = tuple(
        dict(zip(("B", "N", "D", "K"), sizes, strict=True))
        for sizes in (
            (1, 1, 1, 1),
            (1, 1, 64, 1),
            (1, 63, 1, 1),
            (1, 1, 1, 65),
            (3, 5, 7, 2),
            (2, 31, 33, 8),
            (1, 32, 32, 32),
            (2, 33, 31, 7),
            (5, 24, 16, 3),
            (13, 9, 17, 5),
            (1, 65, 63, 31),
        )
    )

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        x, y = float64(inputs["x"]), float64(inputs["y"])
        return {"out": x @ (x.swapaxes(1, 2) @ y)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The second product's own error, and what it carries on of the first one's; either bracketing is allowed."""
        dtype = self.outputs["out"].dtype
        x, y = float64(inputs["x"]), float64(inputs["y"])
        across = x.swapaxes(1, 2)
        right = carried_error(product_error(dtype, across, y).swapaxes(1, 2), across).swapaxes(1, 2)
        right += product_error(dtype, x, across @ y)
        left = carried_error(product_error(dtype, x, across), y) + product_error(dtype, x @ across, y)
        return {"out": right + left}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two products with the smaller of D and N between them, whichever bracketing is cheaper."""
        b, n, d, k = (float(axes[axis]) for axis in self.axes)
        return b * min(4.0 * n * d * k, 2.0 * n * n * d + 2.0 * n * n * k)
