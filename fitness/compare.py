"""Outputs against expected values. Runs in the parent, on copies that no candidate can reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_PART = 1 << 15
"""Elements that are compared at once; a longer row is not divided."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What comparing one call's outputs gave.

    Attributes:
        is_right: Every element of every output is within its tolerance.
        max_rel_error: Largest error relative to the largest finite expected magnitude of its
            output; infinite where a NaN or an infinity stands for a finite value.
        reason: Where the worst element is and what it holds; empty when all is right.
    """

    is_right: bool
    max_rel_error: float
    reason: str = ""


def judge(outputs: Mapping[str, Array], expected: Mapping[str, Array], tolerance: Mapping[str, Array]) -> Verdict:
    """Compares every element of every output: it passes only if ``error <= tolerance`` holds.

    A NaN or infinity is right only where the expected value is the very same.

    Args:
        outputs: By name, in the declared type and shape.
        expected: By name, in float64, or exact integers.
        tolerance: By name, largest absolute errors, broadcastable to the output.

    Raises:
        ValueError: A shape differs; the caller made the buffers, so this is no fault of a kernel.
    """
    worst, reason = 0.0, ""
    for name, wanted in expected.items():
        found = outputs[name]
        if found.shape != wanted.shape:
            raise ValueError(f"output {name!r} has shape {found.shape}, expected {wanted.shape}")
        if not wanted.size:
            continue
        allowed = np.broadcast_to(tolerance[name], wanted.shape)
        largest, scale, is_right = 0.0, 0.0, True
        for part in _parts(wanted.shape):
            error = errors(found[part], wanted[part])
            largest, scale = max(largest, float(error.max())), max(scale, largest_finite(wanted[part]))
            is_right = is_right and math.isfinite(largest) and bool((error <= allowed[part]).all())
        worst = max(worst, largest / (scale or 1.0))
        if not is_right and not reason:
            reason = _describe(name, found, wanted, allowed)
    return Verdict(not reason, worst, reason)


def _parts(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yields slices of as many rows as have `_PART` elements: what is computed of them stays in a cache."""
    if not shape:
        yield ()
        return
    step = max(1, _PART // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], step):
        yield (slice(start, start + step),)


def _bad(error: NDArray[np.float64], allowed: Array) -> NDArray[np.bool_]:
    return ~(error <= allowed) | ~np.isfinite(error)  # the second even under a tolerance that overflowed


def same_bits(first: Mapping[str, Array], second: Mapping[str, Array]) -> bool:
    """Whether two sets of outputs agree in every bit."""
    return all(first[name].tobytes() == second[name].tobytes() for name in first)


def errors(found: Array, wanted: Array) -> NDArray[np.float64]:
    """Returns the absolute error of every element; infinite where one side is not finite and the other differs."""
    if wanted.dtype.kind in "iub" and found.dtype.kind in "iub":
        gap = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        exact: NDArray[np.float64] = np.where(found != wanted, np.maximum(gap, 1.0), 0.0)  # float64 may blur a gap
        return exact
    with np.errstate(invalid="ignore", over="ignore"):
        actual = found.astype(np.float64)
        error: NDArray[np.float64] = np.abs(actual - wanted)
    if not math.isfinite(error.max(initial=0.0)):
        same = (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
        error = np.asarray(np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf)), dtype=np.float64)
    return error


def largest_finite(wanted: Array) -> float:
    """Returns the largest finite magnitude, 0 where there is none."""
    magnitude = np.abs(wanted.astype(np.float64))
    if math.isfinite(largest := float(magnitude.max(initial=0.0))):
        return largest
    return float(magnitude.max(initial=0.0, where=np.isfinite(magnitude)))  # ten times as slow


def _describe(name: str, found: Array, wanted: Array, allowed: Array) -> str:
    error = errors(found, wanted)
    bad = _bad(error, allowed)
    at = np.unravel_index(int(np.argmax(np.where(bad, error, -1.0))), found.shape)
    where = ", ".join(str(int(index)) for index in at)
    count = int(bad.sum())
    wrong = f"{count} of {found.size} elements {'is' if count == 1 else 'are'} wrong"
    return f"{name}[{where}] is {found[at]:.9g}, expected {wanted[at]:.9g}; {wrong}"
