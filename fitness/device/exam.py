"""What a kernel is timed on: data that no call has seen, and of some of it what must come out."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..check import Instance, expect, is_sorted
from ..pool import Pool
from ..task import Task

_AT_ONCE = 1 << 25
"""Elements of a workload up to which several references are computed at the same time."""

_ENTRIES = 2
"""Entries of a pool that are brought to each worker, where rolls make calls' data new all the same."""

_SHIFTS = 1 << 16
"""Places among an exam's factors at which those of a call may begin."""


Question = tuple["Variant", Callable[[], Instance]]
"""Inputs of a call that is judged, and what returns what must come out."""


@dataclass(frozen=True)
class Variant:
    """Inputs that no call has seen: an entry of a pool, its rows rolled, times a factor for each column.

    A factor for all is not enough: what is counted, sorted or normalised may come out the same, and what is computed of
    a row could be remembered, and told by its first numbers.

    Attributes:
        entry: Index into the pool.
        roll: Rows by which inputs are rolled, unless they have none and are `steady`.
        shift: The first of the exam's factors that float inputs are multiplied by; `steady` ones by it alone.
    """

    entry: int
    roll: int
    shift: int

    @classmethod
    def draw(cls, pool: Pool) -> Variant:
        """Draws one that nobody can foresee."""
        return cls(secrets.randbelow(len(pool.entries)), secrets.randbelow(1 << 16), secrets.randbelow(_SHIFTS))

    def message(self, exam: str, judged: bool) -> dict[str, Any]:
        """Returns what the worker is told."""
        return {"entry": f"{exam}/{self.entry}", "roll": self.roll, "shift": self.shift, "judged": judged}

    def instance(self, task: Task, pool: Pool, factors: NDArray[Any]) -> Instance:
        """Computes, in this process, the very inputs that the worker makes and what must come out."""
        inputs, fixed = {}, steady(pool)
        for name, array in pool.entries[self.entry].inputs.items():
            is_steady = name in fixed
            rolled = array if is_steady and array.ndim < 2 else np.roll(array, self.roll, axis=0)
            if np.issubdtype(array.dtype, np.floating):
                own = factors[self.shift :].astype(array.dtype)
                rolled = rolled * (own[0] if is_steady else own[: array.shape[-1]])
            inputs[name] = np.ascontiguousarray(rolled)
        expected, tolerance = expect(task, pool.workload, inputs)
        return Instance(inputs, expected, tolerance)


@dataclass(frozen=True)
class Exam:
    """A timed workload with a few variants whose outputs are known: drawn and computed once for all kernels.

    Attributes:
        name: Of this one and no other.
        steady: Names of inputs whose numbers have one factor in common.
        factors: Numbers that float inputs are multiplied by, a stretch of them for the columns of each call.
    """

    name: str
    task: Task
    pool: Pool
    variants: tuple[Variant, ...]
    instances: tuple[Instance, ...]
    steady: frozenset[str]
    factors: NDArray[Any]

    @classmethod
    def prepare(cls, task: Task, pool: Pool, count: int = 5) -> Exam:
        """Draws the variants and computes what must come out."""
        fixed = steady(pool)
        if any(array.ndim and len(array) > 1 for name, array in pool.entries[0].inputs.items() if name not in fixed):
            pool = replace(pool, entries=pool.entries[:_ENTRIES])
        variants = tuple(Variant.draw(pool) for _ in range(count))
        axes, factors = pool.workload.axes, _factors(pool)
        elements = sum(math.prod(spec.extent(axes)) for spec in (*task.inputs.values(), *task.outputs.values()))

        def known(variant: Variant) -> Instance:
            return replace(variant.instance(task, pool, factors), inputs={})  # the worker makes them by itself

        # NumPy computes without the interpreter's lock, and takes many times the memory of what it computes.
        with ThreadPoolExecutor(count if elements <= _AT_ONCE else 1) as threads:
            instances = tuple(threads.map(known, variants))
        return cls(secrets.token_hex(8), task, pool, variants, instances, steady(pool), factors)

    @property
    def call_bytes(self) -> int:
        """Bytes of a call's inputs and outputs; at least one."""
        specs = (*self.task.inputs.values(), *self.task.outputs.values())
        return 1 + sum(math.prod(s.extent(self.pool.workload.axes)) * np.dtype(s.dtype).itemsize for s in specs)

    def drawn_question(self) -> Question:
        """Draws a question that nobody has prepared; what must come out is computed when somebody asks for it."""
        drawn = Variant.draw(self.pool)
        return drawn, cache(lambda: drawn.instance(self.task, self.pool, self.factors))

    def block_question(self, asked: int) -> Question:
        """Returns what to judge in a block of a worker that was ``asked`` so often before.

        It has not met the variant before, as long as that is possible: else it could leave out the work on all data
        that is new to it. The last variant is for trains.
        """
        return self._prepared(asked % (len(self.variants) - 1))

    def _prepared(self, index: int) -> Question:
        return self.variants[index], lambda: self.instances[index]

    def train_question(self, replay: int, decisive: int) -> Question:
        """Returns the variant to judge in a replay, counted from one, and what tells what must come out.

        That of the ``decisive`` one, the first that may be the last, no block has met; later ones are drawn, and what
        must come out is computed when somebody asks for it.
        """
        if replay > decisive:
            return self.drawn_question()
        return self._prepared(len(self.variants) - 1) if replay == decisive else self.block_question(replay)


def _factors(pool: Pool) -> NDArray[Any]:
    """Draws factors from 0.5 to 2, in the coarsest type of the inputs: both sides multiply alike."""
    floats = [array for array in pool.entries[0].inputs.values() if array.dtype.kind == "f"]
    coarsest = min((array.dtype for array in floats), key=lambda each: each.itemsize, default=np.dtype(np.float32))
    columns = max((array.shape[-1] for array in floats if array.ndim), default=0)
    drawn = np.random.default_rng(secrets.randbits(128)).uniform(0.5, 2.0, _SHIFTS + columns)
    return drawn.astype(coarsest)


def steady(pool: Pool) -> frozenset[str]:
    """Returns the names of inputs that columns' factors would spoil: single numbers, and what must stay sorted."""
    drawn = {name: [entry.inputs[name] for entry in pool.entries] for name in pool.entries[0].inputs}
    return frozenset(name for name, arrays in drawn.items() if arrays[0].ndim == 0 or all(map(is_sorted, arrays)))
