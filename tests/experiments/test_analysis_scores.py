from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.analysis.run_columns import COLUMNS
from experiments.analysis.scores import budgets_of, by_task, score_runs
from experiments.analysis.summary import arm_table, operator_table, task_table
from experiments.analysis.tables import Sweep
from experiments.experiment import Experiment

NAN = float("nan")


def sweep(bests: list[list[float]], arms: list[str], budget: dict[str, float] | None = None, **columns: list) -> Sweep:
    """A sweep whose runs have the given best-so-far curves, an evaluation a second and ten tokens a slot."""
    count = len(bests)
    runs = pd.DataFrame(
        {
            "arm": arms,
            "task": "t",
            "seed": range(count),
            "declared": True,
            "state": "finished",
            "error": "",
            "ended": "evaluations",
            "num_rows": [len(best) for best in bests],
            "evaluations": [len(best) for best in bests],
            "tokens": [10 * len(best) for best in bests],
            "elapsed_s": [float(len(best)) for best in bests],
            "best": [best[-1] for best in bests],
            "verified": NAN,
            "verified_low": NAN,
            "is_verified": False,
            "inherited": 1.0,
            "noise_floor": 0.01,
            "is_timed": True,
        }
    ).assign(**columns)
    parts = []
    for run, best in enumerate(bests):
        size = len(best)
        part = pd.DataFrame(0, index=range(size), columns=list(COLUMNS))
        spent = np.arange(size) + 1
        parts.append(
            part.assign(
                run=run, slot=range(size), operator="edit", outcome="parsed", status="ok", kernel=spent,
                duplicate=False, charged=True, speedup=best, parent_speedup=1.0, best=np.maximum.accumulate(best),
                evaluations=spent, tokens=10, cost_s=1.0, elapsed_s=spent.astype(float),
            )
        )  # fmt: skip
    slots = pd.concat(parts, ignore_index=True).astype(
        {"operator": "category", "outcome": "category", "status": "category"}
    )
    experiment = Experiment("e", dict.fromkeys(arms, ()), {"t": ()}, range(count), budget=budget or {})
    return Sweep(experiment, runs, slots, Path())


def test_area_over_evaluations_is_the_mean_of_the_logarithms() -> None:
    scored = score_runs(sweep([[1.0, 2.0, 4.0, 4.0]], ["a"], {"evaluations": 4}), 2.0)

    assert pytest.approx(np.log([1.0, 2.0, 4.0, 4.0]).mean()) == scored["area_evaluations"][0]


def test_area_over_seconds_begins_when_a_kernel_is_known() -> None:
    scored = score_runs(sweep([[2.0, 4.0]], ["a"], {"seconds": 4.0}), 2.0)

    assert pytest.approx(np.log(2.0) / 2) == scored["area_seconds"][0]


def test_areas_are_taken_up_to_what_the_most_frugal_arm_spent() -> None:
    short, long = [1.0, 2.0], [1.0, 2.0, 9.0, 9.0]

    assert {"evaluations": 2.0, "seconds": 2.0, "tokens": 20.0} == budgets_of(sweep([short, long], ["a", "b"]))


def test_a_declared_budget_counts_in_full_for_a_run_that_ended_of_its_own_accord() -> None:
    data = sweep([[1.0], [1.0, 2.0, 2.0, 2.0]], ["a", "b"], {"evaluations": 4}, ended=["exhausted", "evaluations"])

    assert 4.0 == budgets_of(data)["evaluations"]


def test_an_undeclared_budget_is_not_cut_by_a_run_that_ended_of_its_own_accord() -> None:
    data = sweep([[1.0], [1.0, 2.0, 2.0, 2.0]], ["a", "b"], ended=["exhausted", "evaluations"])

    assert 4.0 == budgets_of(data)["seconds"]


def test_a_declared_budget_is_cut_where_another_one_stopped_an_arm() -> None:
    bests = [[1.0, 2.0], [1.0, 2.0, 2.0, 2.0]]
    data = sweep(bests, ["a", "b"], {"evaluations": 4, "seconds": 2}, ended=["seconds", "evaluations"])

    assert 2.0 == budgets_of(data)["evaluations"]


def test_a_budget_that_one_arm_does_not_spend_compares_nothing() -> None:
    assert 0.0 == budgets_of(sweep([[1.0, 2.0], [1.0, 2.0]], ["a", "b"], tokens=[0, 20]))["tokens"]


def test_the_final_speedup_is_the_verified_one() -> None:
    scored = score_runs(sweep([[1.0, 3.0]], ["a"], verified=[2.5], is_verified=[True]), 2.0)

    assert (2.5, pytest.approx(np.log(2.5))) == (scored["result"][0], scored["speedup"][0])


def test_a_winner_that_falls_counts_as_the_baseline_and_as_no_result() -> None:
    scored = score_runs(sweep([[1.0, 3.0]], ["a"], verified=[NAN], is_verified=[True]), 2.0)

    assert (True, 0.0) == (bool(np.isnan(scored["result"][0])), scored["speedup"][0])


def test_evaluations_to_target_are_negative_and_infinite_when_missed() -> None:
    scored = score_runs(sweep([[1.0, 2.0, 2.0], [1.0, 1.0, 1.9]], ["a", "a"]), 2.0)

    assert [-2.0, -np.inf] == scored["evaluations_to_target"].tolist()


@pytest.mark.parametrize("state", ["failed", "unfinished", "missing"])
def test_runs_that_are_not_finished_have_no_score(state: str) -> None:
    scored = score_runs(sweep([[1.0, 2.0], [1.0, 2.0]], ["a", "a"], state=["finished", state]), 2.0)

    assert {"a": {"t": {0: scored["speedup"][0]}}} == by_task(scored, "speedup")


def test_failed_runs_count_as_one_in_the_mean_and_against_fast_p() -> None:
    data = sweep([[1.0, 4.0], [1.0, 9.0]], ["a", "a"], state=["finished", "failed"])
    row = arm_table(score_runs(data, 2.0), data, "speedup").loc["a"]

    assert (pytest.approx(2.0), pytest.approx(4.0), 1, 0.5) == (
        row["geometric_mean"],
        row["geometric_mean_correct"],
        row["num_correct"],
        row["fast_1"],
    )


def test_fast_p_counts_a_run_whose_whole_interval_is_faster_and_says_what_was_measured() -> None:
    """Of two copies of the seed at 1.003, one is surely no slower; a run without an interval counts as measured."""
    data = sweep(
        [[1.0, 1.003]] * 4,
        ["a"] * 4,
        verified=[1.003, 1.003, NAN, NAN],
        verified_low=[0.99, 1.001, NAN, NAN],
        is_verified=[True, True, False, True],
    )
    row = arm_table(score_runs(data, 2.0), data, "speedup").loc["a"]

    assert (0.5, 0.75) == (row["fast_1"], row["fast_1_measured"])


def test_arms_are_listed_best_first() -> None:
    data = sweep([[1.0, 2.0], [1.0, 2.1], [1.0, 3.0], [1.0, 3.1]], ["a", "a", "b", "b"])

    assert ["b", "a"] == arm_table(score_runs(data, 2.0), data, "speedup").index.tolist()


def test_gap_to_the_best_run_of_any_arm() -> None:
    data = sweep([[1.0, 2.0], [1.0, 4.0]], ["a", "b"])
    table = arm_table(score_runs(data, 2.0), data, "speedup")

    assert (pytest.approx(2.0), pytest.approx(1.0)) == (
        table.loc["a", "optimality_gap"],
        table.loc["b", "optimality_gap"],
    )


def test_a_single_run_has_no_interval() -> None:
    data = sweep([[1.0, 2.0]], ["a"])

    assert np.isnan(arm_table(score_runs(data, 2.0), data, "speedup").loc["a", "iqm_low"])


def test_tasks_are_a_geometric_mean_of_each_arm() -> None:
    data = sweep([[1.0, 2.0], [1.0, 8.0], [1.0, 3.0]], ["a", "a", "b"])

    assert [pytest.approx(4.0), pytest.approx(3.0)] == task_table(score_runs(data, 2.0)).loc["t"].tolist()


def test_operators_are_credited_arm_by_arm() -> None:
    table = operator_table(sweep([[1.0, 2.0], [1.0, 8.0]], ["a", "b"]))

    assert [("a", "edit", pytest.approx(np.log(2))), ("b", "edit", pytest.approx(np.log(8)))] == [
        (*name, gain) for name, gain in table["gain"].items()
    ]


def test_a_run_does_not_pay_for_the_one_before_it() -> None:
    table = operator_table(sweep([[1.0, 8.0], [1.0, 2.0]], ["a", "a"]))

    assert pytest.approx(np.log(16)) == table.loc[("a", "edit"), "gain"]
