"""Pieces of mathematics that several tasks share, in float64, each with its error bound."""

from __future__ import annotations

import math

import numpy as np

from .rounding import Floats, row_sum_error, smallest_normal, unit_roundoff


def gelu(v: Floats) -> Floats:
    """``v Φ(v)``, with erfc so that the negative tail keeps its digits."""
    from scipy.special import erfc

    value: Floats = 0.5 * v * erfc(-v / math.sqrt(2.0))
    return value


def gelu_error(dtype: str, v: Floats) -> Floats:
    """``12 u |v|``: ``1 + erf`` may cancel for negative v, so its error is absolute.

    ``erf`` of 4 ulp (8 u) and the addition are off by at most 9 u, times ``|v| / 2``; v itself is
    rounded, and no slope of GELU is above 1.13; three products follow: 8.7 u together.
    """
    bound: Floats = 12 * unit_roundoff(dtype) * np.abs(v) + 2 * smallest_normal(dtype)
    return bound


def softmax(x: Floats) -> Floats:
    """Over the last axis."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    value: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return value


def softmax_error(dtype: str, x: Floats) -> Floats:
    """Relative to the result: the exponent's rounding, an ``exp`` of 4 ulp, the sum, the division.

    ``x - max`` is rounded once, or twice where exp2 is used: ``4 u |x - max|`` relative after
    ``exp``. The sum carries the same errors, weighted by the result. 64 u pays for ``exp`` (8 u each
    in numerator and sum), the division or the reciprocal (3 u), and the rescalings of a running
    maximum (about ln N of them at 8 u). Below the smallest normal number a result may be 0.
    """
    u, highest = unit_roundoff(dtype), x.max(axis=-1, keepdims=True)
    powers, y = np.exp(x - highest), softmax(x)
    distance = np.minimum(highest - x, 104.0)
    spread = (y * distance).sum(axis=-1, keepdims=True)
    total = row_sum_error(dtype, powers) / powers.sum(axis=-1, keepdims=True)
    bound: Floats = y * (4 * u * (distance + spread) + 64 * u + total) + 2 * smallest_normal(dtype)
    return bound


def root_mean_square(x: Floats, epsilon: float) -> Floats:
    """``sqrt(mean(x²) + epsilon)`` over the last axis, kept with length 1."""
    root: Floats = np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + epsilon)
    return root


def root_mean_square_error(dtype: str, x: Floats, epsilon: float) -> Floats:
    """Relative error of `root_mean_square` or its reciprocal: half of the sum's, and 6 u for root and division."""
    mean = np.square(x).mean(axis=-1, keepdims=True) + epsilon
    bound: Floats = row_sum_error(dtype, np.square(x)) / x.shape[-1] / (2 * mean) + 6 * unit_roundoff(dtype)
    return bound
