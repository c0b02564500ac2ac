import numpy as np
import pandas as pd
import pytest

from experiments.statistics import STAGES, discovery_curve, gains, operator_credit, qd_score, stages

NAN = float("nan")


def test_stages_say_how_far_each_proposal_came() -> None:
    outcomes = ["no_code", "parsed", "parsed", "parsed", "parsed"]
    statuses = ["rejected", "build_failed", "run_timeout", "wrong_value", "ok"]

    assert list(STAGES) == [STAGES[stage] for stage in stages(outcomes, statuses)]


def test_a_proposal_without_a_kernel_is_not_parsed_whatever_its_status() -> None:
    assert [0] == stages(["no_code"], ["ok"]).tolist()


def test_gains_add_up_to_the_logarithm_of_the_best() -> None:
    found = gains([NAN, 2.0, 1.5, 6.0])

    assert pytest.approx([0.0, np.log(2), 0.0, np.log(3)]) == found


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "operator": ["edit", "edit", "edit", "edit", "model"],
            "stage": [4, 4, 1, 4, 4],
            "duplicate": [False, False, False, True, False],
            "speedup": [2.0, 1.01, NAN, 1.0, 3.0],
            "parent_speedup": [1.0, 1.0, 1.0, 1.0, 2.0],
            "gain": [np.log(2), 0.0, 0.0, 0.0, np.log(1.5)],
            "charged": [1, 1, 1, 0, 1],
            "cost_s": [1.0, 1.0, 0.5, 0.0, 4.0],
            "tokens": [0, 0, 0, 0, 500],
        }
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("proposals", 4),
        ("parsed", 1.0),
        ("built", 0.75),
        ("correct", 0.75),
        ("neutral", 0.5),
        ("improved", 0.25),
        ("novel", 0.75),
        ("gain", np.log(2)),
        ("gain_per_evaluation", np.log(2) / 3),
        ("gain_per_s", np.log(2) / 2.5),
    ],
)
def test_credit_of_an_operator(column: str, value: float) -> None:
    assert pytest.approx(value) == operator_credit(table(), margin=0.02).loc["edit", column]


def test_gain_per_token_of_an_operator_that_spends_none_is_not_a_number() -> None:
    credit = operator_credit(table(), margin=0.02)["gain_per_1k_tokens"]

    assert (True, pytest.approx(2 * np.log(1.5))) == (bool(np.isnan(credit["edit"])), credit["model"])


def test_margin_separates_neutral_from_improved() -> None:
    assert 0.5 == operator_credit(table(), margin=0.001).loc["edit", "improved"]


def test_discovery_curve_counts_the_distinct_ones() -> None:
    assert [0, 1, 1, 2, 2] == discovery_curve([None, "a", "a", "b", None]).tolist()


def test_qd_score_adds_the_best_of_each_cell() -> None:
    cells, qualities = ["a", "b", "a", None, "b"], [1.0, 2.0, 3.0, 99.0, NAN]

    assert max(1.0, 3.0) + 2.0 == qd_score(cells, qualities)


def test_qd_score_refuses_negative_qualities() -> None:
    with pytest.raises(ValueError, match="not negative"):
        qd_score(["a"], [-1.0])
