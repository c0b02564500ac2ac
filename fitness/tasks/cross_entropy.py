"""Cross entropy of rows of logits with integer labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..task import Arrays, TensorSpec, Workload
from .rounding import Floats, row_sum_error, smallest_normal, unit_roundoff
from .sizes import MATRIX_CHECKS
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class CrossEntropy(TensorTask):
    """``loss[i] = log(sum_j exp(x[i, j])) - x[i, label[i]]``."""

    name: ClassVar[str] = "cross_entropy"
    description: ClassVar[str] = (
        "Cross entropy of every row of the M x N logits x with the int32 label of that row, 0 <= label[i] < N: "
        "loss[i] = log(sum_j exp(x[i][j])) - x[i][label[i]]. Logits may be as large as 1e15, so the maximum must be "
        "subtracted. Row-major, contiguous, float32 accuracy."
    )
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {"x": float32("M", "N"), "label": TensorSpec("int32", ("M",))}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"loss": float32("M")}
    distributions: ClassVar[tuple[str, ...]] = (*TensorTask.distributions, "extreme")

    device_sizes: ClassVar[Sizes] = ({"M": 2048, "N": 2048}, {"M": 1000, "N": 3001})
    time_sizes: Sizes = ({"M": 128, "N": 1024}, {"M": 1009, "N": 67})
    check_sizes: Sizes = MATRIX_CHECKS

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Logits from the distribution, labels uniform."""
        drawn = super().make_inputs(workload, rng)
        label = rng.integers(0, workload.axes["N"], workload.axes["M"], dtype=np.int32)
        return {"x": drawn["x"], "label": label}

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        x, highest, chosen = _parts(inputs)
        return {"loss": np.log(np.exp(x - highest).sum(axis=1)) + (highest[:, 0] - chosen)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Relative errors of the sum become absolute after the logarithm; maximum and chosen logit are rounded.

        ``log`` is off by 4 ulp of itself. ``x - max`` is rounded, 8 u pay for ``exp`` in each term, and
        as many rescalings of a running maximum as in a softmax are allowed for: 64 u.
        """
        dtype = self.outputs["loss"].dtype
        u = unit_roundoff(dtype)
        x, highest, chosen = _parts(inputs)
        powers = np.exp(x - highest)
        total = powers.sum(axis=1)
        distance = (powers * np.minimum(highest - x, 104.0)).sum(axis=1) / total
        in_sum = row_sum_error(dtype, powers)[:, 0] / total + u * (64 + 4 * distance)
        rounded = 4 * u * (np.abs(highest[:, 0]) + np.abs(chosen)) + 8 * u * np.log(total)
        return {"loss": in_sum + rounded + smallest_normal(dtype)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """A subtraction, an exponential and an addition an element."""
        return 3.0 * axes["M"] * axes["N"]


def _parts(inputs: Arrays) -> tuple[Floats, Floats, Floats]:
    """Logits ``(M, N)``, their maxima ``(M, 1)`` and the chosen ones ``(M,)``."""
    x = float64(inputs["x"])
    return x, x.max(axis=1, keepdims=True), x[np.arange(len(x)), inputs["label"]]
