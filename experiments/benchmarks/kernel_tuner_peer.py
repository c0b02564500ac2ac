"""Kernel Tuner's search strategies over a recorded space, under the accounting of `space_runs`.

Its own simulation (``tune_cache``) treats failing configurations as restricted, so that they cost nothing there. Here
every distinct configuration that is recorded costs one evaluation, also when it fails, and what is not recorded does
not exist.
"""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve import stream
from fitness.spaces import Space

from ..faults import ConfigError, choices

FloatArray = NDArray[np.float64]

STRATEGIES = (
    "adaptive_tabu_greywolf",
    "hybrid_vndx",
    "pso",
    "genetic_algorithm",
    "nsga2",
    "firefly_algorithm",
    "diff_evo",
    "simulated_annealing",
    "basinhopping",
    "bayes_opt",
    "dual_annealing",
    "greedy_ils",
    "greedy_mls",
    "ordered_greedy_mls",
    "mls",
    "minimize",
    "random_sample",
)
"""What version 1.5 ships and runs without further packages, the stronger ones first."""

VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "pso_pop10": ("pso", {"popsize": 10}),
    "ga_pop10": ("genetic_algorithm", {"popsize": 10, "mutation_chance": 10}),
    "de_pop12": ("diff_evo", {"popsize": 12}),
    "firefly_pop8": ("firefly_algorithm", {"popsize": 8}),
    "greywolf_budget": ("adaptive_tabu_greywolf", {"budget": "max_fevals"}),
}
"""The same with options for small budgets; ``"max_fevals"`` stands for the budget itself."""

BUDGET_AWARE = frozenset({"simulated_annealing", "dual_annealing", "greywolf_budget"})
"""Strategies that look at the budget, so that each budget needs a run of its own; the others only stop there."""

_REPEATS_ALLOWED = 200
"""A strategy that asks for so many known configurations per evaluation has come to its end."""


def check_strategies(names: Sequence[str]) -> None:
    """Refuses unknown strategies, and a missing or another Kernel Tuner.

    Raises:
        ConfigError: Says what to install, or what to choose from.
    """
    try:
        found = version("kernel_tuner")
    except PackageNotFoundError:
        raise ConfigError('--peer kernel_tuner: not installed; run pip install "kernel_tuner==1.5.*"') from None
    if not found.startswith("1.5"):
        raise ConfigError(f'--peer kernel_tuner: version {found} is not 1.5; run pip install "kernel_tuner==1.5.*"')
    for name in names:
        if name not in (*STRATEGIES, *VARIANTS):
            raise ConfigError(f"--strategies: unknown strategy {name!r}; {choices(name, [*STRATEGIES, *VARIANTS])}")


def best_so_far_ms(space: Space, strategy: str, budget: int, seed: int, repeat: int) -> FloatArray:
    """Runs a strategy once, with its default options or those of `VARIANTS`; see `space_runs.best_so_far_ms`."""
    from kernel_tuner.interface import Options, strategy_map
    from kernel_tuner.util import StopCriterionReached, TuningBudget

    rng = stream(seed, repeat, f"kernel_tuner/{strategy}/{space.name}")
    random.seed(int(rng.integers(2**63)))
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002 - Kernel Tuner draws from the global generator
    parameters = {name: list(values) for name, values in space.parameters.items()}
    most = min(budget, len(space))
    strategy, more = VARIANTS.get(strategy, (strategy, {}))
    given = {name: most if value == "max_fevals" else value for name, value in more.items()}
    options = Options(
        strategy=strategy,
        strategy_options=Options(max_fevals=most, **given),
        max_fevals=most,
        budget=TuningBudget(None, most),
        objective=["time"],
        objective_higher_is_better=[False],
        tune_params=parameters,
        restrictions_unmodified=None,
        restrictions=None,
        simulation_mode=True,
        verbose=False,
        metrics=None,
        cache={},
        seed=None,
    )
    runner = _Runner(space, budget)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(StopCriterionReached, _Stalled):
            strategy_map[strategy].tune(_search_space(space), runner, options)
    return runner.curve()


class _Stalled(Exception):
    """The strategy goes round in circles."""


class _Runner:
    """Answers configurations from a recorded space, and keeps the best time after each evaluation."""

    dev = SimpleNamespace(max_threads=1024)  # that a block may have; which configurations exist is known already

    def __init__(self, space: Space, budget: int) -> None:
        self._space = space
        self._budget = budget
        self._known: dict[int, dict[str, Any]] = {}
        self._best: list[float] = []
        self._calls = 0

    def add_strategy_time(self, seconds: float) -> None:
        """Takes no note of it."""

    def run(self, configurations: Iterable[Sequence[Any]], tuning_options: Any) -> list[dict[str, Any] | None]:
        """Looks configurations up; None for those that the budget does not allow any more.

        Raises:
            _Stalled: Hardly anything that is asked is new.
        """
        results: list[dict[str, Any] | None] = []
        for configuration in configurations:
            self._calls += 1
            if self._calls > _REPEATS_ALLOWED * self._budget:
                raise _Stalled
            results.append(None if tuning_options.budget.is_done() else self._look_up(configuration, tuning_options))
        return results

    def curve(self) -> FloatArray:
        """``(budget,)`` best time after each evaluation, in ms, infinite before the first valid one."""
        best = self._best[: self._budget] or [np.inf]
        return np.minimum.accumulate(np.array([*best, *[best[-1]] * (self._budget - len(best))]))

    def _look_up(self, configuration: Sequence[Any], tuning_options: Any) -> dict[str, Any]:
        from kernel_tuner.util import InvalidConfig, RuntimeFailedConfig

        result = dict(zip(self._space.parameters, configuration, strict=True))
        try:
            position = self._space.position(configuration)
        except KeyError:
            return {**result, "time": InvalidConfig(), "__error__": InvalidConfig()}
        if position not in self._known:
            tuning_options.budget.add_evaluations(1)
            time = float(self._space.times_ms[position])
            self._best.append(time if np.isfinite(time) else np.inf)
            failure = RuntimeFailedConfig()
            answer = {"time": time} if np.isfinite(time) else {"time": failure, "__error__": failure}
            self._known[position] = {**result, **answer}
        return dict(self._known[position])


@lru_cache(maxsize=1)
def _search_space(space: Space) -> Any:
    """Kernel Tuner's own view of the space; made once, since it depends on nothing that a run changes."""
    from kernel_tuner.searchspace import Searchspace

    parameters = {name: list(values) for name, values in space.parameters.items()}
    names = list(parameters)
    entries = {str(place): dict(zip(names, space.configuration(place), strict=True)) for place in range(len(space))}
    return Searchspace(None, None, None, from_cache={"tune_params": parameters, "cache": entries})
