"""A kernel in a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deap import base

from fitness import Evaluation, Kernel


class Fitness(base.Fitness):  # type: ignore[misc]
    """DEAP's fitness with every objective minimised.

    The weights are all -1.0: DEAP returns ``values`` as ``wvalues / weights``, which is exact only
    for weights of one.
    """

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.weights = (-1.0,) * max(1, len(values))
        super().__init__(tuple(values))


@dataclass(eq=False, slots=True)
class Individual:
    """A kernel in a population: its evaluation, its DEAP fitness and where it came from.

    Attributes:
        slot: Index in the order of commitment over the whole run; seeds have negative slots.
        generation: 0 for the seeds.
        parents: Digests of the kernels that it was made from.
        fitness: Valid only if the evaluation is ``OK``; failures have no number.
    """

    kernel: Kernel
    evaluation: Evaluation
    generation: int
    slot: int
    operator: str = "seed"
    parents: tuple[str, ...] = ()
    fitness: Fitness = field(default_factory=Fitness)

    @property
    def digest(self) -> str:
        """Digest of the kernel."""
        return self.kernel.digest


@dataclass(frozen=True, slots=True)
class Generation:
    """One turn of the loop, as it is given to whoever watches.

    Attributes:
        index: 0 for the seeds.
        offspring: In slot order, failures included.
        survivors: The population after it.
        best: The best individual so far, certified by duels where the evaluator can hold them.
        evaluations: Charged so far.
        tokens: Spent so far.
        elapsed_s: Wall time so far, over all attempts of the run.
    """

    index: int
    offspring: tuple[Individual, ...]
    survivors: tuple[Individual, ...]
    best: Individual
    evaluations: int
    tokens: int
    elapsed_s: float
