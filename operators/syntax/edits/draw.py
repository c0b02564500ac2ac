"""Draws from a generator, in plain Python values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def one_of(choices: Sequence[T], rng: np.random.Generator) -> T:
    """Returns one of ``choices``, all alike."""
    return choices[int(rng.integers(len(choices)))]


def shuffled(items: Iterable[T], rng: np.random.Generator) -> list[T]:
    """Returns the items in random order."""
    pool = list(items)
    return [pool[int(position)] for position in rng.permutation(len(pool))]
