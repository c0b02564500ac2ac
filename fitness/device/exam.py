"""What a kernel is timed on: data that no call has seen, and of some of it what must come out."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..check import Instance, expect, is_sorted
from ..pool import Pool
from ..task import Task

_AT_ONCE = 1 << 25
"""Elements of a workload up to which several references are computed at the same time."""

_ENTRIES = 2
"""Entries of a pool that are brought to each worker, where rolls make calls' data new all the same."""


@dataclass(frozen=True)
class Variant:
    """Inputs that no call has seen: an entry of a pool, its rows rolled, times a factor.

    A factor alone is not enough: what is counted, sorted or normalised may come out the same.

    Attributes:
        entry: Index into the pool.
        roll: Rows by which inputs are rolled; those that are `kept` are not.
        scale: Every float input is multiplied by it.
    """

    entry: int
    roll: int
    scale: float

    @classmethod
    def draw(cls, pool: Pool) -> Variant:
        """Draws one that nobody can foresee; its factor is a number of the coarsest type: both sides multiply alike."""
        types = [array.dtype for array in pool.entries[0].inputs.values() if array.dtype.kind == "f"]
        coarsest = min(types, key=lambda each: each.itemsize, default=np.dtype(np.float32))
        scale = float(coarsest.type(0.5 + 1.5 * secrets.randbits(24) / 2**24))
        return cls(secrets.randbelow(len(pool.entries)), secrets.randbelow(1 << 16), scale)

    def message(self, exam: str, judged: bool) -> dict[str, Any]:
        """Returns what the worker is told."""
        return {"entry": f"{exam}/{self.entry}", "roll": self.roll, "scale": self.scale, "judged": judged}

    def instance(self, task: Task, pool: Pool) -> Instance:
        """Computes, in this process, the very inputs that the worker makes and what must come out."""
        inputs = {}
        for name, array in pool.entries[self.entry].inputs.items():
            rolled = array if name in kept(pool) else np.roll(array, self.roll, axis=0)
            floating = np.issubdtype(array.dtype, np.floating)
            inputs[name] = np.ascontiguousarray(rolled * array.dtype.type(self.scale) if floating else rolled)
        expected, tolerance = expect(task, pool.workload, inputs)
        return Instance(inputs, expected, tolerance)


@dataclass(frozen=True)
class Exam:
    """A timed workload with a few variants whose outputs are known: drawn and computed once for all kernels.

    Attributes:
        name: Of this one and no other.
        kept: Names of inputs that are not rolled.
    """

    name: str
    task: Task
    pool: Pool
    variants: tuple[Variant, ...]
    instances: tuple[Instance, ...]
    kept: frozenset[str]

    @classmethod
    def prepare(cls, task: Task, pool: Pool, count: int = 5) -> Exam:
        """Draws the variants and computes what must come out."""
        if any(len(array) > 1 for name, array in pool.entries[0].inputs.items() if name not in kept(pool)):
            pool = replace(pool, entries=pool.entries[:_ENTRIES])
        variants = tuple(Variant.draw(pool) for _ in range(count))
        axes = pool.workload.axes
        elements = sum(math.prod(spec.extent(axes)) for spec in (*task.inputs.values(), *task.outputs.values()))

        def known(variant: Variant) -> Instance:
            return replace(variant.instance(task, pool), inputs={})  # the worker makes them by itself

        # NumPy computes without the interpreter's lock, and takes many times the memory of what it computes.
        with ThreadPoolExecutor(count if elements <= _AT_ONCE else 1) as threads:
            return cls(secrets.token_hex(8), task, pool, variants, tuple(threads.map(known, variants)), kept(pool))

    def block_question(self, asked: int) -> int:
        """Returns the index of the variant to judge in a block of a worker that was ``asked`` so often before.

        It has not met the variant before, as long as that is possible: else it could leave out the work on all data
        that is new to it. The last variant is for trains.
        """
        return asked % (len(self.variants) - 1)

    def train_question(self, replay: int, decisive: int) -> tuple[Variant, Callable[[], Instance]]:
        """Returns the variant to judge in a replay, counted from one, and what tells what must come out.

        That of the ``decisive`` one, the first that may be the last, no block has met; later ones are drawn, and what
        must come out is computed when somebody asks for it.
        """
        if replay > decisive:
            drawn = Variant.draw(self.pool)
            return drawn, lambda: drawn.instance(self.task, self.pool)
        index = len(self.variants) - 1 if replay == decisive else self.block_question(replay)
        return self.variants[index], lambda: self.instances[index]


def kept(pool: Pool) -> frozenset[str]:
    """Returns the names of inputs that are not rolled: single numbers, and vectors that are sorted and must stay so."""
    drawn = {name: [entry.inputs[name] for entry in pool.entries] for name in pool.entries[0].inputs}
    return frozenset(
        name
        for name, arrays in drawn.items()
        if arrays[0].ndim == 0 or (arrays[0].ndim == 1 and all(map(is_sorted, arrays)))
    )
