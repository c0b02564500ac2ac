"""Personalised feed-forward network: bmm, GELU, RMSNorm, bmm, RMSNorm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .activations import gelu, gelu_error, root_mean_square, root_mean_square_error
from .rounding import Floats, carried_error, product_error, smallest_normal
from .tensor_task import Sizes, TensorTask, float32, float64

EPSILON = 1e-6


@dataclass(frozen=True)
class Pffn(TensorTask):
    """``out = norm(norm(gelu(x w1)) w2)`` with RMS normalisation over the last axis, for each sample."""

    name: ClassVar[str] = "pffn"
    description: ClassVar[str] = (
        "Feed-forward network with weights of its own for each of B samples: hidden = gelu(x[b] w1[b]), "
        "out[b] = norm(norm(hidden) w2[b]). x[b] is M x D, w1[b] D x F, w2[b] F x D, out[b] M x D. gelu(v) = "
        "0.5 * v * (1 + erf(v / sqrt(2))); norm(v) = v / sqrt(mean(v^2) + 1e-6) over the last axis. "
        "Row-major, contiguous, float32 accuracy (no half precision, no TF32)."
    )
    axes: ClassVar[tuple[str, ...]] = ("B", "M", "D", "F")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        "x": float32("B", "M", "D"),
        "w1": float32("B", "D", "F"),
        "w2": float32("B", "F", "D"),
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"out": float32("B", "M", "D")}
    distributions: ClassVar[tuple[str, ...]] = ("normal", "positive", "sparse", "near_constant", "wide", "narrow")
    scales: ClassVar[Mapping[str, float]] = {"wide": 8.0, "narrow": 0.1}
    hidden_limit: ClassVar[int] = 40

    device_sizes: ClassVar[Sizes] = ({"B": 64, "M": 64, "D": 128, "F": 256}, {"B": 32, "M": 50, "D": 200, "F": 400})
    time_sizes: Sizes = ({"B": 8, "M": 16, "D": 32, "F": 96}, {"B": 5, "M": 13, "D": 41, "F": 83})
    check_sizes: Sizes = tuple(
        dict(zip(("B", "M", "D", "F"), sizes, strict=True))
        for sizes in (
            (1, 1, 1, 1),
            (1, 1, 2, 64),
            (2, 1, 63, 1),
            (3, 5, 7, 2),
            (2, 31, 3, 33),
            (1, 33, 31, 8),
            (13, 2, 17, 5),
            (1, 8, 64, 65),
            (2, 9, 65, 31),
        )
    )

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        _, _, _, last = _stages(inputs)
        return {"out": last / root_mean_square(last, EPSILON)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Each stage's own error, and what it carries on of the one before; GELU's slope is below 1.13."""
        dtype, w2 = self.outputs["out"].dtype, float64(inputs["w2"])
        first, hidden, normal, last = _stages(inputs)
        error = 1.13 * product_error(dtype, float64(inputs["x"]), float64(inputs["w1"])) + gelu_error(dtype, first)
        error = _norm_error(dtype, hidden, error)
        error = carried_error(error, w2) + product_error(dtype, normal, w2)
        return {"out": _norm_error(dtype, last, error)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two products, five operations for GELU and four for each normalisation, an element."""
        rows, d, f = float(axes["B"] * axes["M"]), float(axes["D"]), float(axes["F"])
        return rows * (4.0 * d * f + 9.0 * f + 4.0 * d)


def _stages(inputs: Arrays) -> tuple[Floats, Floats, Floats, Floats]:
    """Before GELU, after it, after the first normalisation, and after the second product."""
    x, w1, w2 = (float64(inputs[name]) for name in ("x", "w1", "w2"))
    first = x @ w1
    hidden = gelu(first)
    normal = hidden / root_mean_square(hidden, EPSILON)
    return first, hidden, normal, normal @ w2


def _norm_error(dtype: str, v: Floats, error: Floats) -> Floats:
    """Error of ``v / rms(v)`` when each element of v is off by ``error``: its own, and that of the mean square."""
    root, count = root_mean_square(v, EPSILON), v.shape[-1]
    moved = np.minimum(
        (np.abs(v) * error).mean(axis=-1, keepdims=True),
        4 * np.sqrt(np.square(v * error).sum(axis=-1, keepdims=True)) / count,
    )
    relative = root_mean_square_error(dtype, v, EPSILON) + moved / root**2
    bound: Floats = error / root + np.abs(v) / root * relative + 2 * smallest_normal(dtype)
    return bound
