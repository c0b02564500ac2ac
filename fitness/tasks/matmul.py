"""Product of two matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..task import Arrays, TensorSpec
from .rounding import Floats, product_error
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class Matmul(TensorTask):
    """``c[i, j] = sum_k a[i, k] b[k, j]``."""

    name: ClassVar[str] = "matmul"
    description: ClassVar[str] = (
        "Matrix product c = a b of an M x K matrix a and a K x N matrix b: c[i][j] = sum_k a[i][k] * b[k][j]. "
        "Row-major, contiguous, float32 accuracy (no half precision, no TF32)."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N", "K")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"a": float32("M", "K"), "b": float32("K", "N")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"c": float32("M", "N")}

    device_sizes: ClassVar[Sizes] = ({"M": 1024, "N": 1024, "K": 1024}, {"M": 512, "N": 768, "K": 1001})
    time_sizes: Sizes = ({"M": 128, "N": 128, "K": 128}, {"M": 96, "N": 161, "K": 67})
    check_sizes: Sizes = tuple(
        {"M": m, "N": n, "K": k}
        for m, n, k in (
            (1, 1, 1),
            (1, 1, 127),
            (1, 67, 1),
            (61, 1, 1),
            (3, 5, 7),
            (31, 33, 32),
            (32, 31, 33),
            (64, 64, 64),
            (65, 63, 64),
            (63, 65, 67),
            (127, 1, 64),
            (1, 129, 65),
            (128, 128, 31),
            (17, 19, 257),
            (127, 33, 129),
        )
    )

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"c": float64(inputs["a"]) @ float64(inputs["b"])}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` for K products, with ``|a| |b|`` as their magnitude."""
        return {"c": product_error(self.outputs["c"].dtype, float64(inputs["a"]), float64(inputs["b"]))}

    def flops(self, axes: Mapping[str, int]) -> float:
        """A multiplication and an addition for each of M·N·K terms."""
        return 2.0 * axes["M"] * axes["N"] * axes["K"]
