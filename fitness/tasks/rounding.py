"""How far an honest kernel may be from the exact result: bounds from type, length and magnitude.

All bounds are absolute, elementwise, in float64. Two ideas carry them:

* *Worst case.* A sum of n terms in any order is off by at most ``n · u · Σ|x|`` (u: unit roundoff).
* *Probable case.* Rounding errors are mean independent, so they grow with √n (Higham & Mary 2019,
  https://doi.org/10.1137/18M1226312), and the partial sums that are rounded stay near
  ``|total| + ‖x‖₂`` when the order does not depend on the data. The factor 8 makes a false alarm
  about as likely as 2·exp(−32) an element, and leaves short sums to the worst case.

The smaller one counts: long sums in half precision, or in TF32, are outside it, every order of
summation in the declared type, with or without FMA, is inside. Flushing subnormal numbers to zero
costs at most the smallest normal number an operation, which each bound adds: a kernel that flushes
is not wrong, only its results below that number are lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CONFIDENCE = 8.0


def unit_roundoff(dtype: str) -> float:
    """Largest relative error of one rounded operation, e.g. 2**-24 for float32."""
    return float(np.finfo(dtype).eps) / 2


def smallest_normal(dtype: str) -> float:
    """What flushing one result to zero may cost."""
    return float(np.finfo(dtype).smallest_normal)


def sum_error(dtype: str, length: int | Floats, total: Floats, magnitude: Floats, norm: Floats) -> Floats:
    """Bounds the error of a sum of rounded terms, in any order that the data do not decide.

    Args:
        dtype: Type of the arithmetic.
        length: Number of terms; an array when it differs among elements.
        total: The exact sums.
        magnitude: Sums of the absolute terms.
        norm: Square roots of the sums of squared terms.

    Returns:
        An array of ``total``'s shape.
    """
    probable = _CONFIDENCE * np.sqrt(length) * (np.abs(total) + 2.0 * norm)
    bound: Floats = unit_roundoff(dtype) * np.minimum(length * magnitude, probable) + length * smallest_normal(dtype)
    return bound


def row_sum_error(dtype: str, terms: Floats) -> Floats:
    """`sum_error` of the last axis, which is kept with length 1."""
    norm = np.sqrt(np.square(terms).sum(axis=-1, keepdims=True))
    magnitude = np.abs(terms).sum(axis=-1, keepdims=True)
    return sum_error(dtype, terms.shape[-1], terms.sum(axis=-1, keepdims=True), magnitude, norm)


def product_error(dtype: str, a: Floats, b: Floats) -> Floats:
    """`sum_error` of the matrix product ``a @ b`` of exact factors, batched as NumPy does it."""
    magnitude, norm = np.abs(a) @ np.abs(b), np.sqrt(np.square(a) @ np.square(b))
    return sum_error(dtype, a.shape[-1], a @ b, magnitude, norm)


def carried_error(error: Floats, factor: Floats) -> Floats:
    """How errors of ``a`` come out of ``a @ factor``: added up, or in quadrature where there are many.

    Errors of different elements are independent; ``error`` bounds each of them, generously where it
    is a probable bound, so four times their root sum of squares bounds the sum.
    """
    bound: Floats = np.minimum(error @ np.abs(factor), 4.0 * np.sqrt(np.square(error) @ np.square(factor)))
    return bound
