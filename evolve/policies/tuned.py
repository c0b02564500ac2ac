"""Kernels that declare tunables are tuned before they compete."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fitness import Kernel, Task
from operators import Brief, Operator, Proposal, TunableError

from ..individual import Individual
from ..policy import Briefed, Plan, Policy
from ..surrogates.template import Template, declared
from ..surrogates.tuning import Method, Tuning, open_tuning
from ..surrogates.tuning_space import Configuration
from .breeding import check_sizes

NAME = "tuning"
"""What stands in records in the place of an operator."""


@dataclass(slots=True)
class _Group:
    """A slot of the inner policy with the settings that are tried for it.

    Attributes:
        first: What its operator made, once that is known.
        best: Who will compete.
        tuning: None when there is nothing to tune.
        pending: Settings under evaluation, by digest.
    """

    first: Individual | None = None
    best: Individual | None = None
    template: Template | None = None
    tuning: Tuning | None = None
    pending: dict[str, Configuration] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return self.first is not None and self.tuning is None


class Tuned:
    """Another policy, whose correct kernels are tuned first: the best setting found competes in their place.

    Each setting that is tried is a slot of its own, recorded and charged like any other, and no operator or model is
    asked for it. The other policy is told of one individual for each of its own slots, in their order.

    Args:
        policy: Decides who breeds and who stays.
        method: ``"random"``, ``"grid"`` (evenly over all settings), ``"tpe"`` (needs Optuna) or ``"surrogate"`` (ours).
            The last two try one setting after the other, the first two at once.
        cap: Settings that are tried for one kernel at most, beside its own.
        template: Makes the space of a kernel's parameters.

    Raises:
        ValueError: ``cap`` is below 1, or the method is unknown.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        method: Method = "random",
        cap: int = 8,
        template: Callable[[Kernel, Task | None], Template] = declared,
    ) -> None:
        check_sizes(cap=cap)
        if method not in ("random", "grid", "tpe", "surrogate"):
            raise ValueError(f"method must be random, grid, tpe or surrogate, is {method!r}")
        self.generation_size = policy.generation_size
        self._policy = policy
        self._method: Method = method
        self._cap = cap
        self._make_template = template
        self._task: Task | None = None
        self._due: deque[tuple[Plan, _Group]] = deque()
        self._owners: deque[_Group] = deque()
        self._groups: deque[_Group] = deque()
        self._planned = self._passed_on = self._told = 0

    def begin(self, brief: Brief) -> None:
        """Takes note of the task, which may know what settings exist."""
        self._task = brief.task
        if isinstance(self._policy, Briefed):
            self._policy.begin(brief)

    def ready(self, slot: int) -> int:
        """Returns what is committed now if a setting or the other policy is due, else waits for one slot more.

        All that this looks at changes when slots are planned and committed, so that the order is the same each time.
        """
        is_due = bool(self._due) or self._policy.ready(self._planned) <= self._passed_on
        return self._told if is_due else self._told + 1

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        """Plans a setting that is due, or lets the other policy plan."""
        if self._due:
            plan, group = self._due.popleft()
        else:
            plan, group = self._policy.plan(self._planned, operators, rng), _Group()
            self._planned += 1
            self._groups.append(group)
        self._owners.append(group)
        return plan

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        """Takes note of a setting, or begins to tune; what is tuned is passed on."""
        if individual.slot < 0:
            self._policy.tell(individual, rng)
            return
        self._told += 1
        group = self._owners.popleft()
        if group.first is None:
            group.first = group.best = individual
            self._open(group, rng)
        else:
            self._judge(group, individual)
        self._continue(group)
        while self._groups and self._groups[0].is_whole:
            best = self._groups.popleft().best
            assert best is not None, "a whole group has an individual"
            self._passed_on += 1
            self._policy.tell(best, rng)

    @property
    def survivors(self) -> Sequence[Individual]:
        """The other policy's."""
        return self._policy.survivors

    def _open(self, group: _Group, rng: np.random.Generator) -> None:
        """Begins to tune what an operator made, if it is new, correct and declares tunables."""
        first = group.first
        if first is None or not first.fitness.valid or first.duplicate_of is not None:
            return
        try:
            group.template = self._make_template(first.kernel, self._task)
        except TunableError:
            return
        start = group.template.read(first.kernel)
        if start is not None:
            group.tuning = open_tuning(self._method, group.template.space, start, self._cap, rng)
            group.tuning.tell(start, first.cost)

    def _judge(self, group: _Group, individual: Individual) -> None:
        configuration = group.pending.pop(individual.digest)
        if group.tuning is not None:
            group.tuning.tell(configuration, individual.cost if individual.fitness.valid else None)
        if group.best is None or individual.cost < group.best.cost:
            group.best = individual

    def _continue(self, group: _Group) -> None:
        """Plans the settings that are due, or closes a tuning to which nothing is left."""
        if group.tuning is None or group.template is None or group.first is None:
            return
        while (configuration := group.tuning.ask()) is not None:
            kernel = group.template.write(configuration)
            group.pending[kernel.digest] = configuration
            pairs = zip(group.template.space.names, configuration, strict=True)
            note = ", ".join(f"{name} = {value}" for name, value in pairs)
            proposal = Proposal(kernel, NAME, (group.first.digest,), note=note)
            self._due.append((Plan(NAME, (group.first,), remembers=False, proposal=proposal), group))
        if not group.pending:
            group.tuning = None
