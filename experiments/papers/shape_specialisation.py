"""Number 10: whether a kernel is good for other shapes than its own (KernelEvolve, Liao 2025).

Source (https://arxiv.org/abs/2512.23236): conv1d 2048 x 96 x 96 x 200 in fp16 on an H100 is 2.30 times as fast as
PyTorch's; the same kernel on 64 x 768 x 768 x 1024 is at 0.63, hence dispatch by shape with the library as fallback.
300 steps.

Here: evolved on one shape, timed on seven more, against the naive kernel instead of a library. With dispatch, a shape
on which the evolved kernel is slower goes to the naive one, so that no shape loses; what is shown as dispatch assumes
that choosing costs nothing and that the shapes are known; it chooses by the very timings that are shown, which flatters
it where both kernels are about as fast.
A kernel that is wrong on a shape counts as 1 there. CPU scale: a matrix product, 40 evaluations, 5 seeds.

Here, GPU scale (scale=gpu): conv1d in Triton with a model, 300 evaluations, 5 seeds, against our naive Triton kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from omegaconf import DictConfig, OmegaConf

from evolve import json_text

from ..analysis.figures import looks
from ..analysis.result import Result
from ..build import build_problem
from ..experiment import Experiment
from ..plots import MUTED
from ..records import json_lines, write_whole
from .finding import Finding
from .question import answer
from .winners import finished_runs, judge, judged_winners

if TYPE_CHECKING:
    import pandas as pd

NAME = "shape_specialisation"
TIMED = "shapes.jsonl"
FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Of every axis of the shape that a kernel was evolved for; 1 is that shape."""


def follow_up(experiment: Experiment, sweep_dir: Path) -> None:
    """Times every winner on all shapes, and stores the speedups.

    Raises:
        FitnessError: The machine is broken.
        OSError: The speedups cannot be written.
    """
    found: list[dict[str, Any]] = []
    for _, config, runs in finished_runs(sweep_dir):
        problem = build_problem(config)
        entry_point = problem.task.seed_kernel(problem.language.name).entry_point
        for factor in FACTORS:
            sizes = shape_of(problem.task.time_workloads[0].axes, factor)
            there = OmegaConf.merge(config, {"task": {"time_sizes": [sizes]}})
            assert isinstance(there, DictConfig)
            judged = judged_winners(sweep_dir, runs, judge(there), entry_point)
            found += [{**each, "factor": factor, "shape": sizes} for each in judged]
    write_whole(sweep_dir / TIMED, "".join(json_text(each) + "\n" for each in found).encode())


def shape_of(sizes: Mapping[str, int], factor: float) -> dict[str, int]:
    """Returns a shape with every axis longer or shorter by a factor, and at least 1."""
    return {axis: max(1, round(size * factor)) for axis, size in sizes.items()}


def findings(result: Result) -> list[Finding]:
    """Compares the speedup at home with that elsewhere, with and without dispatch."""
    import pandas as pd

    timed = pd.DataFrame(list(json_lines(result.sweep.path / TIMED)))
    timed["speedup"] = timed["speedup"].where(timed["status"] == "ok").fillna(1.0)
    logs = timed.assign(kernel=np.log(timed["speedup"]), dispatch=np.log(timed["speedup"].clip(lower=1.0)))
    table = np.exp(logs.groupby(["arm", "task", "factor"])[["kernel", "dispatch"]].mean()).reset_index()
    slower = timed.assign(slower=timed["speedup"] < 1.0).groupby(["arm", "task", "factor"])["slower"].sum()
    table["slower_than_the_fallback"] = slower.to_numpy()
    caption = "Geometric mean speedup over the naive kernel by size, 1 being the shape that the kernel was evolved for."
    return [Finding("shapes", caption, table, partial(_figure, table))]


def _figure(table: pd.DataFrame) -> Figure:
    """Draws speedup against the size of the shape."""
    made = Figure(figsize=(5.8, 4.0))
    axis = made.add_subplot()
    styles = looks(sorted(table["arm"].unique()))
    for arm, group in table.groupby("arm"):
        means = group.groupby("factor")["kernel"].mean()
        look = styles[arm]
        axis.plot(means.index, means, color=look.colour, linestyle=look.line, marker=look.marker, label=arm)
    axis.axvline(1.0, color=MUTED, linewidth=0.9, linestyle=":")
    axis.axhline(1.0, color=MUTED, linewidth=0.9, linestyle=":")
    axis.set_xscale("log", base=2)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axis.set_xlabel("length of every axis, compared with the shape of the search")
    axis.set_ylabel("speedup over the naive kernel\n(geometric mean)")
    axis.legend()
    return made


if __name__ == "__main__":
    sys.exit(answer(NAME))
