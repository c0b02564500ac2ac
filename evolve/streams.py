"""Randomness as an argument: one independent generator for every seed, slot and use."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np


def stream(seed: int, slot: int, name: str) -> np.random.Generator:
    """Returns the generator of one use in one slot; equal arguments give equal streams.

    Args:
        seed: Of the run, not negative.
        slot: May be negative, as the slots of the seed kernels are.
        name: What the numbers are for, e.g. ``"vary"``.
    """
    # Two words for the slot, because SeedSequence takes no negative numbers.
    entropy = (seed, abs(slot), int(slot < 0), _digest(name))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


@lru_cache(maxsize=256)
def _digest(name: str) -> int:
    """Returns a number that depends on the text alone (``hash`` differs from process to process)."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


@contextmanager
def deap_random(rng: np.random.Generator) -> Iterator[None]:
    """Lets DEAP draw from ``rng``: seeds the global ``random`` for the block, then restores it.

    DEAP takes no generator anywhere. The block must not be entered from two threads at once; the
    engine enters it only in the thread that runs the search.
    """
    saved = random.getstate()
    random.seed(int(rng.integers(2**63)))
    try:
        yield
    finally:
        random.setstate(saved)
