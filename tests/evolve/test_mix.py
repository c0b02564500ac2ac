from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evolve import Budget
from evolve.mix import Mix
from evolve.policies import MuPlusLambda, Phases
from operators import Operator
from toy_search import ToyEvaluator, ToyOperator, cross, draft, flip, run

OPERATORS: dict[str, Operator] = {
    "flip": ToyOperator(flip),
    "turn": ToyOperator(flip),
    "mate": ToyOperator(cross, arity=2),
    "begin": ToyOperator(draft, arity=0),
    "mend": ToyOperator(flip, takes_failures=True),
}


def drawn(mix: Mix, eligible: list[str], count: int = 4000) -> Counter[str]:
    mix.meet(OPERATORS)
    generator = np.random.default_rng(0)
    return Counter(mix.choose(eligible, generator) for _ in range(count))


def test_a_kind_has_its_share_however_many_operators_it_has() -> None:
    counts = drawn(Mix(mutation=0.8, crossover=0.2), ["flip", "turn", "mate", "begin"])

    assert pytest.approx(0.2, abs=0.03) == counts["mate"] / 4000
    assert pytest.approx(0.4, abs=0.03) == counts["flip"] / 4000
    assert 0 == counts["begin"]


def test_a_repair_is_no_mutation() -> None:
    assert {"mend"} == set(drawn(Mix(repair=1.0), list(OPERATORS)))


def test_who_has_no_share_is_drawn_when_no_other_can_work() -> None:
    assert {"flip", "begin"} == set(drawn(Mix(crossover=1.0), ["flip", "begin"]))


@pytest.mark.parametrize("share", [-1.0, math.nan, math.inf])
def test_a_share_must_be_a_number_of_at_least_zero(share: float) -> None:
    with pytest.raises(ValueError, match="the share of crossover must be at least 0, is"):
        Mix(crossover=share)


def test_one_share_must_be_positive() -> None:
    with pytest.raises(ValueError, match="sum to 0"):
        Mix(mutation=0.0)


def test_drafts_without_a_share_still_make_the_first_phase(tmp_path: Path) -> None:
    mix = Mix(mutation=0.5, crossover=0.5)
    policy = Phases(drafts=6, growth=lambda choice: MuPlusLambda(mu=3, lambda_=3, choice=choice), choice=mix)
    generations, _ = run(
        policy, tmp_path, 6, operators=OPERATORS, evaluator=ToyEvaluator(), budget=Budget(evaluations=40)
    )
    made_by = [each.operator for generation in generations[1:] for each in generation.offspring]

    assert ["begin"] * 6 == made_by[:6]
    assert {"flip", "turn", "mate"} == set(made_by[6:])
