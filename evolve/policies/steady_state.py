"""The lagged steady state, of which (1+1) is the smallest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from deap import tools

from operators import Operator

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan
from ..streams import deap_random
from .breeding import Breeder, Selection, check_sizes, is_failure


class SteadyState:
    """Every individual competes as soon as it is committed; hardware and model are always busy.

    With W slots in flight, slot n is planned from the population as it stood after slot n - W: the
    trajectory depends on W and not on the number of workers or who is faster.

    Args:
        mu: Size of the population.
        lambda_: Slots of a record; of no influence on the search.
        in_flight: W; 1 is the classic steady state.
        parent_selection: In DEAP's signature; None for tournaments of three.
        survivor_selection: In DEAP's signature; is given the population, oldest first, and the newcomer.
        choice: Chooses operators; None for equal weights.

    Raises:
        ValueError: A size is below 1.
    """

    def __init__(
        self,
        *,
        mu: int,
        lambda_: int,
        in_flight: int = 1,
        parent_selection: Selection | None = None,
        survivor_selection: Selection = tools.selBest,
        choice: Choice | None = None,
    ) -> None:
        check_sizes(mu=mu, lambda_=lambda_, in_flight=in_flight)
        self.mu = mu
        self.generation_size = lambda_
        self._lag = in_flight
        self._survivor_selection = survivor_selection
        self._breeder = Breeder(choice, parent_selection)
        self._population: list[Individual] = []
        self._failures: list[Individual] = []

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed: all but those in flight."""
        return max(0, slot - self._lag + 1)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Chooses operator and parents from the population."""
        return self._breeder.plan(self._population, operators, rng, self._failures)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Lets an individual compete at once."""
        self._breeder.settle(individual)
        if is_failure(individual):
            self._failures = [*self._failures, individual][-self.generation_size :]
        if not individual.fitness.valid or any(each.digest == individual.digest for each in self._population):
            return
        self._population.append(individual)
        if len(self._population) > self.mu:
            with deap_random(rng):
                self._population = self._survivor_selection(self._population, self.mu)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The population as it stands."""
        return self._population

    def adopt(self, population: Sequence[Individual]) -> None:
        """Replaces the population, as migration does."""
        self._population = list(population)


class OnePlusOne(SteadyState):
    """(1+1): one parent; a child takes its place unless it is worse.

    Equal fitness passes, so that the search drifts on plateaus, as theory assumes (Droste 2002,
    https://doi.org/10.1016/S0304-3975(01)00182-7). The title of best is another matter: it stays
    with the older kernel.

    Args:
        lambda_: Slots of a record; of no influence on the search.
        choice: Chooses operators of arity 0 and 1; None for equal weights.

    Raises:
        ValueError: ``lambda_`` is below 1.
    """

    def __init__(self, *, lambda_: int, choice: Choice | None = None) -> None:
        super().__init__(mu=1, lambda_=lambda_, survivor_selection=_younger_of_the_best, choice=choice)


def _younger_of_the_best(individuals: list[Individual], k: int) -> list[Individual]:
    """Selects the best, and among equals the youngest."""
    return tools.selBest(individuals[::-1], k)  # type: ignore[no-any-return] # DEAP has no types
