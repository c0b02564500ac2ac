"""Ways to go through a tuning space with a cap: at random, over a grid, with Optuna's TPE, or with our surrogate."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

from ..errors import SearchError
from .search import SpaceExhausted, SurrogateSearch
from .tuning_space import Configuration, TuningSpace

Method = Literal["random", "grid", "tpe", "surrogate"]

_DRAWS = 50
"""Suggestions of Optuna, which knows no constraints, before a random configuration is taken instead."""


class Tuning(Protocol):
    """Chooses configurations of one space, at most a cap of them."""

    def ask(self) -> Configuration | None:
        """Returns the next configuration, or None: nothing is left, or answers must come first."""
        ...

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Takes note of an answer; None for a failure."""
        ...


def open_tuning(method: Method, space: TuningSpace, start: Configuration, cap: int, rng: np.random.Generator) -> Tuning:
    """Begins a tuning.

    Args:
        method: One of `Method`.
        space: What is gone through.
        start: Is known already and never asked for.
        cap: Configurations that are asked for at most.
        rng: Decides.

    Raises:
        SearchError: Optuna is wanted and not installed.
    """
    if method == "surrogate":
        return _Modelled(space, cap, rng)
    if method == "tpe":
        return _Suggested(space, start, cap, rng)
    return _Listed(space, start, cap, rng if method == "random" else None)


class _Listed:
    """Configurations that are chosen beforehand: at random, or evenly over all that exist."""

    def __init__(self, space: TuningSpace, start: Configuration, cap: int, rng: np.random.Generator | None) -> None:
        # A space too large to be listed has no grid: its random sample is taken in either case.
        sampled = space.sample(rng or np.random.default_rng(0), max(4 * cap, space.size or 0))
        every = space.existing(sampled, without=space.keys(space.to_levels(start)[None, :]))
        if rng is not None:
            chosen = rng.permutation(len(every))[:cap]
        else:
            chosen = np.unique(np.linspace(0, len(every) - 1, min(cap, len(every))).astype(np.int64))
        self._left = [space.to_configuration(every[i]) for i in chosen.tolist()]

    def ask(self) -> Configuration | None:
        """The next one."""
        return self._left.pop(0) if self._left else None

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Learns nothing."""


class _Modelled:
    """Our own surrogate, one configuration after the other."""

    def __init__(self, space: TuningSpace, cap: int, rng: np.random.Generator) -> None:
        self._search = SurrogateSearch(space, initial=max(2, cap // 3))
        self._rng, self._cap, self._waits = rng, cap, True

    def ask(self) -> Configuration | None:
        """The next one, once the one before is answered."""
        if self._waits or not self._cap:
            return None
        try:
            configuration = self._search.ask(self._rng)
        except SpaceExhausted:
            return None
        self._waits, self._cap = True, self._cap - 1
        return configuration

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Teaches the model; the configuration that a tuning starts from comes first."""
        self._waits = False
        self._search.tell(configuration, cost)


class _Suggested:
    """Optuna's TPE over the indices of values, one configuration after the other."""

    def __init__(self, space: TuningSpace, start: Configuration, cap: int, rng: np.random.Generator) -> None:
        try:
            import optuna
        except ImportError:
            raise SearchError("tuning with method=tpe needs Optuna; run pip install optuna") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)), n_startup_trials=max(2, cap // 3))
        self._optuna = optuna
        self._study = optuna.create_study(sampler=sampler)
        self._space, self._rng, self._cap, self._waits = space, rng, cap, True
        self._trials: dict[Configuration, Any] = {}
        self._known = {start}

    def ask(self) -> Configuration | None:
        """The next one, once the one before is answered."""
        if self._waits or not self._cap:
            return None
        configuration = self._suggested() or self._drawn()
        if configuration is not None:
            self._waits, self._cap = True, self._cap - 1
            self._known.add(configuration)
        return configuration

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Teaches the model; the configuration that a tuning starts from comes first."""
        self._waits = False
        trial = self._trials.pop(configuration, None)
        if trial is not None:
            failed = self._optuna.trial.TrialState.FAIL
            self._study.tell(trial, cost, state=failed if cost is None else None)
        elif cost is not None:
            parameters = {str(i): self._space.values[i].index(configuration[i]) for i in self._space.free.tolist()}
            spaces = {str(i): self._distribution(i) for i in self._space.free.tolist()}
            finished = self._optuna.trial.create_trial(params=parameters, distributions=spaces, value=cost)
            self._study.add_trial(finished)

    def _distribution(self, column: int) -> Any:
        return self._optuna.distributions.IntDistribution(0, int(self._space.num_levels[column]) - 1)

    def _suggested(self) -> Configuration | None:
        for _ in range(_DRAWS):
            trial = self._study.ask({str(i): self._distribution(i) for i in self._space.free.tolist()})
            row = np.zeros(len(self._space.names), dtype=np.int64)
            for i in self._space.free.tolist():
                row[i] = trial.params[str(i)]
            configuration = self._space.to_configuration(row)
            if len(self._space.existing(row[None, :])) and configuration not in self._known:
                self._trials[configuration] = trial
                return configuration
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    def _drawn(self) -> Configuration | None:
        rows = self._space.sample(self._rng, max(64, self._space.size or 0))
        left = [each for each in map(self._space.to_configuration, rows) if each not in self._known]
        return left[int(self._rng.integers(len(left)))] if left else None
