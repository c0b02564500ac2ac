"""What each arm, task and operator came to, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..experiment import BUDGETS
from ..statistics import (
    expected_running_time,
    fast_p,
    geometric_mean,
    geometric_mean_correct,
    interquartile_mean,
    median_to_target,
    operator_credit,
    optimality_gap,
    stages,
    stratified_bootstrap,
)
from .scores import WORDS
from .tables import Sweep

if TYPE_CHECKING:
    import pandas as pd

FAST = {"fast_1": 1.0, "fast_1.5": 1.5, "fast_2": 2.0}
DEFAULT_MARGIN = 0.02
"""What counts as equal where no machine told its noise floor."""


def arm_table(scored: pd.DataFrame, sweep: Sweep, metric: str, seed: int = 0) -> pd.DataFrame:
    """Summarises the arms.

    Args:
        scored: As `scores.score_runs` returns it, perhaps with a column ``skeletons``.
        sweep: For the slots.
        metric: The primary one: its interquartile mean comes with a bootstrap interval.
        seed: Of the bootstrap.

    Returns:
        One row an arm, best first. Scores that are logarithms of speedups are shown as speedups.
    """
    import pandas as pd

    best = scored.groupby("task")["speedup"].transform("max")
    scored = scored.assign(gap_goal=best, unique=_unique_kernels(sweep, len(scored)))
    rows = {arm: _arm_row(runs, metric, seed) for arm, runs in scored.groupby("arm", sort=True)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("arm").sort_values("iqm", ascending=False)


def _arm_row(runs: pd.DataFrame, metric: str, seed: int) -> dict[str, float]:
    """Returns the summary of one arm's runs."""
    finished = runs[runs["state"] == "finished"]
    scored = finished[finished[metric].notna()]
    middle = low = high = np.nan
    if len(scored):
        strata = [group.to_numpy() for _, group in scored.groupby("task")[metric]]
        middle = float(interquartile_mean(scored[metric].to_numpy()))
        if min(map(len, strata)) > 1:
            low, high = stratified_bootstrap(strata, interquartile_mean, np.random.default_rng(seed))
    if WORDS[metric].is_log:
        middle, low, high = np.exp([middle, low, high])
    states = runs["state"].value_counts()
    ended = runs[runs["state"].isin(["finished", "failed"])]
    return {
        "finished": len(finished),
        **{state: int(states.get(state, 0)) for state in ("failed", "unfinished", "unreadable", "missing")},
        "iqm": middle,
        "iqm_low": low,
        "iqm_high": high,
        **_results(ended["result"].to_numpy(), ended["certain"].to_numpy()),
        "optimality_gap": _gap(finished),
        **{f"area_{name}": float(np.exp(finished[f"area_{name}"].mean())) for name in BUDGETS},
        **_target(finished),
        "evaluations": float(finished["evaluations"].median()),
        "elapsed_s": float(finished["elapsed_s"].median()),
        "tokens": float(finished["tokens"].median()),
        "unique_kernels": float(finished["unique"].median()),
        "unique_skeletons": float(finished["skeletons"].median()) if "skeletons" in finished else np.nan,
    }


def _results(results: np.ndarray, certain: np.ndarray) -> dict[str, float]:
    """Returns means and fast_p of final speedups, NaN for failures.

    A copy of the seed is measured faster than it every other time. So fast_p counts what is faster with its whole
    interval; what it is by the measured speedups alone, as others state it, stands beside it.
    """
    names = ("geometric_mean", "geometric_mean_correct", "num_correct", *FAST, *(f"{name}_measured" for name in FAST))
    if not results.size:
        return dict.fromkeys(names, np.nan)
    means = (geometric_mean(results), *geometric_mean_correct(results))
    shares = (fast_p(values, p) for values in (certain, results) for p in FAST.values())
    return dict(zip(names, (*means, *shares), strict=True))


def _gap(finished: pd.DataFrame) -> float:
    """Returns how many times faster the best run of any arm on the same task is, on average."""
    known = finished[finished["speedup"].notna()]
    if not len(known):
        return float("nan")
    return float(np.exp(optimality_gap((known["speedup"] - known["gap_goal"]).to_numpy(), 0.0)))


def _target(finished: pd.DataFrame) -> dict[str, float]:
    """Returns how many runs reached the target speedup and after how many evaluations."""
    known = finished[finished["evaluations_to_target"].notna()]
    reached = np.isfinite(known["evaluations_to_target"].to_numpy())
    counts = np.where(reached, -known["evaluations_to_target"].to_numpy(), known["evaluations"].to_numpy())
    return {
        "reached_target": float(reached.mean()) if len(known) else float("nan"),
        "median_to_target": median_to_target(counts, reached) if len(known) else float("nan"),
        "expected_to_target": expected_running_time(counts, reached) if len(known) else float("nan"),
    }


def _unique_kernels(sweep: Sweep, num_runs: int) -> np.ndarray:
    """Returns how many distinct kernels each run proposed."""
    slots = sweep.evaluations
    new = ((slots["kernel"] != 0) & ~slots["duplicate"]).to_numpy()
    return np.bincount(slots["run"].to_numpy()[new], minlength=num_runs)


def task_table(scored: pd.DataFrame) -> pd.DataFrame:
    """Returns the geometric mean of the final speedups, failures as 1: a row a task, a column an arm."""
    ended = scored[scored["state"].isin(["finished", "failed"])]
    logs = np.log(ended["result"].fillna(1.0))
    table = np.exp(logs.groupby([ended["task"], ended["arm"]]).mean()).unstack("arm")
    return table.rename_axis(columns=None)


def operator_table(sweep: Sweep) -> pd.DataFrame:
    """Returns `statistics.operator_credit` for every operator of every arm, of all runs that could be read.

    A child counts as equal to its parent within the median noise floor of the machines.
    """
    import pandas as pd

    slots = sweep.evaluations
    rows = (slots["operator"] != "seed").to_numpy()
    if not rows.any():
        return pd.DataFrame()
    run = slots["run"].to_numpy()
    gain = np.diff(np.log(slots["best"].to_numpy()), prepend=0.0)
    first = np.flatnonzero(np.diff(run, prepend=-1))
    gain[first] = np.log(slots["best"].to_numpy()[first])
    arms = sweep.runs["arm"].astype("category").cat
    names = slots["operator"].cat.categories
    codes = arms.codes.to_numpy()[run].astype(np.int64) * len(names) + slots["operator"].cat.codes.to_numpy()
    columns = ["duplicate", "speedup", "parent_speedup", "charged", "cost_s", "tokens"]
    proposals = slots[columns].assign(operator=codes, stage=_stages(slots), gain=gain)[rows]
    floor = sweep.runs["noise_floor"].median()
    table = operator_credit(proposals, DEFAULT_MARGIN if np.isnan(floor) else float(floor))
    pairs = [(arms.categories[code // len(names)], names[code % len(names)]) for code in table.index]
    table.index = pd.MultiIndex.from_tuples(pairs, names=["arm", "operator"])
    return table


def _stages(slots: pd.DataFrame) -> np.ndarray:
    """Returns `statistics.stages` of all slots, asked once for each pair of outcome and status."""
    outcome, status = slots["outcome"].cat, slots["status"].cat
    outcomes, statuses = outcome.categories.to_numpy(str), status.categories.to_numpy(str)
    grid = stages(np.repeat(outcomes, len(statuses)), np.tile(statuses, len(outcomes)))
    return np.asarray(grid[outcome.codes.to_numpy().astype(np.int64) * len(statuses) + status.codes.to_numpy()])
