from dataclasses import replace

import numpy as np
import pytest

from experiments.analysis.comparison import Rules, Verdict, any_difference, compare, rules_of
from experiments.analysis.findings import paragraph
from experiments.benchmarks.statistics import false_positives, power
from experiments.experiment import Experiment
from experiments.statistics import friedman, holm, rank_sum_p, signed_rank_p

RULES = Rules((("x", "y"),))


def scores(seeds: int = 30, shift: float = 1.0, spread: float = 1.0) -> dict[str, dict[str, dict[int, float]]]:
    rng = np.random.default_rng(4)
    return {
        "x": {
            "t": dict(enumerate(rng.normal(shift, spread, seeds))),
            "u": dict(enumerate(rng.normal(shift, spread, seeds))),
        },
        "y": {
            "t": dict(enumerate(rng.normal(0.0, spread, seeds))),
            "u": dict(enumerate(rng.normal(0.0, spread, seeds))),
        },
    }


def arrays(data: dict[str, dict[str, dict[int, float]]], arm: str) -> list[np.ndarray]:
    return [np.array(list(runs.values())) for runs in data[arm].values()]


def test_the_p_is_that_of_the_rank_sum_within_tasks() -> None:
    data = scores()
    expected = rank_sum_p(arrays(data, "x"), arrays(data, "y"), np.random.default_rng(0))

    assert expected == compare(data, RULES)[0].p


def test_paired_seeds_get_the_signed_rank_test() -> None:
    data = scores()
    difference = np.concatenate(arrays(data, "x")) - np.concatenate(arrays(data, "y"))

    assert signed_rank_p(difference) == compare(data, replace(RULES, paired=True))[0].p


def test_pairs_without_a_partner_are_left_out() -> None:
    data = scores()
    data["y"]["t"] = {seed: score for seed, score in data["y"]["t"].items() if seed < 20}

    assert (50, 50) == ((found := compare(data, replace(RULES, paired=True))[0]).num_first, found.num_second)


def test_the_factor_is_the_ratio_of_geometric_means() -> None:
    data = scores()
    expected = np.exp(np.mean(arrays(data, "x")) - np.mean(arrays(data, "y")))

    assert pytest.approx(expected) == compare(data, RULES)[0].ratio


def test_intervals_hold_the_estimates() -> None:
    found = compare(scores(), RULES)[0]
    assert found.improvement_interval is not None
    assert found.ratio_interval is not None
    assert found.ratio is not None

    assert (True, True) == (
        found.improvement_interval[0] < found.improvement < found.improvement_interval[1],
        found.ratio_interval[0] < found.ratio < found.ratio_interval[1],
    )


def test_p_values_are_corrected_together() -> None:
    data = {**scores(), "z": scores(shift=0.5)["x"]}
    found = compare(data, replace(RULES, pairs=(("x", "y"), ("z", "y"), ("x", "z"))))

    assert pytest.approx(holm([each.p for each in found])) == [each.p_corrected for each in found]


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (scores(shift=1.0), Verdict.FIRST),
        (scores(shift=-1.0), Verdict.SECOND),
        (scores(shift=0.05), Verdict.UNDECIDED),
        (scores(shift=0.01, spread=0.001), Verdict.NEGLIGIBLE),
        ({"x": {"t": {0: 1.0, 1: 2.0, 2: 3.0}}, "y": {"t": {0: 0.1, 1: 0.2, 2: 0.3}}}, Verdict.IMPOSSIBLE),
    ],
)
def test_verdicts(data: dict[str, dict[str, dict[int, float]]], verdict: Verdict) -> None:
    assert verdict is compare(data, RULES)[0].verdict


def test_many_small_wins_and_a_few_disasters_are_no_win() -> None:
    x = {seed: 0.5 + 0.01 * seed for seed in range(25)} | dict.fromkeys(range(25, 30), -20.0)
    y = {seed: 0.005 * seed for seed in range(30)}

    assert Verdict.MIXED is compare({"x": {"t": x}, "y": {"t": y}}, RULES)[0].verdict


def test_what_complete_separation_cannot_show_after_correction_is_impossible() -> None:
    few = {arm: {"t": {seed: base + seed for seed in range(4)}} for arm, base in (("x", 10.0), ("y", 0.0), ("z", 20.0))}
    found = compare(few, Rules((("x", "y"), ("z", "y"), ("x", "z"))))

    assert {Verdict.IMPOSSIBLE} == {each.verdict for each in found}


def test_tasks_that_only_one_arm_has_are_left_out() -> None:
    data = scores()
    del data["y"]["u"]

    assert 1 == compare(data, RULES)[0].num_tasks


def test_a_pair_without_common_tasks_is_left_out() -> None:
    assert [] == compare({"x": {"t": {0: 1.0}}, "y": {"u": {0: 1.0}}}, RULES)


def test_single_runs_have_no_intervals() -> None:
    found = compare({"x": {"t": {0: 1.0}}, "y": {"t": {0: 2.0}}}, RULES)[0]

    assert (None, None) == (found.improvement_interval, found.ratio_interval)


def test_runs_that_missed_a_target_are_the_worst() -> None:
    data = {"x": {"t": {0: -np.inf, 1: -5.0}}, "y": {"t": {0: -np.inf, 1: -np.inf}}}
    found = compare(data, replace(RULES, is_log=False))[0]

    assert (0.75, None) == (found.improvement, found.ratio)


def test_paired_runs_that_missed_a_target_have_an_order() -> None:
    x = dict.fromkeys(range(8), -5.0)
    y = dict.fromkeys(range(8), -np.inf)
    found = compare({"x": {"t": x}, "y": {"t": y}}, replace(RULES, is_log=False, paired=True))[0]

    assert 2 / 2**8 == found.p


def test_the_same_seed_gives_the_same_comparison() -> None:
    assert compare(scores(), RULES) == compare(scores(), RULES)


def test_friedman_takes_tasks_and_seeds_as_blocks() -> None:
    data = {**scores(), "z": scores(shift=0.5)["x"]}
    table = np.array([np.concatenate(arrays(data, arm)) for arm in "xyz"]).T

    assert (*friedman(table), 60) == any_difference(data, ["x", "y", "z"])


def test_two_arms_have_no_omnibus_test() -> None:
    assert any_difference(scores(), ["x", "y"]) is None


def test_without_a_declaration_all_pairs_are_compared_for_exploration() -> None:
    rules = rules_of(None, ["b", "a", "c"], is_log=True)

    assert ((("a", "b"), ("a", "c"), ("b", "c")), False) == (rules.pairs, rules.is_declared)


def test_declared_comparisons_are_the_only_ones() -> None:
    experiment = Experiment("e", {"a": (), "b": (), "c": ()}, {"t": ()}, [0], comparisons=(("c", "a"),))

    assert ((("c", "a"),), True) == ((rules := rules_of(experiment, ["a"], is_log=True)).pairs, rules.is_declared)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (scores(shift=1.0), "x is better than y"),
        (scores(shift=-1.0), "y is better than x"),
        (scores(shift=0.05), "No difference was shown between x and y"),
        (scores(shift=0.01, spread=0.001), "not a win"),
        ({"x": {"t": {0: 1.0, 1: 2.0, 2: 3.0}}, "y": {"t": {0: 0.1, 1: 0.2, 2: 0.3}}}, "smallest possible p is 0.1"),
    ],
)
def test_words_follow_the_verdict(data: dict[str, dict[str, dict[int, float]]], words: str) -> None:
    assert words in paragraph(compare(data, RULES), RULES, "speedup")


@pytest.mark.parametrize(
    "data",
    [scores(shift=-0.05), {"x": {"t": {0: 0.1, 1: 0.2, 2: 0.3}}, "y": {"t": {0: 1.0, 1: 2.0, 2: 3.0}}}],
    ids=["undecided", "too few runs"],
)
def test_where_neither_is_ahead_the_numbers_are_those_of_the_arm_that_is_named_first(data) -> None:
    (found,) = compare(data, RULES)
    text = paragraph([found], RULES, "speedup")

    assert found.improvement < 0.5
    assert "x and y" in text
    assert (True, True) == (f"improvement {found.improvement:.2f} " in text, f"factor {found.ratio:.3f} " in text)


@pytest.mark.parametrize("shift", [0.05, 0.0])
def test_noise_is_never_called_better(shift: float) -> None:
    assert "better" not in paragraph(compare(scores(shift=shift), RULES), RULES, "speedup")


def test_exploration_says_so_and_claims_nothing() -> None:
    rules = replace(RULES, is_declared=False)
    text = paragraph(compare(scores(), rules), rules, "speedup")

    assert (True, False) == (text.startswith("EXPLORATORY"), "is better" in text)


def test_the_text_gives_effect_interval_corrected_p_and_n() -> None:
    data = {**scores(), "z": scores(shift=0.5)["x"]}
    rules = replace(RULES, pairs=(("y", "x"), ("z", "y")))
    found = compare(data, rules)
    low, high = found[0].improvement_interval or (0.0, 0.0)
    text = paragraph(found, rules, "speedup")

    assert f"{1 - found[0].improvement:.2f} (95 % interval {1 - high:.2f} to {1 - low:.2f})" in text
    assert "p < 0.0001 after Holm's correction for 2 comparisons, n = 60 and 60 runs" in text


def test_nothing_to_compare_is_said() -> None:
    assert "nothing to compare" in paragraph([], RULES, "speedup")


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_false_positives_are_as_rare_as_promised(paired: bool) -> None:
    found = false_positives(300, paired=paired)

    assert (True, True) == (0.02 <= found["before_correction"] <= 0.08, found["family_wise"] <= 0.08)


@pytest.mark.slow
def test_a_large_effect_is_found_with_thirty_seeds() -> None:
    assert power(150, 0.71, 30) >= 0.7
