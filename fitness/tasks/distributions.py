"""How input data are drawn: shapes of numbers that break kernels which are right on N(0, 1) only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TaskError

Floats = NDArray[np.float64]
Draw = Callable[[tuple[int, ...], np.random.Generator], Floats]


def _normal(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.standard_normal(shape)


def _positive(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.random(shape)


def _shifted(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return 1000.0 + rng.standard_normal(shape)


def _sparse(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.standard_normal(shape) * (rng.random(shape) < 0.1)


def _mixed(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-4.0, 4.0, shape)


def _near_constant(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Rows that hardly vary, around a value of their own between 0.5 and 2."""
    return rng.uniform(0.5, 2.0, (*shape[:-1], 1)) + 1e-3 * rng.standard_normal(shape)


def _extreme(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.uniform(-1e4, 1e4, shape)


DRAWS: Mapping[str, Draw] = MappingProxyType(
    {
        "normal": _normal,
        "positive": _positive,
        "shifted": _shifted,
        "sparse": _sparse,
        "mixed": _mixed,
        "near_constant": _near_constant,
        "extreme": _extreme,
    }
)
"""Distributions whose scale is fixed. A task adds ``"huge"`` and ``"tiny"`` at scales that it can bear."""


def draw(
    distribution: str,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    scales: Mapping[str, float],
) -> Floats:
    """Draws an array in float64.

    Args:
        distribution: A name in `DRAWS` or in ``scales``.
        shape: Of the array.
        rng: Source of all randomness.
        scales: Standard deviation of each named normal distribution, e.g. ``{"huge": 1e15}``.

    Raises:
        TaskError: The distribution is unknown.
    """
    if distribution in scales:
        return scales[distribution] * rng.standard_normal(shape)
    if distribution not in DRAWS:
        raise TaskError(f"unknown distribution {distribution!r}; known are {', '.join([*DRAWS, *scales])}")
    return DRAWS[distribution](shape, rng)


def rounded(values: Floats, dtype: str) -> NDArray[Any]:
    """Rounds to a contiguous array of ``dtype``."""
    return np.ascontiguousarray(values, dtype=dtype)
