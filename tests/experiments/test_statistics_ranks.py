from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from experiments.statistics import (
    a12,
    detectable_effect,
    friedman,
    holm,
    magnitude,
    rank_sum_p,
    seeds_needed,
    signed_rank_p,
    simulated_power,
    smallest_p,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def exact_rank_sum_p(xs: list[list[float]], ys: list[list[float]]) -> float:
    """Van Elteren's p by going through every relabelling."""
    per_task = []
    for x, y in zip(xs, ys, strict=True):
        ranks = rankdata(x + y) - (len(x + y) + 1) / 2
        per_task.append(
            [sum(ranks[list(chosen)]) / (len(x + y) + 1) for chosen in combinations(range(len(x + y)), len(x))]
        )
    observed = abs(sum(values[0] for values in per_task))
    return float(np.mean([abs(sum(draw)) >= observed - 1e-9 for draw in product(*per_task)]))


def test_a12_agrees_with_counting_pairs() -> None:
    x, y = [1.0, 2.0, 2.0, 7.0], [2.0, 0.5, 3.0]
    brute = sum((a > b) + 0.5 * (a == b) for a in x for b in y) / 12

    assert brute == a12(x, y)


def test_a12_knows_infinity() -> None:
    assert 0.75 == a12([np.inf, np.inf], [np.inf, 1.0])


def test_a12_refuses_nan() -> None:
    with pytest.raises(ValueError, match="NaN"):
        a12([np.nan], [1.0])


@pytest.mark.parametrize(
    ("effect", "name"),
    [(0.5, "negligible"), (0.559, "negligible"), (0.56, "small"), (0.36, "medium"), (0.71, "large"), (0.1, "large")],
)
def test_magnitudes_are_those_of_vargha_and_delaney(effect: float, name: str) -> None:
    assert name == magnitude(effect)


def test_small_samples_without_ties_get_the_exact_p() -> None:
    x, y = [1.1, 5.2, 7.3, 9.4], [0.5, 0.6, 2.7]

    assert pytest.approx(exact_rank_sum_p([x], [y])) == rank_sum_p([x], [y], rng())


def test_rank_sum_agrees_with_r() -> None:
    """R's ``wilcox.test`` on its own example, depression scores of Hollander 1973: W = 35, p = 0.2544."""
    x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    y = [1.15, 0.88, 0.90, 0.74, 1.21]

    assert pytest.approx(0.2544, abs=5e-5) == rank_sum_p([x], [y], rng())


def test_small_samples_with_ties_get_a_permutation_p() -> None:
    x, y = [1.0, 2.0, 2.0, 3.0, 4.0], [0.0, 1.0, 1.0, 2.0]

    assert pytest.approx(exact_rank_sum_p([x], [y]), abs=0.01) == rank_sum_p([x], [y], rng())


def test_small_samples_on_several_tasks_get_a_permutation_p() -> None:
    xs, ys = [[3.0, 4.0, 5.0], [1.0, 9.0, 8.0]], [[1.0, 2.0, 3.5], [0.0, 2.0, 3.0]]

    assert pytest.approx(exact_rank_sum_p(xs, ys), abs=0.005) == rank_sum_p(xs, ys, rng())


def test_large_samples_agree_with_scipy() -> None:
    generator = rng()
    x, y = generator.integers(0, 9, size=30).astype(float), generator.integers(1, 10, size=30).astype(float)
    expected = mannwhitneyu(x, y, use_continuity=False, method="asymptotic").pvalue

    assert pytest.approx(expected, rel=1e-9) == rank_sum_p([x], [y], generator)


def test_large_samples_on_several_tasks_agree_with_permutations() -> None:
    generator = rng()
    xs = [generator.normal(0.3 + 10 * task, size=15) for task in range(3)]
    ys = [generator.normal(10 * task, size=15) for task in range(3)]

    def statistic(first: list[np.ndarray], second: list[np.ndarray]) -> float:
        return sum(rankdata(np.concatenate(pair))[:15].sum() - 15 * 31 / 2 for pair in zip(first, second, strict=True))

    drawn = []
    for _ in range(3000):
        mixed = [generator.permutation(np.concatenate(pair)) for pair in zip(xs, ys, strict=True)]
        drawn.append(abs(statistic([m[:15] for m in mixed], [m[15:] for m in mixed])) >= abs(statistic(xs, ys)))

    assert pytest.approx(np.mean(drawn), abs=0.025) == rank_sum_p(xs, ys, generator)


def test_equal_arms_have_a_p_of_one() -> None:
    assert 1.0 == rank_sum_p([[1.0] * 30], [[1.0] * 30], rng())


def test_tasks_cannot_be_missing_in_one_arm() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rank_sum_p([[1.0], [2.0]], [[1.0]], rng())


def test_signed_rank_agrees_with_r() -> None:
    """R's ``wilcox.test(paired = TRUE)`` on Hollander 1973, page 29: V = 40, p = 0.03906."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])

    assert pytest.approx(0.03906, abs=5e-6) == signed_rank_p(before - after)


def test_many_differences_agree_with_scipy() -> None:
    values = rng().normal(0.3, size=40)

    assert wilcoxon(values).pvalue == signed_rank_p(values)


def test_ties_and_zeros_get_the_exact_p() -> None:
    values = np.array([0.0, 1.0, 1.0, 2.0, -1.0, 3.0, 3.0])
    ranks = rankdata(np.abs(values))[1:]
    sums = [abs(np.dot(signs, ranks)) for signs in product([1, -1], repeat=6)]
    observed = abs(np.dot([1, 1, 1, -1, 1, 1], ranks))

    assert pytest.approx(np.mean(np.array(sums) >= observed)) == signed_rank_p(values)


def test_no_difference_at_all_has_a_p_of_one() -> None:
    assert 1.0 == signed_rank_p([0.0, 0.0, 0.0])


def test_infinite_differences_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        signed_rank_p([1.0, np.inf])


@pytest.mark.parametrize(("n", "p"), [(3, 0.1), (4, 2 / 70), (5, 2 / 252), (6, 2 / 924)])
def test_smallest_p_is_that_of_complete_separation(n: int, p: float) -> None:
    separated = rank_sum_p([np.arange(n) + 100.0], [np.arange(n) * 1.0], rng())

    assert pytest.approx((p, p)) == (smallest_p([(n, n)], paired=False), separated)


def test_smallest_p_of_several_tasks_multiplies_their_relabellings() -> None:
    assert pytest.approx(2 / comb(6, 3) ** 2) == smallest_p([(3, 3), (3, 3)], paired=False)


@pytest.mark.parametrize("paired", [False, True])
def test_smallest_p_of_a_large_design_is_nothing(paired: bool) -> None:
    assert 0.0 == smallest_p([(30, 30)] * 100, paired=paired)


def test_smallest_paired_p_is_that_of_equal_signs() -> None:
    assert signed_rank_p([1.0, 2.0, 3.0, 4.0, 5.0]) == smallest_p([(5, 5)], paired=True)


def test_friedman_agrees_with_the_formula() -> None:
    scores = rng().normal(size=(12, 4))
    ranks = rankdata(scores, axis=1)
    expected = 12 / (12 * 4 * 5) * (ranks.sum(axis=0) ** 2).sum() - 3 * 12 * 5

    assert pytest.approx(expected) == friedman(scores)[0]


def test_friedman_agrees_with_r() -> None:
    """R's ``friedman.test`` on Hollander 1973, rounding first base: chi-squared = 11.143, p = 0.003805."""
    rows = """5.40 5.50 5.55 5.85 5.70 5.75 5.20 5.60 5.50 5.55 5.50 5.40 5.90 5.85 5.70 5.45 5.55 5.60
    5.40 5.40 5.35 5.45 5.50 5.35 5.25 5.15 5.00 5.85 5.80 5.70 5.25 5.20 5.10 5.65 5.55 5.45 5.60 5.35 5.45
    5.05 5.00 4.95 5.50 5.50 5.40 5.45 5.55 5.50 5.55 5.55 5.35 5.45 5.50 5.55 5.50 5.45 5.25 5.65 5.60 5.40
    5.70 5.65 5.55 6.30 6.30 6.25"""
    scores = np.array(rows.split(), dtype=float).reshape(-1, 3)

    assert pytest.approx((11.143, 0.003805), rel=1e-4) == friedman(scores)


def test_friedman_of_equal_arms_has_a_p_of_one() -> None:
    assert (0.0, 1.0) == friedman(np.ones((5, 3)))


def test_friedman_needs_three_arms() -> None:
    with pytest.raises(ValueError, match="3 arms"):
        friedman(np.ones((5, 2)))


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_holm_agrees_with_the_step_down_rule(order: tuple[int, ...]) -> None:
    p_values = np.array([0.01, 0.04, 0.03, 0.005])[list(order)]
    stepped, running = {}, 0.0
    for rank, p in enumerate(sorted(p_values)):
        running = max(running, (4 - rank) * p)
        stepped[p] = min(running, 1.0)

    assert pytest.approx([stepped[p] for p in p_values]) == holm(p_values)


def test_holm_agrees_with_statsmodels() -> None:
    p_values = rng().uniform(0, 0.1, size=25)
    p_values[3] = p_values[7]

    assert pytest.approx(multipletests(p_values, method="holm")[1]) == holm(p_values)


def test_holm_of_nothing_is_nothing() -> None:
    assert 0 == holm([]).size


@pytest.mark.parametrize(("effect", "seeds"), [(0.71, 30), (0.80, 15), (0.90, 9)])
def test_seeds_needed_agree_with_noethers_formula(effect: float, seeds: int) -> None:
    assert seeds == seeds_needed(effect)


@pytest.mark.parametrize("effect", [0.64, 0.71, 0.2])
def test_the_seeds_that_are_said_to_be_needed_give_the_power(effect: float) -> None:
    assert pytest.approx(0.8, abs=0.05) == simulated_power(effect, seeds_needed(effect), rng())


def test_tasks_share_the_runs_that_are_needed() -> None:
    assert 3 == seeds_needed(0.71, num_tasks=10)


def test_no_number_of_seeds_finds_nothing() -> None:
    with pytest.raises(ValueError, match=r"0\.5"):
        seeds_needed(0.5)


def test_detectable_effect_inverts_the_seeds_needed() -> None:
    assert 30 == seeds_needed(detectable_effect(30) + 1e-9)


def test_three_seeds_can_find_no_effect_at_all() -> None:
    assert 0.0 == simulated_power(0.95, 3, rng())


def test_without_an_effect_power_is_the_level() -> None:
    assert pytest.approx(0.05, abs=0.015) == simulated_power(0.5, 30, rng())
