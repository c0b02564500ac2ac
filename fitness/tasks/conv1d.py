"""Convolution in one dimension with zero padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .rounding import Floats, smallest_normal, sum_error, unit_roundoff
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class Conv1d(TensorTask):
    """``y[b, f, l] = sum_{c, k} w[f, c, k] x[b, c, l + k - (K - 1) // 2]``, zeros outside."""

    name: ClassVar[str] = "conv1d"
    description: ClassVar[str] = (
        "Convolution (cross-correlation) in one dimension: y[b][f][l] = sum over c < C and k < K of "
        "w[f][c][k] * x[b][c][l + k - (K - 1) / 2] with integer division, where x is 0 outside 0 <= position < L. "
        "x is B x C x L, w is F x C x K, y is B x F x L. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("B", "C", "F", "L", "K")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("B", "C", "L"), "w": float32("F", "C", "K")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"y": float32("B", "F", "L")}
    hidden_limit: ClassVar[int] = 40

    device_sizes: ClassVar[Sizes] = (
        {"B": 16, "C": 64, "F": 64, "L": 2048, "K": 3},
        {"B": 8, "C": 48, "F": 96, "L": 1001, "K": 7},
    )
    time_sizes: Sizes = ({"B": 4, "C": 16, "F": 16, "L": 200, "K": 3}, {"B": 1, "C": 13, "F": 17, "L": 401, "K": 7})
    check_sizes: Sizes = tuple(
        dict(zip(("B", "C", "F", "L", "K"), sizes, strict=True))
        for sizes in (
            (1, 1, 1, 1, 1),
            (1, 1, 1, 1, 3),
            (1, 1, 1, 127, 5),
            (2, 3, 5, 2, 7),
            (3, 1, 4, 31, 3),
            (1, 5, 1, 33, 2),
            (2, 8, 8, 64, 3),
            (1, 7, 9, 65, 4),
            (1, 32, 31, 63, 1),
            (5, 2, 3, 17, 11),
            (1, 33, 16, 129, 3),
        )
    )

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"y": _convolve(float64(inputs["x"]), float64(inputs["w"]))}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` for C·K products."""
        x, w = float64(inputs["x"]), float64(inputs["w"])
        norm = np.sqrt(_convolve(np.square(x), np.square(w)))
        magnitude = _convolve(np.abs(x), np.abs(w))
        length = w.shape[1] * w.shape[2]
        return {"y": sum_error(self.outputs["y"].dtype, length, float64(expected["y"]), magnitude, norm)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """A multiplication and an addition for each term that is not padding."""
        length, taps = axes["L"], axes["K"]
        inside = sum(max(0, length - abs(k - (taps - 1) // 2)) for k in range(taps))
        return 2.0 * axes["B"] * axes["C"] * axes["F"] * inside


@dataclass(frozen=True)
class Conv1dFloat16(Conv1d):
    """`Conv1d` in half precision, summed in single, at the shape that KernelEvolve optimises.

    2048 samples, 96 channels in and out, 200 positions (KernelEvolve 2025, https://arxiv.org/abs/2512.23236, which does
    not state the number of taps; three are taken).
    """

    name: ClassVar[str] = "conv1d_float16"
    description: ClassVar[str] = (
        Conv1d.description.removesuffix("float32 accuracy.")
        + "All tensors are float16: products are summed in float32, "
        "and each sum is rounded to float16 once."
    )
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        name: TensorSpec("float16", spec.shape) for name, spec in Conv1d.inputs.items()
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {
        name: TensorSpec("float16", spec.shape) for name, spec in Conv1d.outputs.items()
    }
    distributions: ClassVar[tuple[str, ...]] = ("normal", "positive", "sparse", "near_constant", "wide", "narrow")
    scales: ClassVar[Mapping[str, float]] = {"wide": 8.0, "narrow": 0.05}

    device_sizes: ClassVar[Sizes] = (
        {"B": 2048, "C": 96, "F": 96, "L": 200, "K": 3},
        {"B": 64, "C": 93, "F": 97, "L": 1001, "K": 3},
    )
    time_sizes: Sizes = ({"B": 4, "C": 16, "F": 16, "L": 200, "K": 3}, {"B": 2, "C": 13, "F": 18, "L": 401, "K": 7})

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """The bound of `sum_error` in float32, where products of halves are exact, and one rounding to float16."""
        x, w, total = float64(inputs["x"]), float64(inputs["w"]), float64(expected["y"])
        norm = np.sqrt(_convolve(np.square(x), np.square(w)))
        summed = sum_error("float32", w.shape[1] * w.shape[2], total, _convolve(np.abs(x), np.abs(w)), norm)
        return {"y": summed + unit_roundoff("float16") * (np.abs(total) + summed) + smallest_normal("float16")}


def _convolve(x: Floats, w: Floats) -> Floats:
    """``(B, C, L)`` with ``(F, C, K)`` to ``(B, F, L)``."""
    taps, length = w.shape[2], x.shape[2]
    left = (taps - 1) // 2
    padded = np.pad(x, ((0, 0), (0, 0), (left, taps - 1 - left)))
    by_tap = np.ascontiguousarray(w.transpose(2, 0, 1))  # NumPy gives no strided matrix to BLAS
    return sum((by_tap[k] @ padded[:, :, k : k + length] for k in range(taps)), np.zeros(()))
