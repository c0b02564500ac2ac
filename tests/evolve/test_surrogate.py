"""The surrogate search: what it may ask, that it finds, and that it is a pure function of seed and answers."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.surrogates.gaussian_process import GaussianProcess
from evolve.surrogates.search import SpaceExhausted, SurrogateSearch, _log_expected_improvement
from evolve.surrogates.tuning_space import TuningSpace

PARAMETERS: dict[str, Sequence[Any]] = {
    "block": [16, 32, 48, 64, 96, 128, 256],
    "tile": [1, 2, 3, 4, 5, 6],
    "unroll": [0, 1, 2, 4],
    "layout": ["row", "column", "blocked"],
    "constant": [7],
}


def exists(values: dict[str, Any]) -> bool:
    return bool(values["block"] * values["tile"] <= 512)


def time(configuration: Sequence[Any]) -> float | None:
    """Has cliffs, an interaction and failures; the optimum is (128, 2, 2, "blocked", 7), at 1.0."""
    block, tile, unroll, layout, _ = configuration
    if layout == "row" and unroll == 4:
        return None
    time = 1.0 + abs(math.log2(block / 128)) + 0.5 * abs(tile - 2) + 0.3 * abs(unroll - 2)
    time *= {"row": 1.5, "column": 1.3, "blocked": 1.0}[layout]
    return time * (1.5 if block % 32 else 1.0)


def space() -> TuningSpace:
    return TuningSpace(PARAMETERS, is_valid=exists)


def play(
    search: SurrogateSearch, seed: int, count: int, answer: Callable[[Sequence[Any]], float | None] = time
) -> list[tuple[Any, ...]]:
    rng, asked = np.random.default_rng(seed), []
    for _ in range(count):
        asked.append(search.ask(rng))
        search.tell(asked[-1], answer(asked[-1]))
    return asked


def best(asked: Sequence[Sequence[Any]]) -> float:
    return min(value for value in map(time, asked) if value is not None)


def test_asks_only_for_what_exists_and_never_twice() -> None:
    asked = play(SurrogateSearch(space()), 1, 60)

    assert all(exists(dict(zip(PARAMETERS, configuration, strict=True))) for configuration in asked)
    assert len(set(asked)) == 60


def test_finds_the_optimum_long_before_random_search() -> None:
    found = [best(play(SurrogateSearch(space()), seed, 40)) for seed in range(4)]
    rng, every = np.random.default_rng(0), space().sample(np.random.default_rng(0), 10**6)
    drawn = [best([space().to_configuration(row) for row in rng.permutation(every)[:40]]) for _ in range(20)]

    assert np.mean(found) < 1.1
    assert np.mean(drawn) > 1.2


def test_same_seed_same_questions_also_in_another_process() -> None:
    here = play(SurrogateSearch(space()), 3, 30)
    program = "import test_surrogate as t; print(t.play(t.SurrogateSearch(t.space()), 3, 30))"
    path = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    there = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}; {program}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "123"},
    )

    assert str(here) == there.stdout.strip()
    assert here != play(SurrogateSearch(space()), 4, 30)


def test_order_of_the_list_is_the_callers_but_does_not_hide_configurations() -> None:
    every = [space().to_configuration(row) for row in space().sample(np.random.default_rng(0), 10**6)]
    listed = TuningSpace(PARAMETERS, configurations=every)

    assert listed.size == len(every) == space().size
    asked = play(SurrogateSearch(listed, candidates=50, max_observations=20), 0, len(every))
    assert set(asked) == set(every)


def test_space_smaller_than_the_budget_is_exhausted() -> None:
    small = TuningSpace({"a": [1, 2, 3], "b": [0, 1]}, is_valid=lambda values: values["a"] > values["b"])
    search = SurrogateSearch(small, initial=12)
    assert not search.is_exhausted
    asked = play(search, 0, 5, lambda configuration: float(sum(configuration)))

    assert len(set(asked)) == 5
    assert search.is_exhausted
    with pytest.raises(SpaceExhausted):
        search.ask(np.random.default_rng(0))


@pytest.mark.parametrize("answer", [None, math.nan, math.inf, -math.inf])
def test_all_failing(answer: float | None) -> None:
    search = SurrogateSearch(space(), initial=3)
    asked = play(search, 0, 30, lambda _: answer)

    assert len(set(asked)) == 30


def test_learns_where_configurations_fail() -> None:
    def mostly_failing(configuration: Sequence[Any]) -> float | None:
        return None if configuration[3] != "column" else time(configuration)

    asked = play(SurrogateSearch(space()), 2, 22, mostly_failing)
    failed = [mostly_failing(configuration) is None for configuration in asked]

    assert sum(failed[:12]) >= 5
    assert sum(failed[12:]) <= 2  # two thirds of the space fail


@pytest.mark.parametrize("answer", [0.0, 1.0, -3.0, 1e-300, 1e300])
def test_equal_values(answer: float) -> None:
    assert len(set(play(SurrogateSearch(space(), initial=3), 0, 30, lambda _: answer))) == 30


def test_objectives_need_not_be_positive() -> None:
    found = play(SurrogateSearch(space()), 0, 60, lambda c: None if time(c) is None else time(c) - 5.0)  # type: ignore[operator]

    assert best(found) < 1.2


def test_questions_before_answers_differ_and_answers_may_come_unasked() -> None:
    search, rng = SurrogateSearch(space(), initial=4), np.random.default_rng(0)
    for _ in range(6):
        batch = [search.ask(rng) for _ in range(5)]
        assert len(set(batch)) == 5
        for configuration in reversed(batch):
            search.tell(configuration, time(configuration))
    unasked = (128, 2, 2, "blocked", 7)
    search.tell(unasked, time(unasked))

    assert all(search.ask(rng) != unasked for _ in range(20))


def test_step_stays_bounded_beyond_max_observations() -> None:
    search = SurrogateSearch(space(), initial=5, max_observations=20)

    assert best(play(search, 0, 60)) < 1.2
    assert len(search._shown()[1]) == 20


def test_space_too_large_to_list() -> None:
    parameters = {f"p{i}": list(range(1, 33)) for i in range(15)}
    wide = TuningSpace(parameters, is_valid=lambda values: values["p0"] % 2 == 0 and values["p1"] != values["p2"])
    search = SurrogateSearch(wide, candidates=300)
    asked = play(search, 0, 40, lambda configuration: float(1 + sum(abs(value - 8) for value in configuration)))
    values = [sum(abs(value - 8) for value in configuration) for configuration in asked]

    assert wide.size is None
    assert all(configuration[0] % 2 == 0 and configuration[1] != configuration[2] for configuration in asked)
    assert min(values[12:]) < 0.8 * min(values[:12])


def test_space_in_which_nothing_is_found_says_so() -> None:
    parameters = {f"p{i}": list(range(32)) for i in range(6)}
    search = SurrogateSearch(TuningSpace(parameters, is_valid=lambda _: False))
    with pytest.raises(SpaceExhausted):
        search.ask(np.random.default_rng(0))


def test_refuses_what_makes_no_space() -> None:
    with pytest.raises(ValueError, match="not both"):
        TuningSpace({"a": [1, 2]}, configurations=[(1,)], is_valid=lambda _: True)
    with pytest.raises(ValueError, match="no configuration exists"):
        TuningSpace({"a": [1, 2]}, is_valid=lambda _: False)
    with pytest.raises(ValueError, match="no configuration exists"):
        TuningSpace({"a": [1, 2]}, configurations=[])
    with pytest.raises(ValueError, match="twice"):
        TuningSpace({"a": [1, 2]}, configurations=[(1,), (1,)])
    with pytest.raises(ValueError, match="same value twice"):
        TuningSpace({"a": [1, 1]})
    with pytest.raises(ValueError, match="every parameter a value"):
        TuningSpace({"a": []})
    with pytest.raises(ValueError, match="3 is not a value"):
        TuningSpace({"a": [1, 2]}, configurations=[(3,)])
    with pytest.raises(ValueError, match="1 values, not 2"):
        SurrogateSearch(TuningSpace({"a": [1, 2]})).tell((1, 2), 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        SurrogateSearch(TuningSpace({"a": [1, 2]}), initial=0)


def test_neighbours_differ_in_at_most_one_parameter() -> None:
    grid = space()
    row = grid.to_levels((128, 2, 2, "blocked", 7))
    neighbours = grid.neighbours(row)

    assert set((neighbours != row).sum(axis=1)) == {0, 1}
    assert len(neighbours) == 1 + 6 + 3 + 3 + 2  # itself, blocks, tiles up to 4, unrolls, layouts
    assert all(exists(dict(zip(PARAMETERS, grid.to_configuration(n), strict=True))) for n in neighbours)


def test_alignment_is_a_coordinate_only_where_it_says_something() -> None:
    assert TuningSpace({"a": [16, 32, 64, 128]}).columns == (0,)
    assert TuningSpace({"a": [1, 2]}).columns == (0,)
    assert TuningSpace({"a": [0.5, 1.0, 3.0]}).columns == (0,)
    assert TuningSpace({"a": ["x", "y", "z"]}).columns == (0,)
    assert TuningSpace({"c": [1], "a": [16, 32, 48, 64]}).columns == (1, 1)


def test_gradient_of_the_loss_is_the_gradient() -> None:
    from scipy.optimize import approx_fprime

    grid, rng = space(), np.random.default_rng(0)
    model = GaussianProcess(grid.tables, grid.columns)
    model.fit(rng.permutation(grid.sample(rng, 10**6))[:25], rng.normal(size=25), iterations=2)
    point = model._hyper + 0.1
    slope = approx_fprime(point, lambda hyper: model._loss(hyper)[0], 1e-6)

    np.testing.assert_allclose(model._loss(point)[1], slope, atol=1e-4)


def test_model_interpolates_and_knows_where_it_does_not_know() -> None:
    grid = TuningSpace({"a": list(range(20))})
    model = GaussianProcess(grid.tables, grid.columns)
    levels = np.array([[0], [2], [4], [6], [8]])
    targets = np.array([0.0, 0.4, 0.8, 1.2, 1.6])
    model.fit(levels, targets)
    mean, deviation = model.predict(np.array([[4], [5], [19]]))

    np.testing.assert_allclose(mean[:2], [0.8, 1.0], atol=0.1)
    assert deviation[0] < deviation[2]


def test_log_expected_improvement_agrees_with_the_integral_and_joins_its_tail() -> None:
    z = np.array([-3.0, 0.0, 2.0])
    draws = np.random.default_rng(0).normal(size=2_000_000)
    expected = [math.log(np.maximum(value - draws, 0.0).mean()) for value in z]
    np.testing.assert_allclose(_log_expected_improvement(-z, np.ones(3), 0.0), expected, atol=0.1)

    tail = _log_expected_improvement(np.array([5.99999, 6.00001, 40.0]), np.ones(3), 0.0)
    assert tail[0] == pytest.approx(tail[1], abs=5e-3)
    assert np.isfinite(tail).all()
