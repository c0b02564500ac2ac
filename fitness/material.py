"""The secret part of an evaluation: sizes, inputs and what must come out, drawn once a run from a seed nobody knows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .check import Case, Layout, make_cases
from .pool import Pool
from .task import Task


@dataclass(frozen=True)
class Material:
    """All data that a kernel of one task is judged by. It stays in the parent.

    Attributes:
        task: The problem.
        cases: Check sizes, and hidden ones.
        pools: Inputs of the timed workloads.
    """

    task: Task
    cases: tuple[Case, ...]
    pools: tuple[Pool, ...]

    @classmethod
    def draw(cls, task: Task, rng: np.random.Generator) -> Material:
        """Draws everything.

        Raises:
            TaskError: The task's reference or its inputs are not what it declares.
        """
        cases = make_cases(task, [*task.check_workloads, *task.hidden_workloads(rng)], rng)
        return cls(task, cases, tuple(Pool.draw(task, each, rng) for each in task.time_workloads))

    @cached_property
    def layout(self) -> Layout:
        """Where the buffers of the cases lie in an arena; it copies what must come out, of which a GPU has no use."""
        return Layout(self.task, self.cases)


def secret_generator() -> np.random.Generator:
    """Returns a generator that no candidate can guess; it decides data and never a trajectory."""
    return np.random.default_rng(int.from_bytes(os.urandom(16), "little"))
