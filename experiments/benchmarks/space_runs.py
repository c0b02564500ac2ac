"""One run of a search policy over a recorded space, through the engine, as a curve of what it found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evolve import Budget, Engine, Individual, Journal, Policy, Seed, stream
from evolve.choice import Weights
from evolve.policies import (
    MuCommaLambda,
    MuPlusLambda,
    OnePlusOne,
    Phases,
    RandomSampling,
    SteadyState,
    Surrogate,
    select_by_beta,
)
from fitness import Calibration, Duel, Evaluation, Kernel
from fitness.spaces import RecordedEvaluator, RecordedLanguage, RecordedSpace, RecordedTarget
from operators import Brief, Operator, ParameterCrossover, ParameterMutation, ParameterSample

FloatArray = NDArray[np.float64]

_SLOTS = 20
"""Slots of a record, which only says how often the engine reports."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A search: its policy, and the operators that it works with.

    Attributes:
        policy: Makes the policy.
        operators: Makes the operators, by the names that plans use.
        about: One line for ``--help``.
    """

    policy: Callable[[], Policy]
    operators: Callable[[], dict[str, Operator]]
    about: str


def _sample() -> dict[str, Operator]:
    return {"sample": ParameterSample()}


def _vary() -> dict[str, Operator]:
    return {"sample": ParameterSample(), "mutate": ParameterMutation(), "crossover": ParameterCrossover()}


_GROWTH = Weights({"sample": 0.1, "mutate": 1.0, "crossover": 1.0})

POLICIES: Mapping[str, Setup] = {
    "surrogate": Setup(partial(Surrogate, lambda_=_SLOTS), _sample, "our own: a Gaussian process on the tunables"),
    "random_sampling": Setup(partial(RandomSampling, lambda_=_SLOTS), _sample, "uniform, without repetition"),
    "genetic_algorithm": Setup(
        partial(
            Phases,
            drafts=20,
            growth=partial(MuCommaLambda, mu=20, lambda_=20, parent_selection=select_by_beta),
            choice=_GROWTH,
        ),
        _vary,
        "generations of 20 that replace each other, parents by rank",
    ),
    "mu_plus_lambda": Setup(
        partial(Phases, drafts=10, growth=partial(MuPlusLambda, mu=8, lambda_=16), choice=_GROWTH),
        _vary,
        "(8 + 16) after 10 random settings",
    ),
    "steady_state": Setup(
        partial(Phases, drafts=10, growth=partial(SteadyState, mu=8, lambda_=16), choice=_GROWTH),
        _vary,
        "a population of 8, one child at a time",
    ),
    "one_plus_one": Setup(
        partial(Phases, drafts=10, growth=partial(OnePlusOne, lambda_=16), choice=_GROWTH),
        _vary,
        "(1 + 1) from the best of 10 random settings",
    ),
}


class LookUps:
    """The evaluator's door without a journal: an answer that is looked up need not be kept.

    Args:
        evaluator: Looks answers up.
    """

    def __init__(self, evaluator: RecordedEvaluator) -> None:
        self._evaluator = evaluator
        self._calibration = evaluator.calibrate()

    def calibration(self) -> Calibration:
        """Returns the scale of latencies."""
        return self._calibration

    def submit(self, kernel: Kernel) -> Future[Evaluation]:
        """Looks a kernel up at once."""
        future: Future[Evaluation] = Future()
        future.set_result(self._evaluator.evaluate(kernel, self._calibration))
        return future

    def duel(self, challenger: Kernel, elite: Kernel) -> Duel:
        """Compares what is recorded of two kernels."""
        return self._evaluator.duel(challenger, elite, self._calibration)

    def verify(self, kernel: Kernel) -> Evaluation:
        """Looks a kernel up once more."""
        return self._evaluator.verify(kernel, self._calibration)


class _Scratch(Journal):
    """A journal that is thrown away, for which nobody waits until it is on the disk."""

    def sync(self) -> None:
        """Does nothing."""


def best_so_far_ms(task: RecordedSpace, policy: str, budget: int, seed: int, repeat: int) -> FloatArray:
    """Runs one of `POLICIES` once, see `search_ms`."""
    return search_ms(task, POLICIES[policy], budget, seed, repeat)


def search_ms(task: RecordedSpace, setup: Setup, budget: int, seed: int, repeat: int) -> FloatArray:
    """Runs a search once, see `search`.

    Returns:
        ``(budget,)`` best time after each evaluation, infinite before the first valid one. A search that ends sooner
        keeps its last value.
    """
    found = search(task, setup, budget, seed, repeat)
    times_ms = np.array([(each.evaluation.latency_us or np.inf) / 1e3 for each in found])
    return np.minimum.accumulate(np.concatenate([times_ms, np.full(budget - len(times_ms), np.inf)]))


def search(task: RecordedSpace, setup: Setup, budget: int, seed: int, repeat: int) -> list[Individual]:
    """Runs a search once.

    It starts with uniform draws until one of them is valid, the same ones for every search; each is an evaluation.

    Args:
        task: The recorded space.
        setup: Policy and operators.
        budget: Evaluations: distinct configurations of the space, failing ones included.
        seed: Of the whole benchmark.
        repeat: Which run this is.

    Returns:
        What cost an evaluation, in order, at most ``budget``; nothing where no draw is valid.
    """
    space = task.space
    places = stream(seed, repeat, f"start/{space.name}").permutation(len(space))[:budget]
    valid = np.flatnonzero(np.isfinite(space.times_ms[places]))
    if not valid.size:
        return []
    places = places[: valid[0] + 1]
    target, language = RecordedTarget(), RecordedLanguage()
    with tempfile.TemporaryDirectory() as folder, _Scratch(Path(folder) / "journal.jsonl") as journal:
        engine = Engine(
            seed_kernels=[Seed(task.kernel(int(place)), origin="draw") for place in places],
            operators=setup.operators(),
            policy=setup.policy(),
            brief=Brief(task, target, language),
            evaluations=LookUps(RecordedEvaluator(task, target, language)),
            journal=journal,
            seed=int(stream(seed, repeat, f"run/{space.name}").integers(2**31)),
            budget=Budget(evaluations=budget),
        )
        return [each for generation in engine.run() for each in generation.offspring if _is_charged(each)]


def _is_charged(individual: Individual) -> bool:
    """Whether an individual cost an evaluation, as the engine counts them."""
    return bool(individual.kernel.source) and individual.outcome != "refused" and individual.duplicate_of is None
