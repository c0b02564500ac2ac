"""ShinkaEvolve's weighted choice of parents."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from .breeding import check_sizes
from .steady_state import SteadyState


class WeightedParents(SteadyState):
    """Good parents with few offspring are preferred (Lange 2025, https://arxiv.org/abs/2509.19349).

    The weight of a parent is sigmoid(sharpness * (F - median) / scale) / (1 + offspring), over an
    archive of the best. F is the negative logarithm of the first objective, so that a gain counts the
    same at any speed.

    Args:
        mu: Size of the archive.
        lambda_: Slots of a record; of no influence on the search.
        in_flight: Slots under way at once.
        sharpness: The paper's lambda; 10 there.
        scaled: Whether differences are divided by their median absolute deviation, as the shipped code
            does and the paper does not.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: A size is below 1, or ``sharpness`` is negative.
    """

    def __init__(
        self,
        *,
        mu: int,
        lambda_: int,
        in_flight: int = 1,
        sharpness: float = 10.0,
        scaled: bool = True,
        choice: Choice | None = None,
    ) -> None:
        super().__init__(mu=mu, lambda_=lambda_, in_flight=in_flight, choice=choice)
        check_sizes(sharpness=sharpness + 1)
        self._sharpness = sharpness
        self._scaled = scaled
        self._offspring: dict[str, int] = {}

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses operator and parents, and counts them as parents at once."""

        def select(individuals: list[Individual], k: int) -> list[Individual]:
            weights = self._weights(individuals)
            return [individuals[int(i)] for i in rng.choice(len(individuals), size=k, p=weights)]

        plan = self._breeder.plan(self._population, operators, rng, self._failures, select)
        for parent in plan.parents:
            self._offspring[parent.digest] = self._offspring.get(parent.digest, 0) + 1
        return plan

    def _weights(self, individuals: list[Individual]) -> np.ndarray:
        """Returns the probability of each, ``(len(individuals),)``."""
        value = -np.log(np.maximum([each.cost for each in individuals], 1e-300))
        distance = value - np.median(value)
        if self._scaled:
            distance = distance / max(float(np.median(np.abs(distance))), 1e-6)
        offspring = np.array([self._offspring.get(each.digest, 0) for each in individuals])
        # The exponent is bounded, so that a far outlier does not overflow.
        weights = 1.0 / (1.0 + np.exp(np.clip(-self._sharpness * distance, -500, 500))) / (1.0 + offspring)
        total = float(weights.sum())
        return weights / total if total > 0 else np.full(len(individuals), 1.0 / len(individuals))
