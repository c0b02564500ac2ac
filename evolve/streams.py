"""Randomness as an argument: one independent generator for every seed, slot and use."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType

import numpy as np
from deap import tools  # noqa: F401 - its modules must be there before they are looked for


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
    """Lets DEAP draw from ``rng`` for the block, then puts everything back.

    DEAP takes no generator anywhere; it draws from the module ``random``. For the block its modules
    see a source of their own instead, because the global one may be drawn from by any other thread,
    such as a client that waits a random time before it asks again. The global one is seeded too, for
    selections that are not DEAP's. To be entered by one thread only, the one that runs the search.
    """
    seed = int(rng.integers(2**63))
    modules, saved = _deap_modules(), random.getstate()
    source = random.Random(seed)
    random.seed(seed)
    for module in modules:
        setattr(module, "random", source)  # noqa: B010 - the type of a module has no such attribute
    try:
        yield
    finally:
        for module in modules:
            setattr(module, "random", random)  # noqa: B010 - as above
        random.setstate(saved)


@lru_cache(maxsize=1)
def _deap_modules() -> tuple[ModuleType, ...]:
    """Returns DEAP's modules that draw."""
    return tuple(
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith("deap.") and getattr(module, "random", None) is random
    )
