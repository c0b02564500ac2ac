"""Mutation and crossover of the parameters that a kernel declares in its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fitness import Kernel, Restricted

from .operator import Brief, Parent, Proposal
from .tunables import Tunable, TunableError, Tunables, Value, adjacent

_MAX_DRAWS = 50
_DRAWN = 100
"""Settings of a task that lists them, among which a near one is looked for when blind changes have led nowhere."""


class ParameterMutation:
    """Gives one or a few tunables of its parent another allowed value.

    Settings that break a constraint are drawn again, which costs no evaluation.

    Args:
        more_changes: Probability of changing a further tunable after each one.
        adjacent_share: How often the new value is next to the old one in the list of choices; else it is any.

    Raises:
        ValueError: A probability is not in its range.
    """

    name = "parameter_mutation"
    arity = 1
    memory: frozenset[str] = frozenset()
    takes_failures = False

    def __init__(self, more_changes: float = 0.3, adjacent_share: float = 0.6) -> None:
        if not 0 <= more_changes < 1 or not 0 <= adjacent_share <= 1:
            raise ValueError("more_changes must be in [0, 1) and adjacent_share in [0, 1]")
        self.more_changes = more_changes
        self.adjacent_share = adjacent_share

    def objection(self, kernel: Kernel) -> str:
        """Returns why nothing could come of a kernel: it declares no tunables, or not well."""
        return without_tunables(kernel)

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns the parent with other values, or a proposal without a kernel that says why there is none."""
        parent = parents[0].kernel
        try:
            tunables = Tunables.read(parent.source)
        except TunableError as error:
            return Proposal(None, self.name, (parent.digest,), "malformed_tunable", str(error))
        if not tunables:
            return Proposal(None, self.name, (parent.digest,), "no_tunables", "the kernel declares no tunables")
        allowed = _allowed(tunables, brief)
        for _ in range(_MAX_DRAWS):
            setting = self._changed(tunables, rng)
            if setting != tunables.values and allowed(setting):
                return _proposal(self.name, tunables, setting, (parent,))
        other = _any_other(tunables, [tunables.values], brief, rng)
        if other is None:
            return Proposal(None, self.name, (parent.digest,), "no_edit", "no other setting is allowed")
        return _proposal(self.name, tunables, other, (parent,))

    def _changed(self, tunables: Tunables, rng: np.random.Generator) -> dict[str, Value]:
        setting = tunables.values
        count = 1
        while rng.random() < self.more_changes:
            count += 1
        for place in rng.permutation(len(tunables.tunables))[:count]:
            tunable = tunables.tunables[int(place)]
            setting[tunable.name] = self._other(tunable, rng)
        for tunable in tunables.tunables:  # a value that the code has but the declaration does not allow
            if setting[tunable.name] not in tunable.choices:
                setting[tunable.name] = self._other(tunable, rng)
        return setting

    def _other(self, tunable: Tunable, rng: np.random.Generator) -> Value:
        near = rng.random() < self.adjacent_share
        others = adjacent(tunable, tunable.value) if near else tunable.choices
        pool = [value for value in others if value != tunable.value] or list(tunable.choices)
        return pool[int(rng.integers(len(pool)))]


class ParameterCrossover:
    """Takes each tunable's value from either parent, all alike; all else comes from the first parent."""

    name = "parameter_crossover"
    arity = 2
    memory: frozenset[str] = frozenset()
    takes_failures = False

    def objection(self, kernel: Kernel) -> str:
        """Returns why nothing could come of a kernel: it declares no tunables, or not well."""
        return without_tunables(kernel)

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns the first parent with some values of the second, different from both where that is possible."""
        first, second = parents[0].kernel, parents[1].kernel
        digests = (first.digest, second.digest)
        try:
            one, other = Tunables.read(first.source), Tunables.read(second.source)
        except TunableError as error:
            return Proposal(None, self.name, digests, "malformed_tunable", str(error))
        values, choices = one.values, one.choices
        theirs = {name: value for name, value in other.values.items() if value in choices.get(name, ())}
        different = [name for name, value in theirs.items() if value != values[name]]
        if not different:
            return Proposal(None, self.name, digests, "no_edit", "the parents agree in all tunables that they share")
        allowed, refused = _allowed(one, brief), {frozenset[str]()}
        for _ in range(_MAX_DRAWS):
            taken = frozenset(name for name in different if rng.random() < 0.5)
            if taken in refused:
                continue
            setting = {**values, **{name: theirs[name] for name in taken}}
            if allowed(setting) and one.with_values(setting) != second.source:
                return _proposal(self.name, one, setting, (first, second))
            refused.add(taken)
            if len(refused) == 2 ** len(different):
                break
        return Proposal(None, self.name, digests, "no_edit", "no mixture of the parents is new and allowed")


def without_tunables(kernel: Kernel) -> str:
    """Returns why a kernel has no parameter to vary, or an empty text when it has one."""
    try:
        return "" if Tunables.read(kernel.source) else "the kernel declares no tunables"
    except TunableError as error:
        return str(error)


def _allowed(tunables: Tunables, brief: Brief) -> Callable[[Mapping[str, Value]], bool]:
    """Returns whether the kernel's own constraints allow a setting, and the task knows of it where it knows them all.

    What kind of task it is takes longer to find out than all else, and is asked once.
    """
    if not isinstance(brief.task, Restricted):
        return tunables.allows
    exists = brief.task.exists
    return lambda setting: tunables.allows(setting) and exists(setting)


def _any_other(
    tunables: Tunables, known: Sequence[Mapping[str, Value]], brief: Brief, rng: np.random.Generator
) -> dict[str, Value] | None:
    """Returns an allowed setting that is not known, or None: the nearest of some where a task lists all, else any."""
    if isinstance(brief.task, Restricted):
        return _near_listed(tunables, brief.task, rng)
    pool = []
    for place, setting in enumerate(tunables.settings()):
        if setting not in known and tunables.allows(setting):
            pool.append(setting)
        if place >= 10_000:
            break
    return pool[int(rng.integers(len(pool)))] if pool else None


def _near_listed(tunables: Tunables, task: Restricted, rng: np.random.Generator) -> dict[str, Value] | None:
    """Of some settings that exist, returns the one that differs in the fewest values, but in one; None without any."""
    drawn = task.levels[rng.integers(len(task.levels), size=_DRAWN)].tolist()
    names, old = list(task.parameters), tunables.values
    settings = [{name: task.parameters[name][level] for name, level in zip(names, row, strict=True)} for row in drawn]
    others = [setting for setting in settings if setting != old and tunables.allows(setting)]
    return min(others, key=lambda setting: sum(setting[name] != old[name] for name in names), default=None)


def _proposal(operator: str, tunables: Tunables, setting: Mapping[str, Value], parents: Sequence[Kernel]) -> Proposal:
    changed = [f"{name} = {value}" for name, value in setting.items() if value != tunables.values[name]]
    kernel = Kernel(tunables.with_values(setting), parents[0].language, parents[0].entry_point)
    return Proposal(kernel, operator, tuple(parent.digest for parent in parents), note=", ".join(changed))
