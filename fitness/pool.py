"""The secret inputs of a timed workload."""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import plan_of, sources_of
from .check import Instance, draw_inputs, is_sorted, make_instance
from .native import FLOAT32, FLOAT64, MEAN, PICKED, RAW, WHOLE, Draw, Plan
from .task import Task, Workload

_ENTRIES = 4


@dataclass
class Pool:
    """Secret inputs of one timed workload, drawn once a run; every call gets its own mixture of two of them."""

    task: Task
    workload: Workload
    entries: tuple[Instance, ...]
    sources: Any = field(init=False)

    def __post_init__(self) -> None:
        self.sources = sources_of(self.task, [entry.inputs for entry in self.entries])

    @classmethod
    def draw(cls, task: Task, workload: Workload, rng: np.random.Generator) -> Pool:
        """Draws the entries; only of the first it is known in advance what must come out."""
        first = make_instance(task, workload, rng)
        others = (Instance(draw_inputs(task, workload, rng), {}, {}) for _ in range(_ENTRIES - 1))
        return cls(task, workload, (first, *others))

    def plan(self) -> Plan:
        """Returns the layout of one set, with how its inputs are made."""
        plan = plan_of(self.task, self.workload)
        inputs = [[entry.inputs[name] for entry in self.entries] for name in self.task.inputs]
        has_floats = any(map(_is_mixed, inputs))
        for buffer, arrays in zip(plan.buffer, inputs, strict=False):
            if has_floats or _is_mixed(arrays):
                buffer.blend = _blend_of(arrays)
            else:
                buffer.blend, buffer.element = _choice_of(arrays)
        return plan

    def unseen(self, driver: ctypes.CDLL, calls: int) -> list[dict[str, NDArray[Any]]]:
        """Returns inputs of as many calls: new ones where they can be mixed, and never the same twice in a row."""
        plan, count, start = self.plan(), len(self.entries), secrets.randbelow(len(self.entries))
        firsts = [(start + call) % count for call in range(calls)]
        others = [(first + 1 + secrets.randbelow(count - 1)) % count for first in firsts]
        pairs = zip(firsts, others, strict=True)
        return [self.inputs(driver, plan, Draw((ctypes.c_uint32 * 2)(*pair), secrets.randbits(64))) for pair in pairs]

    def inputs(self, driver: ctypes.CDLL, plan: Plan, draw: Draw) -> dict[str, NDArray[Any]]:
        """Returns the very inputs that a call got."""
        made = {name: np.empty_like(array) for name, array in self.entries[0].inputs.items()}
        driver.kw_inputs(ctypes.byref(plan), self.sources, ctypes.byref(draw), sources_of(self.task, [made]))
        return made


def _is_mixed(arrays: Sequence[NDArray[Any]]) -> bool:
    return arrays[0].dtype.name in ("float32", "float64")


def _blend_of(arrays: Sequence[NDArray[Any]]) -> int:
    """How an input is made of two draws: floats are mixed, what is sorted stays so, the rest is left whole."""
    if not _is_mixed(arrays):
        return WHOLE
    return MEAN if all(map(is_sorted, arrays)) else PICKED


def _choice_of(arrays: Sequence[NDArray[Any]]) -> tuple[int, int]:
    """The same for a task without any floats: left whole, its few draws would come back and could be remembered.

    Each element comes from one draw or the other. Only the width counts for that, so a float's stands for it; halves
    are chosen in pairs, or whole where one would be left over.
    """
    width = {2: FLOAT32, 4: FLOAT32, 8: FLOAT64}.get(arrays[0].dtype.itemsize)
    if arrays[0].nbytes % 4:
        width = None
    if width is None or all(map(is_sorted, arrays)):
        return WHOLE, RAW
    return PICKED, width
