"""Figures of a comparison. Each function draws on an axis that it is given, and returns it.

Arms are told apart by colour (Okabe and Ito's), by line style and by marker at once, so that a grey
print and a colour-blind reader lose nothing; significance is a filled marker, never a colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..plots import INK, MUTED
from ..statistics import interval, performance_profile, resample_counts, step_at
from .comparison import Comparison, Verdict
from .scores import budgets_of
from .tables import Sweep

if TYPE_CHECKING:
    import pandas as pd

COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2)), (0, (2, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo")
GREYS = ("#D9D9D9", "#B5CDE0", "#7FAFD0", "#3F86B8", "#0B4F82")
"""From light to dark, so that the stages of a funnel stay in order when printed."""
GRID_POINTS = 81
MOST_BANDS = 6
"""More bands than this hide each other."""

BUDGET_WORDS = {"evaluations": "evaluations", "seconds": "seconds", "tokens": "model tokens"}


@dataclass(frozen=True, slots=True)
class Look:
    """How an arm is drawn everywhere."""

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    marker: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A mean curve with its interval.

    Attributes:
        x: Shape ``(num_points,)``.
        middle: Geometric mean over tasks and seeds, the same shape.
        low: Lower end of the 95 % bootstrap interval; equal to ``middle`` with single runs.
        high: Upper end.
    """

    x: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


def looks(arms: Sequence[str]) -> dict[str, Look]:
    """Gives every arm a look of its own; colours, lines and markers repeat with different periods."""
    return {
        arm: Look(colour, line, marker)
        for arm, colour, line, marker in zip(arms, cycle(COLOURS), _shifted(LINES), cycle(MARKERS), strict=False)
    }


def _shifted(lines: Sequence[str | tuple[int, tuple[int, ...]]]) -> cycle[str | tuple[int, tuple[int, ...]]]:
    """Repeats line styles out of step with colours, so that a colour's second use has another style."""
    return cycle([line for turn in range(len(lines)) for line in (*lines[turn:], *lines[:turn])])


def mean_curves(sweep: Sweep, cost: str, seed: int = 0) -> dict[str, Curve]:
    """Returns the mean best-so-far curve of each arm against one kind of cost.

    Args:
        sweep: Runs and slots; finished runs count.
        cost: ``"evaluations"``, ``"seconds"`` or ``"tokens"``.
        seed: Of the bootstrap.

    Returns:
        By arm; empty where an arm spent nothing of that cost.
    """
    budget = budgets_of(sweep)[cost]
    if not budget > 0:
        return {}
    grid = np.linspace(0.0, budget, GRID_POINTS)
    runs = sweep.runs[(sweep.runs["state"] == "finished") & (sweep.runs["num_rows"] > 0)]
    bounds = np.concatenate([[0], np.cumsum(sweep.runs["num_rows"].to_numpy())])
    best = sweep.evaluations["best"].to_numpy()
    spent = sweep.evaluations[
        {"evaluations": "evaluations", "seconds": "elapsed_s", "tokens": "tokens"}[cost]
    ].to_numpy()
    curves = {}
    for index, (arm, members) in enumerate(runs.groupby("arm", sort=True)):
        by_task = []
        for _, group in members.groupby("task", sort=True):
            logs = []
            for run in group.index:
                part = slice(bounds[run], bounds[run + 1])
                costs = spent[part].cumsum() if cost == "tokens" else np.maximum.accumulate(spent[part])
                logs.append(np.log(step_at(costs, best[part], grid)))
            by_task.append(np.array(logs))
        curves[str(arm)] = _mean_curve(grid, by_task, np.random.default_rng([seed, index]))
    return curves


def _mean_curve(grid: np.ndarray, by_task: Sequence[np.ndarray], rng: np.random.Generator) -> Curve:
    """Averages curves of shape ``(num_seeds, num_points)``, each task with the same weight."""
    middle = np.mean([logs.mean(axis=0) for logs in by_task], axis=0)
    drawn = np.mean([resample_counts(len(logs), rng) @ logs / len(logs) for logs in by_task], axis=0)
    ends = np.array([interval(column) for column in drawn.T])
    return Curve(grid, np.exp(middle), np.exp(ends[:, 0]), np.exp(ends[:, 1]))


def best_so_far(axis: Axes, curves: Mapping[str, Curve], cost: str, styles: Mapping[str, Look]) -> Axes:
    """Draws the mean best-so-far curve of each arm; its interval is a band, or a bar at the end when arms are many."""
    for order, (arm, curve) in enumerate(curves.items()):
        look = styles[arm]
        if len(curves) <= MOST_BANDS:
            axis.fill_between(curve.x, curve.low, curve.high, step="post", color=look.colour, alpha=0.13, linewidth=0)
        else:
            end = curve.x[-1] * (1.01 + 0.012 * order)
            axis.plot([end, end], [curve.low[-1], curve.high[-1]], color=look.colour, linestyle="-", linewidth=1.1)
            axis.plot(end, curve.middle[-1], look.marker, color=look.colour, markersize=4)
        axis.plot(
            curve.x,
            curve.middle,
            drawstyle="steps-post",
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markevery=(4 + 3 * order % 16, 16),
            markersize=5,
            linewidth=1.6,
            label=arm,
        )
    axis.set_xlabel(BUDGET_WORDS[cost])
    axis.set_ylabel("best speedup so far\n(geometric mean, 95 % interval)")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    room = 1.0 if len(curves) <= MOST_BANDS else 1.02 + 0.012 * len(curves)
    axis.set_xlim(0, room * max((curve.x[-1] for curve in curves.values()), default=1.0))
    return axis


def profile(axis: Axes, scored: pd.DataFrame, styles: Mapping[str, Look]) -> Axes:
    """Draws the share of runs whose final speedup exceeds each threshold, tasks weighted equally.

    Args:
        axis: Where to draw.
        scored: As `scores.score_runs` returns it.
        styles: How each arm is drawn.
    """
    ended = scored[scored["state"].isin(["finished", "failed"])]
    results = ended["result"].fillna(0.0)
    top = max(1.1, float(results.max()) * 1.02) if len(results) else 1.1
    thresholds = np.geomspace(0.9, top, 200)
    for order, arm in enumerate(sorted(ended["arm"].unique())):
        look = styles[arm]
        members = ended["arm"] == arm
        table = results[members].groupby([ended.loc[members, "task"], ended.loc[members, "seed"]]).first().unstack()
        axis.plot(
            thresholds,
            performance_profile(table.to_numpy(), thresholds),
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markevery=(10 + 7 * order % 40, 40),
            markersize=5,
            linewidth=1.6,
            label=arm,
        )
    axis.axvline(1.0, color=MUTED, linewidth=0.9, linestyle=":")
    axis.set_ylim(-0.02, 1.02)
    if top > 4:
        axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axis.set_xlabel("speedup τ of the final kernel")
    axis.set_ylabel("share of runs above τ")
    return axis


def effects(axis: Axes, found: Sequence[Comparison]) -> Axes:
    """Draws the probability of improvement of every comparison with its interval.

    Filled markers are significant after correction and of interest, hollow ones are not.
    """
    for row, each in enumerate(found):
        low, high = each.improvement_interval or (each.improvement, each.improvement)
        is_win = each.verdict in (Verdict.FIRST, Verdict.SECOND)
        axis.plot([low, high], [row, row], color=INK, linewidth=1.6, solid_capstyle="butt", zorder=2)
        axis.plot(
            each.improvement, row, "o", color=INK, markerfacecolor=INK if is_win else "white", markersize=7, zorder=3
        )
        text = f"{each.improvement:.2f}   p {'<0.0001' if each.p_corrected < 1e-4 else f'{each.p_corrected:.2g}'}"
        axis.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5)
    axis.axvline(0.5, color=MUTED, linewidth=1.0, linestyle=":")
    for threshold in (0.29, 0.36, 0.44, 0.56, 0.64, 0.71):
        axis.axvline(threshold, color=MUTED, linewidth=0.4, alpha=0.5, zorder=0)
    axis.set_yticks(range(len(found)), [f"{each.first}  vs  {each.second}" for each in found])
    axis.set_ylim(len(found) - 0.4, -0.6)
    axis.set_xlim(-0.02, 1.02)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel(
        "probability that a run of the first arm beats one of the second\n(thin lines: small, medium, large)"
    )
    return axis


def funnel(axis: Axes, table: pd.DataFrame) -> Axes:
    """Draws how far the proposals of each operator come, of every arm.

    Args:
        axis: Where to draw.
        table: As `summary.operator_table` returns it.
    """
    stages = (*("parsed", "built", "ran", "correct"), "improved")
    height = 0.8 / len(stages)
    labels = [operator if arm == operator else f"{arm}: {operator}" for arm, operator in table.index]
    for index, (stage, grey) in enumerate(zip(stages, GREYS, strict=True)):
        values = table[stage].to_numpy()
        places = np.arange(len(table)) + (index - (len(stages) - 1) / 2) * height
        axis.barh(places, values, height, color=grey, edgecolor=INK, linewidth=0.4, hatch=HATCHES[index], label=stage)
        for place, value in zip(places, values, strict=True):
            axis.annotate(
                f"{100 * value:.0f} %", (value, place), (3, 0), textcoords="offset points", va="center", fontsize=7
            )
    axis.set_yticks(range(len(table)), labels)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.08)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("share of the operator's proposals")
    return axis
