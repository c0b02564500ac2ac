import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.statistics import (
    area_under_curve,
    best_so_far,
    evaluations_to_target,
    expected_running_time,
    kaplan_meier,
    median_to_target,
    step_at,
)

NAN = float("nan")


def test_best_so_far_keeps_the_maximum_and_falls_back_on_the_baseline() -> None:
    found = best_so_far([NAN, 0.5, 1.5, NAN, 1.2, 2.0])

    assert [1.0, 1.0, 1.5, 1.5, 1.5, 2.0] == found.tolist()


def test_best_so_far_runs_along_the_last_axis() -> None:
    found = best_so_far([[2.0, NAN], [NAN, 3.0]])

    assert [[2.0, 2.0], [1.0, 3.0]] == found.tolist()


def test_step_reads_the_value_from_its_cost_on() -> None:
    found = step_at([1.0, 4.0], [2.0, 3.0], [0.0, 0.99, 1.0, 3.9, 4.0, 9.0])

    assert [1.0, 1.0, 2.0, 2.0, 3.0, 3.0] == found.tolist()


def test_of_several_evaluations_at_one_cost_the_last_counts() -> None:
    found = step_at([5.0, 5.0, 5.0], [1.0, 2.0, 3.0], [5.0])

    assert [3.0] == found.tolist()


def test_decreasing_costs_are_refused() -> None:
    with pytest.raises(ValueError, match="must not decrease"):
        step_at([2.0, 1.0], [1.0, 1.0], [0.0])


def test_area_of_evaluations_is_the_mean_of_the_logarithms() -> None:
    bests = [1.0, 2.0, 2.0, 4.0]

    assert pytest.approx(np.log(bests).mean(), rel=1e-14) == area_under_curve(np.arange(4), bests, 4)


@given(
    st.lists(st.tuples(st.floats(0.01, 5.0), st.floats(0.2, 9.0)), min_size=1, max_size=12),
    st.floats(0.5, 40.0),
)
def test_area_agrees_with_a_riemann_sum(steps: list[tuple[float, float]], budget: float) -> None:
    costs = np.cumsum([cost for cost, _ in steps])
    bests = best_so_far([speedup for _, speedup in steps])
    grid = (np.arange(40_000) + 0.5) * budget / 40_000
    riemann = np.log(step_at(costs, bests, grid)).mean()

    assert pytest.approx(riemann, abs=2e-3) == area_under_curve(costs, bests, budget)


def test_what_comes_after_the_budget_does_not_count() -> None:
    assert 0.0 == area_under_curve([10.0, 20.0], [5.0, 6.0], 10.0)


def test_area_needs_a_positive_budget() -> None:
    with pytest.raises(ValueError, match="positive"):
        area_under_curve([0.0], [1.0], 0.0)


def test_evaluations_to_target_are_censored_at_the_end_of_the_run() -> None:
    counts, reached = evaluations_to_target([[1.0, 2.0, 3.0], [1.0, 1.0, 1.9]], 2.0)

    assert ([2.0, 3.0], [True, False]) == (counts.tolist(), reached.tolist())


def test_kaplan_meier_agrees_with_the_product_by_hand() -> None:
    """Freireich's 6-MP arm: the table of every textbook on survival (Kalbfleisch 2002)."""
    counts = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    reached = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    times, surviving = kaplan_meier(counts, np.array(reached, dtype=bool))

    assert [6, 7, 10, 13, 16, 22, 23] == times.tolist()
    assert pytest.approx([0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], abs=5e-4) == surviving


def test_median_to_target_is_read_off_the_survival_curve() -> None:
    assert 3.0 == median_to_target([1, 3, 5, 9], [True, True, True, False])


def test_median_to_target_is_infinite_when_less_than_half_arrive() -> None:
    assert float("inf") == median_to_target([1, 9, 9, 9], [True, False, False, False])


def test_nobody_arriving_gives_no_curve() -> None:
    times, surviving = kaplan_meier([5, 5], [False, False])

    assert (0, 0) == (times.size, surviving.size)


def test_expected_running_time_divides_all_costs_by_the_successes() -> None:
    assert (4 + 6 + 10) / 2 == expected_running_time([4, 6, 10], [True, True, False])


def test_expected_running_time_without_a_success_is_infinite() -> None:
    assert float("inf") == expected_running_time([10], [False])
