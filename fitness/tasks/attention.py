"""Scaled dot-product attention, forward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..task import Arrays, TensorSpec
from .activations import softmax, softmax_error
from .rounding import Floats, carried_error, product_error, unit_roundoff
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class Attention(TensorTask):
    """``out[h] = softmax(q[h] k[h]^T / sqrt(D)) v[h]``, without a mask."""

    name: ClassVar[str] = "attention"
    description: ClassVar[str] = (
        "Attention without a mask, for each of H heads: out[h] = softmax(q[h] k[h]^T / sqrt(D)) v[h], where q, k, v "
        "and out are H x L x D and the softmax runs over the L keys. Row-major, contiguous, float32 accuracy "
        "(no half precision, no TF32)."
    )
    axes: ClassVar[tuple[str, ...]] = ("H", "L", "D")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {name: float32("H", "L", "D") for name in ("q", "k", "v")}
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"out": float32("H", "L", "D")}
    distributions: ClassVar[tuple[str, ...]] = ("normal", "positive", "sparse", "near_constant", "wide", "tiny")
    scales: ClassVar[Mapping[str, float]] = {"wide": 4.0, "tiny": 1e-10}
    hidden_limit: ClassVar[int] = 70

    device_sizes: ClassVar[Sizes] = ({"H": 16, "L": 1024, "D": 64}, {"H": 7, "L": 1001, "D": 67})
    time_sizes: Sizes = ({"H": 2, "L": 128, "D": 32}, {"H": 1, "L": 131, "D": 67})
    check_sizes: Sizes = tuple(
        {"H": h, "L": length, "D": d}
        for h, length, d in (
            (1, 1, 1),
            (1, 1, 64),
            (2, 63, 1),
            (3, 2, 5),
            (1, 31, 33),
            (2, 33, 31),
            (1, 64, 64),
            (4, 17, 16),
            (1, 65, 8),
            (7, 5, 127),
            (1, 127, 19),
            (2, 65, 63),
        )
    )

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """In float64."""
        return {"out": softmax(_scores(inputs)) @ float64(inputs["v"])}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Errors of the scores are relative ones of the weights, which carry them into the second product.

        A weight changes by its own score's error, and by the weighted mean of all of them through the sum.
        """
        dtype = self.outputs["out"].dtype
        scale = 1.0 / math.sqrt(inputs["q"].shape[2])
        q, k, v = (float64(inputs[name]) for name in ("q", "k", "v"))
        scores = _scores(inputs)
        weights = softmax(scores)
        in_scores = scale * product_error(dtype, q, k.swapaxes(1, 2)) + 3 * unit_roundoff(dtype) * np.abs(scores)
        together = in_scores + (weights * in_scores).sum(axis=2, keepdims=True)
        in_weights = softmax_error(dtype, scores) + weights * np.expm1(together)
        return {"out": carried_error(in_weights, v) + product_error(dtype, weights, v)}

    def flops(self, axes: Mapping[str, int]) -> float:
        """Two products of 2 L² D, and four operations for each of L² weights, a head."""
        pairs = 1.0 * axes["H"] * axes["L"] ** 2
        return 4.0 * pairs * axes["D"] + 4.0 * pairs


def _scores(inputs: Arrays) -> Floats:
    """``(H, L, L)``."""
    q, k = float64(inputs["q"]), float64(inputs["k"])
    scores: Floats = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])
    return scores
