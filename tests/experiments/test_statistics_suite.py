from itertools import combinations

import numpy as np
import pytest

from experiments.statistics import (
    fast_p,
    fast_p_curve,
    geometric_mean,
    geometric_mean_correct,
    improvement_interval,
    interquartile_mean,
    mean_difference_interval,
    optimality_gap,
    pass_at_k,
    performance_profile,
    probability_of_improvement,
    resamples,
    stratified_bootstrap,
)

NAN = float("nan")


def test_fast_p_is_strict() -> None:
    assert 1 / 3 == fast_p([1.0, 1.0, 1.1], 1.0)


def test_failures_count_against_fast_p() -> None:
    assert 0.5 == fast_p([2.0, NAN, NAN, 3.0], 1.0)


def test_fast_p_at_zero_is_the_share_of_correct_results() -> None:
    assert 0.75 == fast_p([0.1, NAN, 1.0, 3.0], 0.0)


def test_fast_p_curve_asks_every_threshold() -> None:
    assert [1.0, 0.5, 0.0] == fast_p_curve([1.0, 2.0], [0.0, 1.0, 2.0]).tolist()


def test_geometric_mean_takes_failures_as_the_baseline() -> None:
    assert pytest.approx((4.0 * 1.0 * 2.0) ** (1 / 3)) == geometric_mean([4.0, NAN, 2.0])


def test_geometric_mean_of_correct_results_comes_with_their_number() -> None:
    mean, count = geometric_mean_correct([4.0, NAN, 1.0])

    assert (pytest.approx(2.0), 2) == (mean, count)


def test_geometric_mean_of_no_correct_result_is_not_a_number() -> None:
    mean, count = geometric_mean_correct([NAN])

    assert (True, 0) == (bool(np.isnan(mean)), count)


def test_interquartile_mean_is_the_mean_of_the_middle_half() -> None:
    assert np.mean([3, 4, 5, 6]) == interquartile_mean([100, 5, 3, -100, 4, 6, 1, 9])


def test_interquartile_mean_reduces_the_last_axis() -> None:
    assert [2.5, 25.0] == interquartile_mean([[1, 2, 3, 4], [10, 20, 30, 40]]).tolist()


def test_optimality_gap_ignores_what_exceeds_the_goal() -> None:
    assert (1.0 + 0.5 + 0.0) / 3 == optimality_gap([1.0, 1.5, 9.0], 2.0)


def test_performance_profile_gives_each_task_the_same_weight() -> None:
    scores = [[1.0, 1.0, 1.0, 3.0], [3.0, NAN, NAN, NAN]]

    assert [1.0, (0.25 + 1.0) / 2, 0.0] == performance_profile(scores, [0.0, 2.0, 3.0]).tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_agrees_with_counting_all_draws(k: int) -> None:
    samples = [True, True, False, False, False]
    draws = list(combinations(samples, k))

    assert pytest.approx(sum(map(any, draws)) / len(draws)) == pass_at_k(5, 2, k)


def test_pass_at_k_cannot_draw_more_than_there_is() -> None:
    with pytest.raises(ValueError, match="k <= samples"):
        pass_at_k(3, 1, 4)


def test_probability_of_improvement_averages_over_tasks() -> None:
    assert (1.0 + 0.125) / 2 == probability_of_improvement([[5.0, 6.0], [0.0, 1.0]], [[1.0, 2.0], [1.0, 2.0]])


def test_probability_of_improvement_agrees_with_counting_pairs() -> None:
    rng = np.random.default_rng(3)
    xs, ys = [rng.integers(0, 6, size=7) for _ in range(3)], [rng.integers(0, 6, size=5) for _ in range(3)]
    brute = [
        np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y]) for x, y in zip(xs, ys, strict=True)
    ]

    assert pytest.approx(np.mean(brute)) == probability_of_improvement(xs, ys)


def test_bootstrap_interval_of_a_mean_agrees_with_theory() -> None:
    rng = np.random.default_rng(0)
    strata = [rng.normal(size=40), rng.normal(5.0, size=40)]
    low, high = stratified_bootstrap(strata, lambda draws: draws.mean(axis=1), rng, replicates=20_000)
    spread = np.sqrt(sum(stratum.var() / 40 for stratum in strata)) / 2
    centre = np.mean(strata)

    assert pytest.approx([centre - 1.96 * spread, centre + 1.96 * spread], abs=0.02) == [low, high]


def test_bootstrap_never_mixes_tasks() -> None:
    low, high = stratified_bootstrap([[1.0, 1.0], [9.0, 9.0]], interquartile_mean, np.random.default_rng(0))

    assert (5.0, 5.0) == (low, high)


def test_bootstrap_depends_on_the_generator_alone() -> None:
    strata = [np.arange(10.0)]

    def found(seed: int) -> tuple[float, float]:
        return stratified_bootstrap(strata, lambda draws: draws.mean(axis=1), np.random.default_rng(seed))

    assert (True, False) == (found(1) == found(1), found(1) == found(2))


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(300):
        low, high = stratified_bootstrap([rng.normal(size=30)], lambda draws: draws.mean(axis=1), rng, replicates=500)
        covered.append(low <= 0.0 <= high)

    assert 0.89 <= np.mean(covered) <= 0.98


def test_bootstrap_needs_a_run_in_each_task() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        stratified_bootstrap([[1.0], []], interquartile_mean, np.random.default_rng(0))


def test_interval_of_a_difference_agrees_with_theory() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(1.0, size=60), rng.normal(size=50)
    low, high = mean_difference_interval([x], [y], resamples([x], [y], rng))
    spread = 1.96 * np.sqrt(x.var() / 60 + y.var() / 50)
    centre = x.mean() - y.mean()

    assert pytest.approx([centre - spread, centre + spread], abs=0.04) == [low, high]


def test_pairing_removes_what_both_arms_share() -> None:
    shared = np.linspace(0.0, 100.0, 20)
    drawn = resamples([shared + 1.0], [shared], np.random.default_rng(0), paired=True)
    low, high = mean_difference_interval([shared + 1.0], [shared], drawn)

    assert pytest.approx([1.0, 1.0]) == [low, high]


def test_paired_arms_must_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="same seeds"):
        resamples([[1.0, 2.0]], [[1.0]], np.random.default_rng(0), paired=True)


def test_interval_of_improvement_agrees_with_resampling_by_hand() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.5, size=25), rng.normal(size=20)
    found = improvement_interval([x], [y], resamples([x], [y], rng))
    drawn = [probability_of_improvement([rng.choice(x, size=25)], [rng.choice(y, size=20)]) for _ in range(3000)]

    assert pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02) == found
