"""Search of a kernel's tunables with a surrogate model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fitness import Kernel, Task
from operators import Brief, Operator, Proposal, TunableError

from ..choice import Choice
from ..individual import Individual
from ..policy import Plan, Policy
from ..surrogates.search import SpaceExhausted, SurrogateSearch
from ..surrogates.template import Template, declared
from ..surrogates.tuning_space import Configuration
from .breeding import check_sizes
from .steady_state import SteadyState

_LOG = logging.getLogger("kernelwright.evolve")

NAME = "surrogate"
"""What stands in records in the place of an operator."""

_ELITES = 10


class Surrogate:
    """Asks a surrogate model which setting of the tunables comes next; see `evolve.surrogates`.

    The best seed that declares tunables gives the source, and only its values change, so that no operator is asked.
    Where no seed declares any, a steady state of eight runs on the operators instead, and a line in the log says so.

    Equal answers give equal questions with the same build of NumPy and SciPy on the same kind of processor; elsewhere
    the last bits of linear algebra may differ, and with them, now and then, a choice.

    Args:
        lambda_: Slots of a record; of no influence on the search.
        in_flight: Slots under way at once; 1 is strictly sequential.
        initial: Size of the well-spread design before the model is asked, seeds included.
        candidates: Settings that the model ranks for each choice.
        choice: Chooses operators where no seed declares tunables; None for equal weights.
        template: Makes the space of a kernel's parameters.

    Raises:
        ValueError: A size is below 1.
    """

    def __init__(
        self,
        *,
        lambda_: int,
        in_flight: int = 1,
        initial: int = 12,
        candidates: int = 1500,
        choice: Choice | None = None,
        template: Callable[[Kernel, Task | None], Template] = declared,
    ) -> None:
        check_sizes(lambda_=lambda_, in_flight=in_flight, initial=initial, candidates=candidates)
        self.generation_size = lambda_
        self._lag = in_flight
        self._initial = initial
        self._candidates = candidates
        self._make_template = template
        self._fallback: Policy = SteadyState(mu=8, lambda_=lambda_, in_flight=in_flight, choice=choice)
        self._falls_back = False
        self._task: Task | None = None
        self._template: Template | None = None
        self._search: SurrogateSearch | None = None
        self._asked: dict[str, Configuration] = {}
        self._taught: dict[str, Configuration] = {}
        self._seeds: list[Individual] = []
        self._best: list[Individual] = []

    def begin(self, brief: Brief) -> None:
        """Takes note of the task, which may know what settings exist."""
        self._task = brief.task

    def ready(self, slot: int) -> int:
        """Returns how many slots must be committed: all but those in flight."""
        return max(0, slot - self._lag + 1)

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Asks the model; once a space is exhausted, its best is proposed again, which costs nothing."""
        if self._search is None and not self._falls_back:
            self._found()
        if self._search is None or self._template is None:
            return self._fallback.plan(slot, operators, rng)
        best = self._best[0]
        try:
            configuration = self._search.ask(rng)
        except SpaceExhausted:
            again = Proposal(best.kernel, NAME, (best.digest,), note="every setting has been tried")
            return Plan(NAME, (best,), remembers=False, proposal=again)
        kernel = self._template.write(configuration)
        self._asked[kernel.digest] = configuration
        names = self._search.space.names
        old = self._taught.get(best.digest, configuration)
        note = ", ".join(
            f"{name} = {new}" for name, was, new in zip(names, old, configuration, strict=True) if was != new
        )
        return Plan(NAME, (best,), remembers=False, proposal=Proposal(kernel, NAME, (best.digest,), note=note))

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Teaches the model."""
        self._fallback.tell(individual, rng)
        if individual.fitness.valid and all(each.digest != individual.digest for each in self._best):
            # A stable sort, so that of two equals the older one stays first.
            self._best = sorted([*self._best, individual], key=lambda each: each.cost)[:_ELITES]
        if self._search is None:
            self._seeds.append(individual)
        else:
            self._teach(individual)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The best so far, best first; of the steady state its population."""
        return self._fallback.survivors if self._falls_back else self._best

    def _found(self) -> None:
        """Makes the search from the best seed that declares tunables, and teaches it what is known."""
        reason = "no seed is valid"
        for seed in sorted((each for each in self._seeds if each.fitness.valid), key=lambda each: each.cost):
            try:
                self._template = self._make_template(seed.kernel, self._task)
            except TunableError as error:
                reason = str(error)
                continue
            self._search = SurrogateSearch(self._template.space, initial=self._initial, candidates=self._candidates)
            for each in self._seeds:
                self._teach(each)
            return
        self._falls_back = True
        _LOG.warning("search=surrogate has nothing to model, so a steady state runs on the operators: %s", reason)

    def _teach(self, individual: Individual) -> None:
        if self._search is None or self._template is None or individual.outcome == "refused":
            return
        configuration = self._asked.pop(individual.digest, None)
        if configuration is None and individual.kernel.source:
            configuration = self._template.read(individual.kernel)
        if configuration is not None:
            self._taught[individual.digest] = configuration
            self._search.tell(configuration, individual.cost if individual.fitness.valid else None)
