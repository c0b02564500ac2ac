"""A kernel in a population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deap import base

from fitness import Evaluation, Kernel

SEED = "seed"
"""The operator of individuals that no operator made."""


class Fitness(base.Fitness):  # type: ignore[misc] # DEAP has no types
    """DEAP's fitness with every objective minimised.

    The weights are all -1.0: DEAP returns ``values`` as ``wvalues / weights``, which is exact only
    for weights of one.
    """

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.weights = (-1.0,) * max(1, len(values))
        super().__init__(tuple(values))

    def __deepcopy__(self, memo: dict[int, Any]) -> Fitness:
        return Fitness(self.values)


@dataclass(eq=False, slots=True)
class Individual:
    """A kernel in a population: its evaluation, its DEAP fitness and where it came from.

    Attributes:
        kernel: Its source is empty when the operator proposed nothing usable.
        evaluation: Without the single samples, which stay in the journal.
        generation: 0 for the seeds.
        slot: Index in the order of commitment over the whole run; seeds have negative slots.
        parents: Digests of the kernels that it was made from.
        fitness: Valid only if the evaluation is ``OK``; failures have no number.
        outcome: Of the proposal: ``"parsed"``, or what went wrong with it.
        note: One line for people: what was changed, or why nothing came of it.
        tokens: Model tokens that it cost.
        requests: Digests of the model requests behind it.
        arm: Which member of an ensemble of models answered them.
        duplicate_of: Slot in which the same kernel was first proposed; None for the original.
        twin_of: Slot of an older kernel from which it differs in no way that matters, as far as
            novelty was looked at.
        origin: Of a seed: ``"task"``, or the run or file that it was inherited from.
    """

    kernel: Kernel
    evaluation: Evaluation
    generation: int
    slot: int
    operator: str = SEED
    parents: tuple[str, ...] = ()
    fitness: Fitness = field(default_factory=Fitness)
    outcome: str = "parsed"
    note: str = ""
    tokens: int = 0
    requests: tuple[str, ...] = ()
    arm: str = ""
    duplicate_of: int | None = None
    twin_of: int | None = None
    origin: str = ""

    @property
    def digest(self) -> str:
        """Digest of the kernel."""
        return self.kernel.digest

    @property
    def cost(self) -> float:
        """First objective, or infinity when there is none; for sorting only."""
        return float(self.fitness.values[0]) if self.fitness.valid else math.inf

    def __deepcopy__(self, memo: dict[int, Any]) -> Individual:
        # An individual is never changed once it is committed, so DEAP's hall of fame may hold it itself.
        return self


def objective_value(evaluation: Evaluation, kernel: Kernel, name: str) -> float | None:
    """Returns one objective of a correct kernel, or None where it is missing or not finite.

    Args:
        evaluation: What became of it.
        kernel: The kernel.
        name: ``"latency_us"``, ``"latency_us.<workload>"``, ``"max_rel_error"``, ``"source_bytes"`` or
            ``"static.<metric>"``.
    """
    value: float | None
    if name.startswith("latency_us."):
        workload = name.removeprefix("latency_us.")
        value = next((each.latency_us for each in evaluation.measurements if each.workload == workload), None)
    elif name == "source_bytes":
        value = float(len(kernel.source.encode()))
    elif name.startswith("static."):
        value = evaluation.static.get(name.removeprefix("static."))
    else:
        value = evaluation.latency_us if name == "latency_us" else evaluation.max_rel_error
    return value if value is not None and math.isfinite(value) else None


def fitness_of(kernel: Kernel, evaluation: Evaluation, objectives: Sequence[str]) -> Fitness:
    """Returns the fitness of a kernel; invalid when it is not ``OK`` or lacks an objective.

    NaN and infinity never reach DEAP, whose sorting and crowding they corrupt.
    """
    if not evaluation.ok:
        return Fitness()
    values = [objective_value(evaluation, kernel, name) for name in objectives]
    present = [value for value in values if value is not None]
    return Fitness(present) if len(present) == len(values) else Fitness()


def check_objectives(objectives: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the objectives.

    Raises:
        ValueError: There is none, or a name is unknown or given twice.
    """
    known = ("latency_us", "max_rel_error", "source_bytes")
    if not objectives:
        raise ValueError("at least one objective is needed, e.g. latency_us")
    for name in objectives:
        if name not in known and not name.startswith(("static.", "latency_us.")):
            more = "latency_us.<workload> and static.<metric>"
            raise ValueError(f"unknown objective {name!r}; known are {', '.join(known)}, {more}")
    if len(set(objectives)) < len(objectives):
        raise ValueError(f"each objective may be given once, are {', '.join(objectives)}")
    return tuple(objectives)


@dataclass(frozen=True, slots=True)
class Generation:
    """One turn of the loop, as it is given to whoever watches.

    Attributes:
        index: 0 for the seeds.
        offspring: In slot order, failures and empty proposals included.
        survivors: The population after it.
        best: The best individual so far, certified by duels where the evaluator can hold them.
        evaluations: Charged so far, duels included.
        tokens: Spent so far.
        elapsed_s: Wall time so far, over all attempts of the run.
        funnel: How far the proposals of each operator came so far; see `evolve.funnel.STAGES`.
    """

    index: int
    offspring: tuple[Individual, ...]
    survivors: tuple[Individual, ...]
    best: Individual
    evaluations: int
    tokens: int
    elapsed_s: float
    funnel: dict[str, dict[str, int]] = field(default_factory=dict)
