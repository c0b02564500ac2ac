"""Number 6: neutral mutation chains (Gurkan 2026, https://arxiv.org/abs/2606.05408).

Source: 300 accepted mutations in a row without selection, 30 replicates, 4 prompts, 7 models; tree mutation of
genetic programming with depth 4 as baseline. 87 % of the models' chains visit fewer than 20 skeletons, about 10 in
the median; tree mutation about 143 skeletons and 270 programs.

Here, CPU scale: 60 proposals a chain instead of 300 accepted ones, 30 replicates, without a model: a replay of stored
answers cannot walk. A step is taken onto every kernel that passes the whole check of the evaluator, where the source
asks that a program runs. Edits of the syntax tree (most of which keep the meaning by construction), GEVO's blind
edits, and declared parameters, which by construction have one skeleton. Kernels above 1,500 bytes, or that run for
half a second, are rejected, in the place of a limit of depth.

Here, GPU scale (scale=gpu): a model with four prompts, 300 proposals, 10 replicates; run it once for every model. No
GPU times anything: kernels are C++.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ..analysis.figures import Look, looks
from ..analysis.result import Result
from ..analysis.skeletons import skeletons_by_kernel
from ..statistics import interval
from .finding import Finding
from .question import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..analysis.tables import Sweep

NAME = "neutral_chains"
RESAMPLES = 2000


def findings(result: Result) -> list[Finding]:
    """Counts what each chain visits: programs, skeletons, steps onto where it has been before."""
    walks = _walks(result.sweep)
    rows = [{"arm": arm, **_row(group)} for arm, group in walks.groupby("arm")]
    draw = partial(_figure, walks, looks(sorted(walks["arm"].unique())))
    caption = "What a chain visits, mean over chains with 95 % bootstrap interval of the skeletons."
    return [Finding("chains", caption, _frame(rows), draw)]


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


def _walks(sweep: Sweep) -> pd.DataFrame:
    """Returns a row a chain: ``accepted`` steps, and after each proposal the skeletons visited so far."""
    rows = []
    for run, row in sweep.runs.iterrows():
        if row["state"] != "finished":
            continue
        slots = sweep.evaluations[(sweep.evaluations["run"] == run).to_numpy()]
        slots = slots[(slots["operator"] != "seed").to_numpy()]
        known = skeletons_by_kernel(sweep.path / row["path"])
        accepted = slots["status"] == "ok"
        kernels = [each if fine else None for each, fine in zip(slots["kernel"].tolist(), accepted, strict=True)]
        rows.append({"arm": row["arm"], "task": row["task"], "seed": row["seed"], **walk(kernels, known)})
    return _frame(rows)


def walk(kernels: list[int | None], known: Mapping[int, str]) -> dict[str, Any]:
    """Follows one chain.

    Args:
        kernels: In the order of proposals; None for what was not accepted.
        known: Skeleton of each kernel.

    Returns:
        Counts of accepted steps, programs and skeletons, of steps onto a program that was visited before, the
        shortest cycle (steps between two visits of a program; 0 without one), and ``curve``: skeletons after each
        proposal.
    """
    programs: dict[int, int] = {}
    skeletons: set[str] = set()
    curve, returns, shortest, accepted = [], 0, 0, 0
    for kernel in kernels:
        if kernel is not None:
            accepted += 1
            if kernel in programs:
                returns += 1
                length = accepted - programs[kernel]
                shortest = min(shortest, length) if shortest else length
            programs[kernel] = accepted
            skeletons.add(known[kernel])
        curve.append(len(skeletons))
    counts = {"accepted": accepted, "programs": len(programs), "skeletons": len(skeletons)}
    return {**counts, "returns": returns, "shortest_cycle": shortest, "curve": curve}


def _row(chains: pd.DataFrame) -> dict[str, float]:
    """Summarises the chains of one arm."""
    skeletons = chains["skeletons"].to_numpy(float)
    drawn = skeletons[np.random.default_rng(0).integers(len(skeletons), size=(RESAMPLES, len(skeletons)))].mean(axis=1)
    low, high = interval(drawn)
    cycles = chains.loc[chains["shortest_cycle"] > 0, "shortest_cycle"]
    return {
        "chains": len(chains),
        "accepted": float(chains["accepted"].mean()),
        "programs": float(chains["programs"].mean()),
        "skeletons": float(skeletons.mean()),
        "skeletons_low": low,
        "skeletons_high": high,
        "skeletons_median": float(np.median(skeletons)),
        "returns": float(chains["returns"].mean()),
        "chains_with_a_cycle": len(cycles),
        "shortest_cycle_median": float(cycles.median()) if len(cycles) else float("nan"),
    }


def _figure(walks: pd.DataFrame, styles: Mapping[str, Look]) -> Figure:
    """Draws skeletons visited against proposals: each chain thin, the mean of an arm thick."""
    made = Figure(figsize=(5.8, 4.2))
    axis = made.add_subplot()
    for arm, group in walks.groupby("arm"):
        look, curves = styles[arm], np.array(group["curve"].tolist())
        steps = np.arange(1, curves.shape[1] + 1)
        axis.plot(steps, curves.T, color=look.colour, linewidth=0.4, alpha=0.3)
        axis.plot(
            steps,
            curves.mean(axis=0),
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markevery=(4, 10),
            markersize=5,
            linewidth=2.0,
            label=arm,
        )
    axis.set_xlabel("proposals")
    axis.set_ylabel("distinct skeletons visited")
    axis.legend(loc="upper left")
    return made


if __name__ == "__main__":
    sys.exit(answer(NAME))
