"""Main effects of a factorial design, against computations of their own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf
from scipy import stats
from statsmodels.formula.api import ols

from experiments.analysis.comparison import Comparison, Verdict, compare, rules_of
from experiments.composition import composed
from experiments.experiment import Experiment, declare, from_plain, load_experiment
from experiments.factors import matched_arms
from experiments.faults import ConfigError
from experiments.sweep_command import SHIPPED

Data = dict[str, dict[str, dict[int, float]]]

FACTORS = ("a", "b", "c")
ARMS = [
    "_".join(f"{name}{level}" for name, level in zip(FACTORS, levels, strict=True))
    for levels in itertools.product("10", repeat=3)
]
TASKS = ("t", "u")


def experiment(**more: object) -> Experiment:
    plain = {
        "arms": {arm: [] for arm in ARMS},
        "tasks": list(TASKS),
        "seeds": 30,
        "effects": {name: [f"{name}1", f"{name}0"] for name in FACTORS},
        **more,
    }
    return from_plain(plain, "factorial")


def data(seeds: int = 30, *, a: float = 0.2, b: float = 3.0, seed_effect: float = 0.0) -> Data:
    """Factor a matters a little, b much, c not at all, and tasks differ."""
    rng = np.random.default_rng(11)
    shared = rng.normal(0, seed_effect, (len(TASKS), seeds)) if seed_effect else np.zeros((len(TASKS), seeds))
    return {
        arm: {
            task: {
                seed: float(
                    a * ("a1" in arm) + b * ("b1" in arm) + 2.0 * place + shared[place, seed] + rng.normal(0, 0.4)
                )
                for seed in range(seeds)
            }
            for place, task in enumerate(TASKS)
        }
        for arm in ARMS
    }


def effects(scores: Data, **more: object) -> dict[str, Comparison]:
    return {each.first[0]: each for each in compare(scores, rules_of(experiment(**more), ARMS, is_log=True))}


def long(scores: Data) -> pd.DataFrame:
    rows = [
        (score, *(int(level[1:]) - 0.5 for level in arm.split("_")), task, seed)
        for arm, by_task in scores.items()
        for task, runs in by_task.items()
        for seed, score in runs.items()
    ]
    return pd.DataFrame(rows, columns=["score", *FACTORS, "task", "seed"])


@pytest.mark.parametrize("paired", [False, True])
def test_a_main_effect_is_the_coefficient_of_the_linear_model(paired: bool) -> None:
    scores = data()
    fitted = ols("score ~ a * b * c + C(task)", long(scores)).fit()
    found = effects(scores, paired=paired)

    assert {name: pytest.approx(np.exp(fitted.params[name])) for name in FACTORS} == {
        name: each.ratio for name, each in found.items()
    }


def test_the_p_is_that_of_ranks_within_each_task_and_setting_of_the_others() -> None:
    """Van Elteren's test by its formula: rank sums in strata, weighted by 1 / (N + 1), without ties."""
    scores = data()
    statistic = variance = 0.0
    for task, b, c in itertools.product(TASKS, "10", "10"):
        x, y = (np.array(list(scores[f"a{level}_b{b}_c{c}"][task].values())) for level in "10")
        n, m = len(x), len(y)
        rank_sum = stats.rankdata(np.concatenate([x, y]))[:n].sum()
        statistic += (rank_sum - n * (n + m + 1) / 2) / (n + m + 1)
        variance += n * m * (n + m + 1) / 12 / (n + m + 1) ** 2
    expected = 2 * stats.norm.sf(abs(statistic) / np.sqrt(variance))

    assert pytest.approx(expected) == effects(scores)["a"].p


def test_paired_seeds_are_averaged_over_the_other_factors_before_they_are_tested() -> None:
    """Runs of one seed are dependent, so a seed counts once: Wilcoxon's test over tasks and seeds."""
    scores = data(seed_effect=2.0)
    frame = {
        (arm, task, seed): score
        for arm, tasks in scores.items()
        for task, runs in tasks.items()
        for seed, score in runs.items()
    }
    differences = [
        np.mean([frame[f"a1_b{b}_c{c}", task, seed] - frame[f"a0_b{b}_c{c}", task, seed] for b in "10" for c in "10"])
        for task in TASKS
        for seed in range(30)
    ]
    found = effects(scores, paired=True)["a"]

    assert pytest.approx(stats.wilcoxon(differences).pvalue) == found.p
    assert (60, 60) == (found.num_first, found.num_second)


def test_small_main_effects_are_found_beside_large_ones_and_none_where_there_is_none() -> None:
    found = effects(data())

    assert {"a": Verdict.FIRST, "b": Verdict.FIRST, "c": Verdict.UNDECIDED} == {
        name: each.verdict for name, each in found.items()
    }
    assert (2, 240, 240) == (found["a"].num_tasks, found["a"].num_first, found["a"].num_second)


@pytest.mark.parametrize("paired", [False, True])
def test_a_main_effect_that_is_none_is_called_one_in_five_percent_of_experiments(paired: bool) -> None:
    """Also where another factor matters much and, when paired, where seeds do."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(300):
        shared = rng.normal(0, 2.0 * paired, 8)
        scores = {
            arm: {"t": {seed: 3.0 * ("b1" in arm) + shared[seed] + rng.normal() for seed in range(8)}} for arm in ARMS
        }
        wanted = experiment(paired=paired, effects={"a": ["a1", "a0"]})
        p_values.append(compare(scores, rules_of(wanted, ARMS, is_log=True))[0].p)

    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09


def test_a_setting_that_one_side_lacks_is_left_out() -> None:
    scores = data()
    del scores["a1_b1_c1"]["t"]

    assert (210, 210) == ((found := effects(scores)["a"]).num_first, found.num_second)


def test_arms_are_matched_in_all_other_factors() -> None:
    assert [("x_lo_big", "x_hi_big"), ("y_lo_big", "y_hi_big")] == matched_arms(
        ["x_lo_big", "y_hi_big", "plain", "x_hi_big", "y_lo_big"], ("lo", "hi")
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": ["a1", "a2"]}, r"effects\.a: no arm has the level 'a2' in its name, as in task1_a2"),
        ({"a": ["a1"]}, r"effects\.a: give two levels such as \[history1, history0\], not \['a1'\]"),
        ({"a": "a1"}, r"effects\.a: give a list of texts"),
        ([["a1", "a0"]], r"effects: give a mapping from names"),
    ],
)
def test_effects_that_cannot_be_are_one_line(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        experiment(effects=given)


def test_an_arm_without_a_partner_is_named() -> None:
    arms = {arm: [] for arm in ARMS if arm != "a0_b1_c1"}
    with pytest.raises(
        ConfigError, match=r"effects\.a: the arm a1_b1_c1 has no partner that differs from it in a1 / a0"
    ):
        experiment(arms=arms)


def test_effects_are_stored_and_cannot_be_taken_back(tmp_path: Path) -> None:
    wanted = declare(experiment(), tmp_path)
    (tmp_path / "records.jsonl").touch()
    fewer = replace(wanted, effects={"a": ("a1", "a0")})

    assert wanted == load_experiment(tmp_path / "experiment.yaml")
    with pytest.raises(ConfigError, match="declares the comparison b1 / b0; it cannot be taken back"):
        declare(fewer, tmp_path)


@pytest.mark.parametrize("scale", ["", "gpu"])
@pytest.mark.parametrize(
    ("name", "varied"),
    [
        ("information_ablation", {"task", "elites", "notes"}),
        ("feedback_ablation", {"time", "log", "profile", "knowledge"}),
    ],
)
def test_prompts_of_an_ablation_differ_in_what_it_asks_about_alone(name: str, varied: set[str], scale: str) -> None:
    """Another ingredient that one operator's file has and the other's has not would be taken for the factor."""
    wanted = load_experiment(SHIPPED / f"{name}.yaml", scale)
    others = set()
    for arm in wanted.arms.values():
        for operator in composed([*wanted.overrides, *arm]).operators.values():
            given = OmegaConf.to_container(operator.ingredients)
            assert isinstance(given, dict)
            others.add(tuple(sorted((key, value) for key, value in given.items() if key not in varied and value)))

    assert {()} == others
