from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evolve.choice import UCB1, AdaptivePursuit, Gain, ThompsonSampling, Weights

NAMES = ["good", "bad", "worse"]
BANDITS = [UCB1, ThompsonSampling, AdaptivePursuit]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def play(choice: Any, rounds: int, generator: np.random.Generator, names: list[str] = NAMES) -> list[str]:
    """Only the operator called good ever gains."""
    chosen = []
    for _ in range(rounds):
        chosen.append(choice.choose(names, generator))
        choice.reward(chosen[-1], Gain(*[0.5 if chosen[-1] == "good" else 0.0] * 3))
    return chosen


def test_weights_are_proportions() -> None:
    choice, generator = Weights({"good": 3.0, "bad": 1.0, "worse": 0.0}), rng()
    drawn = [choice.choose(NAMES, generator) for _ in range(4000)]

    assert 0 == drawn.count("worse")
    assert 0.72 < drawn.count("good") / 4000 < 0.78


def test_no_weights_are_equal_weights() -> None:
    choice, generator = Weights(), rng()
    drawn = [choice.choose(NAMES, generator) for _ in range(3000)]

    assert all(0.28 < drawn.count(name) / 3000 < 0.39 for name in NAMES)


def test_weights_allow_what_is_named_with_a_positive_weight() -> None:
    choice = Weights({"good": 1.0, "bad": 0.0})

    assert [True, False, False] == [choice.allows(name) for name in NAMES]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 0.0, "b": 0.0}, "sum to 0"),
        ({"a": -1.0, "b": 2.0}, "operator a must be at least 0"),
        ({"a": float("nan")}, "must be at least 0"),
        ({"a": float("inf")}, "must be at least 0"),
    ],
)
def test_weights_out_of_range_are_one_line(weights: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Weights(weights)


@pytest.mark.parametrize("make", BANDITS)
def test_a_bandit_finds_the_operator_that_gains(make: Any) -> None:
    chosen = play(make(), 300, rng())

    assert chosen[100:].count("good") > 120


@pytest.mark.parametrize("make", BANDITS)
def test_a_bandit_tries_everything(make: Any) -> None:
    assert set(NAMES) == set(play(make(), 200, rng()))


@pytest.mark.parametrize("make", BANDITS)
def test_a_bandit_is_a_function_of_what_it_was_told(make: Any) -> None:
    assert play(make(), 100, rng(3)) == play(make(), 100, rng(3))


@pytest.mark.parametrize("make", BANDITS)
def test_a_bandit_goes_on_when_operators_come_and_go(make: Any) -> None:
    choice, generator = make(), rng()
    play(choice, 50, generator)
    later = play(choice, 200, generator, ["bad", "new", "good"])

    assert {"bad", "new", "good"} >= set(later)
    assert later.count("good") > 60


@pytest.mark.parametrize("credit", ["improvement", "rank", "diversity"])
@pytest.mark.parametrize("make", BANDITS)
def test_credit_is_what_was_asked_for(make: Any, credit: str) -> None:
    choice, generator = make(credit=credit), rng()
    chosen = []
    for _ in range(300):
        chosen.append(choice.choose(NAMES, generator))
        choice.reward(chosen[-1], Gain(**{credit: float(chosen[-1] == "worse")}))

    assert chosen[100:].count("worse") > 120


def test_choices_that_are_not_judged_yet_spread_a_generation() -> None:
    choice, generator = UCB1(), rng()

    assert set(NAMES) == {choice.choose(NAMES, generator) for _ in range(3)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: UCB1(exploration=-1.0),
        lambda: UCB1(credit="luck"),  # type: ignore[arg-type] # that is the fault
        lambda: ThompsonSampling(credit="luck"),  # type: ignore[arg-type] # that is the fault
        lambda: AdaptivePursuit(p_min=0.0),
        lambda: AdaptivePursuit(learning=1.0),
    ],
)
def test_a_bandit_out_of_range_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|unknown credit"):
        make()
