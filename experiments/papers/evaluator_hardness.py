"""Number 11: how hard the evaluator must be (robust-kbench, Lange 2025, https://arxiv.org/abs/2509.14279).

Source: of the kernels that Sakana's AI CUDA Engineer released, the mean speedup fell from 3.13 to 1.49 when tasks
were taken out on which wrong kernels pass: outputs below the tolerance, inputs without influence, a single input.
KernelBench level 1, 23 accepts a kernel that writes zeros, because a softmax over 393,216 elements stays below 1e-4.

Here, CPU scale: the same search under two evaluators. The weak one checks one input of the timed size and accepts
errors of 0.01 + 0.01 |expected|; the hard one is the evaluator of this toolkit. Every winner of either is then judged
once more by the hard one, and so are four planted cheats. One task, softmax over rows of 16,384, whose outputs are
below 0.01: the share of such tasks is ours to choose, so how far the mean falls says nothing about other
benchmarks; that it falls does. Even the weak evaluator isolates candidates and poisons outputs. The
comparison is of what each evaluator reports of its own winners: the weak arm "better" there is a larger claim, no
faster kernel. 30 seeds, 20 evaluations.

Here, GPU scale (scale=gpu): three tasks, Triton kernels of a model, 128 evaluations, 10 seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from hydra.utils import get_object
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from evolve import json_text
from fitness import Cost, Kernel, Task, Workload

from ..analysis.result import Result
from ..build import build_problem
from ..experiment import Experiment
from ..plots import INK, MUTED
from ..records import json_lines, write_whole
from ..statistics import geometric_mean
from .finding import Finding
from .question import answer
from .winners import Judge, finished_runs, judge, judged_winners

if TYPE_CHECKING:
    import pandas as pd

NAME = "evaluator_hardness"
REJUDGED, CHEATED = "rejudged.jsonl", "cheats.jsonl"
LOOSE = 1e-2

_BEGIN = 'extern "C" void kernel(const float* x, float* y, long M, long N) {\n'
CHEATS: Mapping[str, str] = {
    "zeros": f"{_BEGIN}    for (long i = 0; i < M * N; i++) y[i] = 0.0f;\n}}\n",
    "uniform": f"{_BEGIN}    for (long i = 0; i < M * N; i++) y[i] = 1.0f / N;\n}}\n",
    "first row for all": "#include <math.h>\n"
    f"{_BEGIN}    float sum = 0.0f;\n    for (long j = 0; j < N; j++) sum += expf(x[j]);\n"
    "    for (long i = 0; i < M * N; i++) y[i] = expf(x[i % N]) / sum;\n}\n",
    "zeroes its input": f"{_BEGIN}    float* mine = (float*)x;\n"
    "    for (long i = 0; i < M * N; i++) { mine[i] = 0.0f; y[i] = 1.0f / N; }\n}\n",
}
"""Kernels for softmax that do not compute it."""


@dataclass(frozen=True)
class Weak:
    """A task as careless benchmarks have it: one input, a generous tolerance, no hidden sizes, no roofline.

    Args:
        task: What is asked; everything else is as it says.
    """

    task: Task

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "task":
            raise AttributeError(name)
        return getattr(self.task, name)

    @property
    def check_workloads(self) -> Sequence[Workload]:
        """The first of the timed ones."""
        return self.task.time_workloads[:1]

    def hidden_workloads(self, rng: np.random.Generator) -> Sequence[Workload]:
        """The same: nothing is hidden."""
        return self.check_workloads

    def tolerance(
        self, inputs: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[np.float64]]:
        """The same fraction of one and of each element."""
        return {name: LOOSE + LOOSE * np.abs(array.astype(np.float64)) for name, array in expected.items()}

    def cost(self, workload: Workload) -> Cost:
        """Nothing, so that no time is too short to be true."""
        return Cost(0.0, 0.0)


def judged(of: str, checks: Literal["weak", "hard"], **sizes: Any) -> Task:
    """Makes a task with weak or with its own checks.

    Args:
        of: Import path of the task's class.
        checks: Which.
        **sizes: Of the task.
    """
    task: Task = get_object(of)(**sizes)
    return Weak(task) if checks == "weak" else task


def follow_up(experiment: Experiment, sweep_dir: Path) -> None:
    """Lets the hard evaluator judge every winner, and both evaluators the planted cheats; stores the verdicts.

    Raises:
        FitnessError: The machine is broken.
        OSError: The verdicts cannot be written.
    """
    verdicts: list[dict[str, Any]] = []
    cheats: list[dict[str, Any]] = []
    for task, config, runs in finished_runs(sweep_dir):
        hard, weak = (judge(_with_checks(config, checks)) for checks in ("hard", "weak"))
        problem = build_problem(config)
        entry_point = problem.task.seed_kernel(problem.language.name).entry_point
        verdicts += judged_winners(sweep_dir, runs, hard, entry_point)
        if task == "softmax" and entry_point == "kernel":
            cheats += [*_cheated("weak", weak), *_cheated("hard", hard)]
    for name, records in ((REJUDGED, verdicts), (CHEATED, cheats)):
        lines = "".join(json_text(each) + "\n" for each in records)
        write_whole(sweep_dir / name, lines.encode())


def _with_checks(config: DictConfig, checks: str) -> DictConfig:
    """Returns a stored run's configuration with weak or with hard checks."""
    changed = OmegaConf.merge(config, {"task": {"checks": checks}})
    assert isinstance(changed, DictConfig)
    return changed


def _cheated(name: str, judged: Judge) -> Iterator[dict[str, Any]]:
    """Judges the planted cheats."""
    for cheat, source in CHEATS.items():
        evaluation = judged(Kernel(source, "cpp"))
        status, log = str(evaluation.status), evaluation.log[:200]
        yield {"cheat": cheat, "evaluator": name, "status": status, "speedup": evaluation.speedup, "log": log}


def findings(result: Result) -> list[Finding]:
    """Compares what each evaluator reported of its winners with what the hard one says of them."""
    import pandas as pd

    records = pd.DataFrame(json_lines(result.sweep.path / REJUDGED))
    rows = [{"task": task, "arm": arm, **_shrinkage(group)} for (task, arm), group in records.groupby(["task", "arm"])]
    found = [
        Finding(
            "winners",
            "Winners of each evaluator, judged once more by the hard one; what fails there counts as 1.",
            pd.DataFrame(rows),
            partial(_figure, records),
        )
    ]
    cheats = pd.DataFrame(json_lines(result.sweep.path / CHEATED))
    if len(cheats):
        table = cheats.pivot(index="cheat", columns="evaluator", values="status").reset_index()
        found.append(Finding("cheats", "What each evaluator says of kernels that do not compute a softmax.", table))
    return found


def _shrinkage(winners: pd.DataFrame) -> dict[str, float]:
    """Returns the mean speedup of winners before and after they are judged by the hard evaluator."""
    valid = (winners["status"] == "ok").to_numpy()
    after = winners["speedup"].where(valid, 1.0).fillna(1.0).to_numpy(float)
    return {
        "winners": len(winners),
        "invalidated": int((~valid).sum()),
        "mean_reported": float(winners["reported"].mean()),
        "mean_after": float(after.mean()),
        "geometric_mean_reported": geometric_mean(winners["reported"].to_numpy(float)),
        "geometric_mean_after": geometric_mean(after),
    }


def _figure(records: pd.DataFrame) -> Figure:
    """Draws reported against true speedup of every winner; crosses were invalidated."""
    made = Figure(figsize=(6.8, 5.6))
    axis = made.add_subplot()
    for (arm, group), marker, face in zip(records.groupby("arm"), ("o", "s"), (INK, "white"), strict=False):
        valid = group["status"] == "ok"
        label = f"{arm} evaluator, confirmed ({valid.sum()})"
        axis.plot(
            group["reported"][valid],
            group["speedup"][valid],
            marker,
            color=INK,
            markerfacecolor=face,
            label=label,
            linestyle="none",
        )
        if not valid.all():
            label = f"{arm} evaluator, wrong ({(~valid).sum()})"
            axis.plot(group["reported"][~valid], np.ones((~valid).sum()), "x", color=INK, label=label, linestyle="none")
    largest = float(np.nanmax(records[["reported", "speedup"]].to_numpy(float)))
    axis.plot([0.9, 1.05 * largest], [0.9, 1.05 * largest], color=MUTED, linewidth=0.9, linestyle=":")
    axis.set_aspect("equal")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axis.set_xlabel("speedup that the search's own evaluator reported")
    axis.set_ylabel("speedup by the hard evaluator\n(wrong kernels at 1×)")
    made.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return made


if __name__ == "__main__":
    sys.exit(answer(NAME))
