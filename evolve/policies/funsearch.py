"""A FunSearch island: programs in clusters of equal score, drawn by a softmax that cools down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import Breeder, check_sizes, is_failure


class ClusterSoftmax:
    """Keeps every correct kernel, in clusters of equal score (Romera-Paredes 2024).

    https://doi.org/10.1038/s41586-023-06924-6

    A cluster is drawn by a softmax over scores, a kernel of it with a preference for short sources;
    parents come worst first, as FunSearch shows them. The score is log2 of the speedup over the first
    seed, where FunSearch takes the task's own score; scores within ``resolution`` share a cluster,
    since measured times are never equal.

    Args:
        lambda_: Slots of a record, and proposals under way at once.
        temperature: Of the softmax at the start of a period.
        period: Kernels after which the temperature starts again; in between it falls to 0.
        resolution: Fraction of the latency within which two kernels share a cluster.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        *,
        lambda_: int,
        temperature: float = 0.1,
        period: int = 30_000,
        resolution: float = 0.01,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(lambda_=lambda_, period=period)
        if temperature <= 0 or resolution <= 0:
            raise ValueError("temperature and resolution must be positive")
        self.generation_size = lambda_
        self._temperature = temperature
        self._period = period
        self._step = math.log1p(resolution)
        self._breeder = Breeder(choice)
        self._failures: list[Individual] = []
        self._reference: float | None = None
        self._clear()

    def _clear(self) -> None:
        self._programs: list[Individual] = []
        self._digests: set[str] = set()
        self._cluster_of: dict[int, int] = {}
        self._clusters: list[list[Individual]] = []
        self._scores: list[float] = []

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed: all but those in flight."""
        return max(0, slot - self.generation_size + 1)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses an operator, and parents from clusters of their own."""
        clusters = self._draw_clusters(max((op.arity for op in operators.values()), default=0), rng)
        pool = [self._draw_program(self._clusters[cluster], rng) for cluster in clusters]

        def worst_first(individuals: list[Individual], k: int) -> list[Individual]:
            return individuals[:k]

        plan = self._breeder.plan(pool, operators, rng, self._failures, worst_first)
        ordered = sorted(plan.parents, key=lambda each: -each.cost)
        return Plan(plan.operator, tuple(ordered))

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Puts a correct kernel into its cluster."""
        self._breeder.settle(individual)
        if is_failure(individual):
            self._failures = [*self._failures, individual][-self.generation_size :]
        elif individual.fitness.valid and individual.digest not in self._digests:
            self._register(individual)

    @property
    def survivors(self) -> Sequence[Individual]:
        """Every kernel of the island, oldest first."""
        return self._programs

    def adopt(self, population: Sequence[Individual]) -> None:
        """Begins anew with a population."""
        self._clear()
        for individual in population:
            self._register(individual)

    def _register(self, individual: Individual) -> None:
        self._reference = self._reference if self._reference is not None else individual.cost
        log_gain = math.log(max(self._reference, 1e-300)) - math.log(max(individual.cost, 1e-300))
        signature = round(log_gain / self._step)
        self._programs.append(individual)
        self._digests.add(individual.digest)
        place = self._cluster_of.setdefault(signature, len(self._clusters))
        if place == len(self._clusters):
            self._clusters.append([])
            self._scores.append(log_gain / math.log(2.0))
        self._clusters[place].append(individual)

    def _draw_clusters(self, count: int, rng: np.random.Generator) -> list[int]:
        """Draws distinct clusters, at most ``count``, by the tempered softmax."""
        cooling = 1.0 - (len(self._programs) % self._period) / self._period
        logits = np.array(self._scores) / (self._temperature * cooling)
        # Gumbel noise turns sorting into drawing without replacement from the softmax.
        noisy = logits + rng.gumbel(size=logits.size)
        return [int(i) for i in np.argsort(-noisy)[:count]]

    @staticmethod
    def _draw_program(cluster: Sequence[Individual], rng: np.random.Generator) -> Individual:
        """Draws a kernel of a cluster; shorter ones are likelier."""
        if len(cluster) == 1:
            return cluster[0]
        lengths = np.array([len(each.kernel.source) for each in cluster], dtype=np.float64)
        weights = np.exp(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
        return cluster[int(rng.choice(len(cluster), p=weights / weights.sum()))]
