"""Random settings of the tunables that a kernel declares in its source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fitness import Kernel, Restricted

from .operator import Brief, Parent, Proposal
from .parameter import without_tunables
from .tunables import TunableError, Tunables

_MAX_DRAWS = 1000


class ParameterSample:
    """Drafts the task's seed kernel with a setting drawn uniformly from all that are allowed.

    Settings that break a constraint are drawn again, which costs no evaluation.
    """

    name = "parameter_sample"
    arity = 0
    memory: frozenset[str] = frozenset()
    takes_failures = False

    def objection(self, kernel: Kernel) -> str:
        """Returns why nothing could come of a kernel: it declares no tunables, or not well."""
        return without_tunables(kernel)

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns the seed kernel with other values, or a proposal without a kernel that says why there is none."""
        del parents
        seed = brief.task.seed_kernel(brief.language.name)
        try:
            tunables = _read(seed.source)
        except TunableError as error:
            return Proposal(None, self.name, (), "malformed_tunable", str(error))
        if not tunables:
            return Proposal(None, self.name, (), "no_tunables", "the seed kernel declares no tunables")
        for _ in range(_MAX_DRAWS):
            setting = {name: values[int(rng.integers(len(values)))] for name, values in tunables.choices.items()}
            if isinstance(brief.task, Restricted):
                row = brief.task.levels[int(rng.integers(len(brief.task.levels)))].tolist()
                pairs = zip(brief.task.parameters.items(), row, strict=True)
                setting = {name: values[level] for (name, values), level in pairs}
            if tunables.allows(setting):
                note = ", ".join(f"{name} = {value}" for name, value in setting.items())
                kernel = Kernel(tunables.with_values(setting), seed.language, seed.entry_point)
                return Proposal(kernel, self.name, (), note=note)
        return Proposal(None, self.name, (), "no_edit", "no setting was found that the constraints allow")


@lru_cache(maxsize=16)
def _read(source: str) -> Tunables:
    return Tunables.read(source)
