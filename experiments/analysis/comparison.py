"""Arm against arm: the declared tests, what they found, and what may be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np

from ..experiment import Experiment
from ..factors import matched_arms
from ..statistics import (
    Resamples,
    friedman,
    holm,
    improvement_interval,
    mean_difference_interval,
    probability_of_improvement,
    rank_sum_p,
    resamples,
    seeds_needed,
    signed_rank_p,
    smallest_p,
)
from .contrasts import Contrast, Samples, Scores, Strata, samples_of


class Verdict(StrEnum):
    """What may be said about two arms."""

    FIRST = "first better"
    SECOND = "second better"
    NEGLIGIBLE = "real but negligible"
    """Significant, and smaller than the declared minimum effect."""
    MIXED = "mixed"
    """Significant in ranks, but not with an effect on the mean in the same direction."""
    UNDECIDED = "undecided"
    """Not significant; that is no proof of equality."""
    IMPOSSIBLE = "too few runs"
    """No data could have made this design significant."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How comparisons are decided.

    Attributes:
        pairs: Arms to compare.
        effects: Main effects of factors.
        is_log: Whether scores are logarithms of speedups.
        paired: Whether seed i of two arms belongs together.
        alpha: Chance of any false positive among all pairs.
        minimum_effect: Fraction of speedup below which a difference is of no interest.
        is_declared: Whether all this was fixed before the first run.
    """

    pairs: Sequence[tuple[str, str]]
    is_log: bool = True
    paired: bool = False
    alpha: float = 0.05
    minimum_effect: float = 0.02
    is_declared: bool = True
    effects: Sequence[Contrast] = ()

    @property
    def contrasts(self) -> list[Contrast]:
        """All that is compared."""
        return [*(Contrast(*pair, (pair,)) for pair in self.pairs), *self.effects]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms, or all arms of two levels of a factor, on one metric.

    Attributes:
        first: An arm, or a level.
        second: Another one.
        num_tasks: Tasks on which both have runs.
        num_first: Runs of the first side on these; where matched arms are averaged seed by seed, means.
        num_second: Of the second.
        improvement: Probability that a run of the first beats one of the second (A12 over tasks, and over the pairs
            of arms that differ in the factor alone).
        improvement_interval: Its 95 % bootstrap interval; None where a task has a single run.
        ratio: Geometric mean of the first arm's speedups over the second's; None for a metric that
            is no speedup.
        ratio_interval: Its 95 % bootstrap interval; None like the other.
        p: Two-sided, before correction.
        p_corrected: After Holm's correction for all comparisons.
        smallest_p: What complete separation would have given.
        seeds_needed: Seeds for each arm and task that find an effect of the size seen with 80 %
            power before correction; None when there was no effect at all.
        verdict: What may be said.
    """

    first: str
    second: str
    num_tasks: int
    num_first: int
    num_second: int
    improvement: float
    improvement_interval: tuple[float, float] | None
    ratio: float | None
    ratio_interval: tuple[float, float] | None
    p: float
    p_corrected: float
    smallest_p: float
    seeds_needed: int | None
    verdict: Verdict


def rules_of(experiment: Experiment | None, arms: Sequence[str], is_log: bool) -> Rules:
    """Returns the declared rules, or all pairs for exploration where nothing was declared.

    Args:
        experiment: As declared; None when nothing was.
        arms: That were found.
        is_log: Whether the metric is the logarithm of a speedup.
    """
    if experiment is None:
        return Rules(tuple(combinations(sorted(arms), 2)), is_log, is_declared=False)
    effects = [
        Contrast(*levels, tuple(matched_arms(experiment.arms, levels))) for levels in experiment.effects.values()
    ]
    return Rules(
        tuple(experiment.comparisons) or (() if effects else tuple(combinations(experiment.arms, 2))),
        is_log,
        experiment.paired,
        experiment.alpha,
        experiment.minimum_effect,
        is_declared=bool(experiment.comparisons or effects),
        effects=effects,
    )


def compare(scores: Scores, rules: Rules, seed: int = 0) -> list[Comparison]:
    """Tests the contrasts and corrects for their number; one without common data is left out.

    Args:
        scores: Of finished runs.
        rules: What is compared, and how.
        seed: Of the bootstrap.
    """
    samples = [(contrast, samples_of(scores, contrast, paired=rules.paired)) for contrast in rules.contrasts]
    present = [(contrast, found) for contrast, found in samples if found.xs]
    p_values = [
        _p(found.xs, found.ys, rules, np.random.default_rng([seed, 0, index]))
        for index, (_, found) in enumerate(present)
    ]
    corrected = holm(p_values)
    return [
        _comparison(each, found, (p, float(p_corrected), len(present)), rules, np.random.default_rng([seed, 1, index]))
        for index, ((each, found), p, p_corrected) in enumerate(zip(present, p_values, corrected, strict=True))
    ]


def any_difference(scores: Scores, arms: Sequence[str]) -> tuple[float, float, int] | None:
    """Asks by Friedman's test whether any of several arms differs; blocks are tasks and seeds.

    Returns:
        Statistic, p and number of blocks; None with fewer than three arms or two complete blocks.
    """
    if len(arms) < 3 or not all(arm in scores for arm in arms):
        return None
    cells = [{(task, seed) for task, runs in scores[arm].items() for seed in runs} for arm in arms]
    blocks = sorted(set.intersection(*cells))
    if len(blocks) < 2:
        return None
    table = np.array([[scores[arm][task][seed] for arm in arms] for task, seed in blocks])
    return (*friedman(table), len(blocks))


def _p(xs: Strata, ys: Strata, rules: Rules, rng: np.random.Generator) -> float:
    """Returns the p of one pair, uncorrected."""
    if not rules.paired:
        return rank_sum_p(xs, ys, rng)
    x, y = np.concatenate(xs), np.concatenate(ys)
    if np.isfinite(x).all() and np.isfinite(y).all():
        return signed_rank_p(x - y)
    # Censored runs have no difference, only an order.
    return signed_rank_p((x > y).astype(float) - (x < y))


def _comparison(
    contrast: Contrast,
    samples: Samples,
    tested: tuple[float, float, int],
    rules: Rules,
    rng: np.random.Generator,
) -> Comparison:
    """Puts together what is known of one contrast.

    Args:
        contrast: The two sides.
        samples: Scores of both.
        tested: p, corrected p and number of comparisons.
        rules: For the verdict.
        rng: For the intervals.
    """
    xs, ys = samples.xs, samples.ys
    p, p_corrected, count = tested
    sizes = [(len(x), len(y)) for x, y in zip(xs, ys, strict=True)]
    # A single run shows no spread: an interval from it would be a lie.
    drawn = resamples(xs, ys, rng, paired=rules.paired) if min(min(size) for size in sizes) > 1 else None
    improvement = probability_of_improvement(xs, ys)
    ratio, ratio_interval = _ratio(xs, ys, drawn) if rules.is_log else (None, None)
    least = smallest_p(sizes, paired=rules.paired)
    return Comparison(
        contrast.first,
        contrast.second,
        num_tasks=len(set(samples.tasks)),
        num_first=sum(map(len, xs)),
        num_second=sum(map(len, ys)),
        improvement=improvement,
        improvement_interval=improvement_interval(xs, ys, drawn) if drawn is not None else None,
        ratio=ratio,
        ratio_interval=ratio_interval,
        p=p,
        p_corrected=p_corrected,
        smallest_p=least,
        seeds_needed=seeds_needed(improvement, num_tasks=len(xs)) if improvement != 0.5 else None,
        verdict=_verdict(p_corrected, improvement, ratio, rules, impossible=least * count >= rules.alpha),
    )


def _ratio(xs: Strata, ys: Strata, drawn: Resamples | None) -> tuple[float, tuple[float, float] | None]:
    """Returns the ratio of geometric means, strata weighted equally, and its interval."""
    ratio = float(np.exp(np.mean([x.mean() - y.mean() for x, y in zip(xs, ys, strict=True)])))
    if drawn is None:
        return ratio, None
    low, high = mean_difference_interval(xs, ys, drawn)
    return ratio, (float(np.exp(low)), float(np.exp(high)))


def _verdict(p_corrected: float, improvement: float, ratio: float | None, rules: Rules, *, impossible: bool) -> Verdict:
    """Says what may be said; nothing is a win that is not significant, of interest and of one direction."""
    if p_corrected >= rules.alpha:
        return Verdict.IMPOSSIBLE if impossible else Verdict.UNDECIDED
    if ratio is not None:
        if abs(np.log(ratio)) < np.log1p(rules.minimum_effect):
            return Verdict.NEGLIGIBLE
        if (ratio > 1) != (improvement > 0.5):
            return Verdict.MIXED
    return Verdict.FIRST if improvement > 0.5 else Verdict.SECOND
