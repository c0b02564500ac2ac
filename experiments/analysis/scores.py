"""One number a run for each metric, under one budget for all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..experiment import BUDGETS, METRICS
from ..statistics import area_under_curve
from .tables import Sweep

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is read.

    Attributes:
        words: What it is, for people.
        is_log: Whether its scores are logarithms of speedups, so that differences are ratios.
    """

    words: str
    is_log: bool = True


WORDS: Mapping[str, Metric] = {
    "speedup": Metric("re-verified speedup of the best kernel"),
    "area_evaluations": Metric("mean log best-so-far speedup over the evaluation budget"),
    "area_seconds": Metric("mean log best-so-far speedup over the time budget"),
    "area_tokens": Metric("mean log best-so-far speedup over the token budget"),
    "evaluations_to_target": Metric("evaluations until the target speedup", is_log=False),
    "skeletons": Metric("correct kernels that differ in more than names and numbers", is_log=False),
}


SPENT = {"evaluations": "evaluations", "seconds": "elapsed_s", "tokens": "tokens"}
"""Column of the table of runs that tells what was spent of each budget."""
SATISFIED = frozenset({"exhausted", "target", "stagnation"})
"""Ends that a run chose itself: more budget would not have changed it, so it keeps its last kernel."""


def budgets_of(sweep: Sweep) -> dict[str, float]:
    """Returns the budgets under which all arms are read; 0 where an arm spent nothing of it.

    A declared budget counts in full, unless another one cut an arm short: then what that arm spent
    in the median counts, and for an undeclared budget what the most frugal arm spent. Runs that
    ended of their own accord cut nothing short.
    """
    declared = dict(sweep.experiment.budget) if sweep.experiment is not None else {}
    finished = sweep.runs[sweep.runs["state"] == "finished"]
    return {name: _budget(finished, name, declared.get(name)) for name in BUDGETS}


def _budget(finished: pd.DataFrame, name: str, declared: float | None) -> float:
    """Returns one of the budgets."""
    spent = finished.groupby("arm")[SPENT[name]].median()
    if not len(spent) or not spent.min() > 0:
        return 0.0
    stopped = finished[~finished["ended"].isin(SATISFIED if declared is None else SATISFIED | {name})]
    shortest = stopped.groupby("arm")[SPENT[name]].median().min() if len(stopped) else np.inf
    return float(min(shortest, spent.max() if declared is None else declared))


def score_runs(sweep: Sweep, target_speedup: float) -> pd.DataFrame:
    """Scores every run by every metric; larger is better, NaN for runs that are not finished.

    Args:
        sweep: Runs and slots.
        target_speedup: What ``evaluations_to_target`` aims at; runs that do not reach it score -inf.

    Returns:
        The table of runs with a column for each of `METRICS`; with ``result``, the final speedup, NaN for a run that
        failed or whose winner did not stand up to re-verification; and with ``certain``, the lower end of its interval
        where it has one.
    """
    runs, budgets = sweep.runs.copy(), budgets_of(sweep)
    scores = {name: np.full(len(runs), np.nan) for name in METRICS}
    slots = {name: sweep.evaluations[name].to_numpy() for name in ("best", "evaluations", "elapsed_s", "tokens")}
    bounds = np.concatenate([[0], np.cumsum(runs["num_rows"].to_numpy())])
    usable = ((runs["state"] == "finished") & (runs["num_rows"] > 0) & runs["is_timed"]).to_numpy()
    for run in np.flatnonzero(usable):
        part = slice(bounds[run], bounds[run + 1])
        best, spent = slots["best"][part], slots["evaluations"][part]
        # A kernel is known when its evaluation ends; over evaluations the mean over 1 … budget is meant.
        costs = {
            "evaluations": spent - 1.0,
            "seconds": slots["elapsed_s"][part],
            "tokens": slots["tokens"][part].cumsum(),
        }
        for name in BUDGETS:
            if budgets[name] > 0:
                cost = np.maximum(np.maximum.accumulate(costs[name]), 0.0)
                scores[f"area_{name}"][run] = area_under_curve(cost, best, budgets[name])
        hits = np.flatnonzero(best >= target_speedup)
        scores["evaluations_to_target"][run] = -float(spent[hits[0]]) if len(hits) else -np.inf
    result = runs["verified"].where(runs["is_verified"], runs["best"]).where(usable)
    scores["speedup"] = np.log(result.fillna(1.0).where(usable)).to_numpy()
    certain = runs["verified_low"].where(runs["is_verified"] & usable).fillna(result)
    return runs.assign(**scores, result=result, certain=certain)


def by_task(scored: pd.DataFrame, metric: str) -> dict[str, dict[str, dict[int, float]]]:
    """Returns scores by arm, task and seed, of finished runs alone.

    Args:
        scored: As `score_runs` returns it.
        metric: One of `METRICS`.
    """
    found: dict[str, dict[str, dict[int, float]]] = {}
    known = scored[scored[metric].notna()]
    for arm, task, seed, score in zip(known["arm"], known["task"], known["seed"], known[metric], strict=True):
        found.setdefault(arm, {}).setdefault(task, {})[int(seed)] = float(score)
    return found
