"""The seam of variation: parents in, a proposal out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from fitness import Evaluation, Kernel, Language, Target, Task
from llm import Client


class Parent(Protocol):
    """What an operator may know of an individual."""

    @property
    def kernel(self) -> Kernel:
        """Its source."""
        ...

    @property
    def evaluation(self) -> Evaluation:
        """What became of it."""
        ...


@dataclass(frozen=True, slots=True)
class Memory:
    """What an operator may remember, as it stood when the slot was planned.

    Attributes:
        ancestors: The first parent's lineage, nearest first.
        siblings: Other children of the first parent, oldest first, failures included.
        elites: The best individuals of the run so far, best first.
        notes: What earlier reflections have learned, oldest first.
    """

    ancestors: Sequence[Parent] = ()
    siblings: Sequence[Parent] = ()
    elites: Sequence[Parent] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """What every operator may know about the problem.

    Attributes:
        client: The model; None in a run without one.
        hardware: Facts about the machine for prompts, from the run's record: a replay elsewhere
            must write the same prompts.
        memory: Differs from slot to slot; all else is the run's.
    """

    task: Task
    target: Target
    language: Language
    client: Client | None = None
    hardware: Mapping[str, str] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator made of its parents.

    Attributes:
        kernel: None when nothing usable came out, e.g. a reply without code.
        operator: Its name.
        parents: Digests, in the order of use.
        outcome: ``"parsed"`` when there is a kernel, else the name of what went wrong.
        note: One line for people: what was changed, or why nothing came of it.
        lesson: What a reflecting operator learned, for later prompts; usually empty.
        tokens: Model tokens spent, prompt and completion together.
        requests: Digests of the model requests behind it, for the transcript.
        arm: Which member of an ensemble answered; whoever judges the kernel may reward it.
    """

    kernel: Kernel | None
    operator: str
    parents: tuple[str, ...]
    outcome: str = "parsed"
    note: str = ""
    lesson: str = ""
    tokens: int = 0
    requests: tuple[str, ...] = ()
    arm: str = ""


class Operator(Protocol):
    """Makes a proposal from parents: arity 0 is a draft, 1 a mutation, 2 or more a crossover.

    Attributes:
        name: In records, e.g. ``"syntactic_mutation"``.
        arity: How many parents it takes.
        memory: Which parts of `Memory` it reads: any of ``"ancestors"``, ``"siblings"``,
            ``"elites"``, ``"notes"``; the engine fills only these.
        takes_failures: Whether its parent is one that failed (repair).
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def arity(self) -> int: ...  # noqa: D102
    @property
    def memory(self) -> frozenset[str]: ...  # noqa: D102
    @property
    def takes_failures(self) -> bool: ...  # noqa: D102

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Makes one proposal; pure but for the model behind ``brief.client``.

        Raises:
            LLMError: The model could not be asked.
        """
        ...


@runtime_checkable
class Selective(Protocol):
    """An operator that not every kernel suits, and that can say so before a search begins."""

    def objection(self, kernel: Kernel) -> str:
        """Returns why it could propose nothing from a kernel and its descendants, or an empty text."""
        ...
