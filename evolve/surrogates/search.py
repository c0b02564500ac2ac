"""Search of a discrete tuning space with a surrogate model: ask for a configuration, tell what became of it.

A well-spread initial design, then one step at a time: a Gaussian process on the logarithm of the objective, another on
whether configurations work at all, and the configuration with the greatest expected improvement times the probability
to work among the neighbours, mutants and crossovers of the elites and a uniform sample (Jones 1998,
https://doi.org/10.1023/A:1008306431147, made discrete as in BaCO, Hellsten 2023,
https://doi.org/10.1145/3623278.3624770).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SearchError
from .gaussian_process import GaussianProcess, Prospect
from .tuning_space import Configuration, Keys, Levels, TuningSpace

FloatArray = npt.NDArray[np.float64]

_STEPS = np.array([-2, -1, 1, 2], dtype=np.int64)
"""How far a mutation moves a parameter along its values, where it does not draw any."""

_SPREAD_SAMPLE = 600
"""Rows among which the initial design is spread; all of a large space would cost more and gain nothing."""


_BATCH = 150
"""So many standard deviations are worked out at once, the most promising rows first."""

_LEAST_FEASIBILITY = 0.02
"""Floor of the modelled probability that a configuration works: no failure forbids its neighbourhood for good."""


class SpaceExhausted(SearchError):
    """Every configuration has been asked for or told, or no further one could be found."""


class SurrogateSearch:
    """Sequential model-based minimisation over a `TuningSpace`.

    The state is what was asked and told: with generators in equal states, equal answers give equal questions. Several
    configurations may be asked for before the first is told. What nobody asked for may be told as well.

    Args:
        space: What exists.
        initial: Size of the initial design.
        candidates: Configurations that are ranked at each step; a space of fewer is ranked as a whole.
        elites: The best so many breed candidates.
        refit_growth: Hyperparameters are fitted again when the observations have grown by this factor.
        max_observations: The model sees no more than these, half of them the best: this bounds the cost of a step.

    Raises:
        ValueError: A number is out of its range.
    """

    def __init__(
        self,
        space: TuningSpace,
        *,
        initial: int = 12,
        candidates: int = 1500,
        elites: int = 5,
        refit_growth: float = 1.15,
        max_observations: int = 300,
    ) -> None:
        if min(initial, candidates, elites) < 1 or max_observations < 4 or refit_growth < 1.0:
            raise ValueError("initial, candidates and elites must be at least 1, max_observations 4, refit_growth 1.0")
        self.space = space
        self.initial = initial
        self.candidates = candidates
        self.elites = elites
        self.refit_growth = refit_growth
        self.max_observations = max_observations
        self._model = GaussianProcess(space.tables, space.columns)
        self._feasibility = GaussianProcess(space.tables, space.columns)
        self._place: dict[int, int] = {}
        self._rows = np.empty((64, len(space.names)), dtype=np.int64)
        self._values = np.empty(64)
        self._pending: dict[int, Levels] = {}
        self._design: list[Levels] | None = None
        self._next_fit = 0.0

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to ask; a space that cannot be listed never says so before `ask` raises."""
        return self.space.size is not None and len(self._place) + len(self._pending) >= self.space.size

    def ask(self, rng: np.random.Generator) -> Configuration:
        """Chooses a configuration that has been neither asked for nor told.

        Raises:
            SpaceExhausted: There is none, or none could be found.
        """
        row = self._from_design(rng)
        if row is None:
            row = self._improving(rng) if self._num_valid >= 2 else self._any(rng)
        self._pending[self._key(row)] = row
        return self.space.to_configuration(row)

    def tell(self, configuration: Sequence[Any], objective: float | None) -> None:
        """Takes note of an evaluation; told again, a configuration's newest value counts.

        Args:
            configuration: Any of the space.
            objective: To be minimised; None, NaN and infinities are failures.

        Raises:
            ValueError: The configuration is not made of the space's values.
        """
        row = self.space.to_levels(configuration)
        key = self._key(row)
        self._pending.pop(key, None)
        is_valid = objective is not None and math.isfinite(objective)
        place = self._place.setdefault(key, len(self._place))
        if place == len(self._values):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._rows[place] = row
        self._values[place] = float(objective) if is_valid and objective is not None else math.nan

    @property
    def _num_valid(self) -> int:
        return int(np.isfinite(self._values[: len(self._place)]).sum())

    def _key(self, row: Levels) -> int:
        return int(self.space.keys(row[None, :])[0])

    @property
    def _seen(self) -> Keys:
        return np.array([*self._place, *self._pending], dtype=np.uint64)

    def _unseen(self, levels: Levels) -> Levels:
        return levels[~np.isin(self.space.keys(levels), self._seen)]

    def _from_design(self, rng: np.random.Generator) -> Levels | None:
        if self._design is None:
            known = list(self._rows[: len(self._place)])
            rows = self._unseen(self.space.sample(rng, _SPREAD_SAMPLE))
            self._design = _spread(self.space, rows, known, self.initial - len(known), rng)
        while self._design:
            row = self._design.pop(0)
            if len(self._unseen(row[None, :])):
                return row
        return None

    def _any(self, rng: np.random.Generator) -> Levels:
        """A random unseen row: until two valid ones are known there is nothing to model."""
        rows = self._unseen(self.space.sample(rng, 64))
        if not len(rows) and self.space.size is not None:
            rows = self._unseen(self.space.sample(rng, self.space.size))
        if not len(rows):
            raise SpaceExhausted("no configuration is left that was not asked for or told")
        chosen: Levels = rows[rng.integers(len(rows))]
        return chosen

    def _improving(self, rng: np.random.Generator) -> Levels:
        rows = self._candidates(rng)
        if not len(rows):
            return self._any(rng)
        levels, values = self._shown()
        valid = ~np.isnan(values)
        iterations = 15 if len(self._place) >= self._next_fit else 0
        if iterations:
            self._next_fit = len(self._place) * self.refit_growth
        targets = _standardised(values[valid])
        self._model.fit(*self._with_pending(levels[valid], targets), iterations=iterations)
        log_likely = np.zeros(len(rows))
        if not valid.all():
            self._feasibility.fit(levels, valid.astype(np.float64), iterations=iterations)
            log_likely = np.log(np.clip(self._feasibility.predict_mean(rows), _LEAST_FEASIBILITY, 1.0))
        chosen: Levels = rows[_most_worth(self._model.look(rows), float(targets.min()), log_likely)]
        return chosen

    def _candidates(self, rng: np.random.Generator) -> Levels:
        """Unseen rows to be ranked, ``(about self.candidates, num_parameters)``: two thirds near the elites."""
        if self.space.size is not None and self.space.size <= self.candidates:
            return self._unseen(self.space.sample(rng, self.candidates))
        order = np.argsort(self._values[: len(self._place)], kind="stable")[: min(self.elites, self._num_valid)]
        elites = self._rows[order]
        near = [self.space.neighbours(row) for row in elites[:3]]
        mutants = self.space.existing(_vary(self.space, elites, 2 * self.candidates, rng))
        wanted = 2 * self.candidates // 3
        near.append(mutants[rng.permutation(len(mutants))[:wanted]])
        near.append(self.space.sample(rng, self.candidates - wanted))
        return self.space.existing(np.concatenate(near), without=self._seen)

    def _shown(self) -> tuple[Levels, FloatArray]:
        """Rows and objectives that the models are shown, NaN for failures."""
        levels, values = self._rows[: len(self._place)], self._values[: len(self._place)]
        if len(values) > self.max_observations:
            kept = _thin(values, self.max_observations)
            levels, values = levels[kept], values[kept]
        return levels, values

    def _with_pending(self, levels: Levels, targets: FloatArray) -> tuple[Levels, FloatArray]:
        """Adds what is pending as average, so that it is not asked twice over through its neighbours."""
        if not self._pending:
            return levels, targets
        pending = np.array(list(self._pending.values()))
        return np.concatenate([levels, pending]), np.concatenate([targets, np.zeros(len(pending))])


def _spread(
    space: TuningSpace, rows: Levels, known: Sequence[Levels], count: int, rng: np.random.Generator
) -> list[Levels]:
    """At most ``count`` rows, each the farthest from the known and the chosen ones (maximin); the first may be any."""
    coordinates = space.encode(rows)
    distance = np.full(len(rows), np.inf)
    for row in known:
        distance = np.minimum(distance, ((coordinates - space.encode(row[None, :])) ** 2).sum(axis=1))
    chosen: list[int] = []
    while len(chosen) < min(count, len(rows)):
        chosen.append(int(np.argmax(distance)) if known or chosen else int(rng.integers(len(rows))))
        distance = np.minimum(distance, ((coordinates - coordinates[chosen[-1]]) ** 2).sum(axis=1))
    return [rows[i] for i in chosen]


def _vary(space: TuningSpace, elites: Levels, count: int, rng: np.random.Generator) -> Levels:
    """``count`` rows, each an elite, some crossed with another, with one to three parameters changed."""
    rows: Levels = elites[rng.integers(len(elites), size=count)]
    num_crossed = 3 * count // 10
    fathers = elites[rng.integers(len(elites), size=num_crossed)]
    is_taken = rng.random(fathers.shape) < 0.5
    rows[:num_crossed] = np.where(is_taken, fathers, rows[:num_crossed])
    if not len(space.free):
        return rows
    num_changes = rng.integers(1, 4, size=count)
    for change in range(3):
        changed = np.flatnonzero(change < num_changes)
        columns = space.free[rng.integers(len(space.free), size=len(changed))]
        old, num_levels = rows[changed, columns], space.num_levels[columns]
        steps = _STEPS[rng.integers(len(_STEPS), size=len(changed))]
        anywhere = (rng.random(len(changed)) * num_levels).astype(np.int64)
        is_step = rng.random(len(changed)) < 0.5
        rows[changed, columns] = np.where(is_step, np.clip(old + steps, 0, num_levels - 1), anywhere)
    return rows


def _standardised(values: FloatArray) -> FloatArray:
    """Logarithms where all values are positive, shifted and scaled to mean 0 and standard deviation 1."""
    targets = np.log(values) if values.min() > 0.0 else values
    standardised: FloatArray = (targets - targets.mean()) / (targets.std() or 1.0)
    return standardised


def _thin(values: FloatArray, count: int) -> npt.NDArray[np.int64]:
    """Indices, ascending, of the best half of ``count`` and of an even selection from the others in order of value."""
    order = np.argsort(values, kind="stable")
    num_best = count // 2
    others = np.linspace(num_best, len(values) - 1, count - num_best).astype(np.int64)
    return np.sort(np.concatenate([order[:num_best], order[others]]))


def _most_worth(prospect: Prospect, best: float, log_likely: FloatArray) -> int:
    """The row of the greatest expected improvement times probability to work.

    The improvement grows with the standard deviation, so that a bound of one bounds the other: as soon as the best
    row so far beats the bounds of all that are left, these need not be looked at.
    """
    bounds = _log_expected_improvement(prospect.mean, prospect.bound, best) + log_likely
    order = np.argsort(-bounds, kind="stable")
    winner, most = int(order[0]), -math.inf
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        if bounds[rows[0]] <= most:
            break
        worth = _log_expected_improvement(prospect.mean[rows], prospect.deviation(rows), best) + log_likely[rows]
        if worth.max() > most:
            winner, most = int(rows[np.argmax(worth)]), float(worth.max())
    return winner


def _log_expected_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """Logarithm of the expected improvement on ``best``, exact far into the tail where the value itself is 0."""
    from scipy.special import ndtr

    z = (best - mean) / deviation
    log_density = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)
    near = np.maximum(z, -6.0)
    direct = np.log(near * ndtr(near) + np.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi))
    # Below, z·Φ + φ is the difference of nearly equal numbers: its series is φ / z² · (1 − 3 / z² + 15 / z⁴).
    square = np.maximum(z * z, 36.0)
    tail = log_density - np.log(square) + np.log1p(-3.0 / square + 15.0 / square**2)
    improvement: FloatArray = np.log(deviation) + np.where(z > -6.0, direct, tail)
    return improvement
