"""The tables of a comparison as text. Numbers are rounded only here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .findings import p_text
from .summary import FAST

if TYPE_CHECKING:
    from .result import Result

STATES = ("failed", "unfinished", "unreadable", "missing")


@dataclass(frozen=True, slots=True)
class Shown:
    """A table of texts.

    Attributes:
        title: What it is.
        lead: How to read it.
        columns: Their names.
        rows: As many texts each.
        names: How many of the first columns are names rather than numbers.
    """

    title: str
    lead: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


def shown_tables(result: Result) -> list[Shown]:
    """Returns the tables in the order of reading; empty ones are left out."""
    tables = (comparisons(result), arms(result), budgets(result), operators(result), tasks(result))
    return [table for table in tables if table.rows]


def comparisons(result: Result) -> Shown:
    """Returns the declared tests."""
    rows = [
        (
            each.first,
            each.second,
            str(each.verdict),
            _with_interval(each.improvement, each.improvement_interval, 2),
            _with_interval(each.ratio, each.ratio_interval, 3),
            p_text(each.p),
            p_text(each.p_corrected),
            f"{each.num_first} / {each.num_second}",
            f"{each.seeds_needed:,}" if each.seeds_needed else "–",
        )
        for each in result.comparisons
    ]
    columns = (
        "first",
        "second",
        "verdict",
        "P(improvement)",
        "factor",
        "p",
        "p (Holm)",
        "runs",
        "seeds for 80 % power",
    )
    lead = (
        "P(improvement) is the probability that a run of the first arm beats one of the second on the same task; "
        "factor is the ratio of geometric means."
    )
    if result.rules.effects:
        lead += " Levels of a factor stand for all arms that have them; arms that differ in nothing else are compared."
    return Shown("Comparisons", lead, columns, rows, names=3)


def arms(result: Result) -> Shown:
    """Returns what each arm came to."""
    has_skeletons = bool(result.arms["unique_skeletons"].notna().any())
    rows = []
    for name, row in result.arms.iterrows():
        lost = ", ".join(f"{int(row[state])} {state}" for state in STATES if row[state])
        rows.append(
            (
                str(name),
                f"{int(row['finished'])}{f' ({lost})' if lost else ''}",
                _with_interval(row["iqm"], (row["iqm_low"], row["iqm_high"]), 3),
                _number(row["geometric_mean"], 3),
                f"{_number(row['geometric_mean_correct'], 3)} ({row['num_correct']:.0f})"
                if row["num_correct"]
                else "–",
                *(f"{_share(row[name])} ({_share(row[f'{name}_measured'])})" for name in FAST),
                _number(row["optimality_gap"], 3),
                _number(row["unique_kernels"], 0),
                *([_number(row["unique_skeletons"], 0)] if has_skeletons else []),
            )
        )
    columns = (
        "arm", "runs", f"{result.metric}, IQM", "speedup, failures as 1", "correct only (n)", *FAST, "gap to best",
        "kernels a run", *(["skeletons a run"] if has_skeletons else []),
    )  # fmt: skip
    lead = (
        "IQM: mean of the middle half of the runs, with 95 % interval. fast_p: share of all runs whose final kernel is "
        "more than p times as fast as the seed with its whole interval (in brackets: by the measured speedup alone). "
        "Gap: how many times faster the best run on the same task is."
    )
    return Shown("Arms", lead, columns, rows)


def budgets(result: Result) -> Shown:
    """Returns the arms under three budgets."""
    columns = (
        "arm", "area, evaluations", "area, seconds", "area, tokens", "reached target", "median evaluations to it",
        "expected with restarts", "evaluations", "seconds", "tokens",
    )  # fmt: skip
    rows = [
        (
            str(name),
            *(_number(row[f"area_{cost}"], 3) for cost in ("evaluations", "seconds", "tokens")),
            _share(row["reached_target"]),
            *(_number(row[each], 0) for each in ("median_to_target", "expected_to_target", "evaluations")),
            _number(row["elapsed_s"], 1),
            _number(row["tokens"], 0),
        )
        for name, row in result.arms.iterrows()
    ]
    lead = (
        "Area: geometric mean of the best speedup so far over the budget. Runs that missed the target are censored at "
        "their end (Kaplan and Meier); the last three columns are medians of a run."
    )
    return Shown("Three budgets", lead, columns, rows)


def operators(result: Result) -> Shown:
    """Returns what each operator is worth."""
    shares = ("parsed", "built", "ran", "correct", "neutral", "improved", "novel")
    per = ("gain_per_evaluation", "gain_per_s", "gain_per_1k_tokens")
    rows = []
    for name, row in result.operators.iterrows():
        arm, operator = name if isinstance(name, tuple) else (name, name)
        rows.append(
            (
                str(arm),
                str(operator),
                f"{int(row['proposals']):,}",
                *(_share(row[each]) for each in shares),
                *(f"{row[each]:.3g}" if np.isfinite(row[each]) else "–" for each in per),
            )
        )
    columns = ("arm", "operator", "proposals", *shares, "gain / evaluation", "gain / s", "gain / 1k tokens")
    lead = (
        "Shares of all proposals. Neutral and improved compare with the best parent, within the noise floor. "
        "Gain: logarithm of the best speedup of the run that the operator's kernels added."
    )
    return Shown("Operators", lead, columns, rows, names=2)


def tasks(result: Result) -> Shown:
    """Returns the final speedups by task."""
    names = [str(arm) for arm in result.tasks.columns]
    rows = [
        (str(task), *(_number(value, 3) for value in row))
        for task, row in zip(result.tasks.index, result.tasks.to_numpy(), strict=True)
    ]
    lead = "Geometric mean of the final speedups over seeds, failures as 1."
    return Shown("Tasks", lead, ("task", *names), rows)


def _number(value: float | None, digits: int) -> str:
    """Returns a number; a dash for what is not known, the sign of infinity for what never happens."""
    if value is None or np.isnan(value):
        return "–"
    return "∞" if np.isinf(value) else f"{value:,.{digits}f}"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.0f} %"


def _with_interval(value: float | None, interval: tuple[float, float] | None, digits: int) -> str:
    """Returns a number with its interval."""
    if interval is None or np.isnan(interval[0]):
        return _number(value, digits)
    return f"{_number(value, digits)} ({_number(interval[0], digits)} – {_number(interval[1], digits)})"
