"""Number 7: tuning the tuner (Willemsen 2025, https://arxiv.org/abs/2509.26300).

Source: hyper-parameters of auto-tuning strategies are tuned by replaying recorded spaces, 100 repeats a setting; a
search is scored against calculated random search, P = (baseline - best) / (baseline - optimum), on average over a
budget in which random search comes 95 % of the way from median to optimum. Limited tuning gained 94.8 %,
meta-strategies 204.7 %.

Here, CPU scale: thirteen settings of one genetic algorithm (population, survivors, share of crossover) on three
recorded spaces, 100 repeats, the same score and budgets. A setting is chosen on two spaces and judged on the third.
Three spaces of two kernels are far fewer than the source's, and there is no meta-strategy. Nothing is timed: every
run is a function of its seed, and its record is the sequence of configurations that it evaluated. The spaces are
files of the FAIR Benchmark Hub (https://github.com/AutoTuningAssociation/benchmark_hub):

    python -m experiments.papers.tuning_the_tuner spaces=FOLDER   # that holds convolution_A4000.json.gz …

Their mean times are kept with the records, so that no later step needs the files.

Here, GPU scale (scale=gpu): the same settings, live, on declared tunables of Triton kernels, 220 evaluations, 10
seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from evolve import stream
from fitness.spaces import Space, cutoff_evaluations, willemsen_score

from .. import faults
from ..analysis.figures import MARKERS
from ..environment import OF_A_SWEEP, keep_environment
from ..experiment import FILE_NAME, RECORDS, Experiment, declare, load_experiment
from ..faults import ConfigError
from ..jobs import alone
from ..plots import INK, MUTED
from ..statistics import interval
from ..sweep_command import KEYS, read_order
from .finding import Finding, show_findings, write_findings
from .question import answer
from .space_searches import CUTOFF, Record, prepare, read_records, recorded_space, replays, search_all, space_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["conclude", "replays"]
"""What `experiments.reproduce` asks of an experiment whose runs are lines."""

RESAMPLES = 2000


def look(experiment: Experiment, records: Sequence[Record], sweep_dir: Path) -> list[Finding]:
    """Scores every run, and judges settings on the space that they were not chosen on."""
    import pandas as pd

    scored = pd.DataFrame({name: [each[name] for each in records] for name in ("arm", "task", "seed")})
    for task, group in scored.groupby("task"):
        space = recorded_space(space_file(sweep_dir, str(task))).space
        scored.loc[group.index, "score"] = scores([records[place]["evaluated"] for place in group.index], space)
    arms = list(experiment.arms)
    means = scored.groupby(["arm", "task"])["score"].mean().unstack("task").loc[arms]
    left_out = _left_out(scored, means, arms[0])
    table = means.assign(mean=means.mean(axis=1)).reset_index()
    return [
        Finding("settings", "Mean score of each setting on each space; 0 is random search, 1 the optimum.", table),
        Finding(
            "left_out",
            "Chosen on the other spaces, judged on this one.",
            left_out,
            partial(_figure, left_out, means, arms[0]),
        ),
    ]


def scores(evaluated: Sequence[Sequence[int]], space: Space) -> np.ndarray:
    """Returns Willemsen's score of each run, on average over its budget.

    Args:
        evaluated: Of each run the places in the space, in order; one that ended before its budget keeps its best.
        space: The space.

    Returns:
        ``(num_runs,)`` scores.
    """
    budget = cutoff_evaluations(space.times_ms, CUTOFF)
    times_ms = np.full((len(evaluated), budget), np.inf)
    for row, places in zip(times_ms, evaluated, strict=True):
        row[: len(places)] = space.times_ms[places]
    best_ms = np.fmin.accumulate(times_ms, axis=1)  # a failure has no time
    return np.asarray(willemsen_score(best_ms, space.times_ms).mean(axis=1))


def _left_out(scored: pd.DataFrame, means: pd.DataFrame, default: str) -> pd.DataFrame:
    """Returns for each space what the default, the transferred and the best setting score there."""
    import pandas as pd

    rows = []
    for place, task in enumerate(means.columns):
        chosen = str(means.drop(columns=task).mean(axis=1).idxmax())
        runs = {arm: group["score"].to_numpy() for arm, group in scored[scored["task"] == task].groupby("arm")}
        low, high = _difference(runs[chosen], runs[default], place)
        rows.append(
            {
                "space": task,
                "default": means.loc[default, task],
                "chosen_on_the_others": chosen,
                "transferred": means.loc[chosen, task],
                "gain": means.loc[chosen, task] - means.loc[default, task],
                "gain_low": low,
                "gain_high": high,
                "best_here": means[task].idxmax(),
                "best": means[task].max(),
            }
        )
    return pd.DataFrame(rows)


def _difference(first: np.ndarray, second: np.ndarray, place: int) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval of the difference of two means."""
    rng = stream(0, place, "tuning_the_tuner")
    drawn = [each[rng.integers(len(each), size=(RESAMPLES, len(each)))].mean(axis=1) for each in (first, second)]
    return interval(drawn[0] - drawn[1])


def _figure(left_out: pd.DataFrame, means: pd.DataFrame, default: str) -> Figure:
    """Draws all settings of each space, with the default, the transferred and the best one marked."""
    made = Figure(figsize=(7.0, 1.4 + 0.62 * len(left_out)))
    axis = made.add_subplot()
    for row, each in left_out.iterrows():
        axis.plot(means[each["space"]], [row] * len(means), "|", color=MUTED, markersize=11, zorder=1)
        for name, marker, face in (("default", 0, "white"), ("transferred", 1, INK), ("best", 2, "white")):
            label = {
                "default": f"default ({default})",
                "transferred": "chosen on the other spaces",
                "best": "best here",
            }
            axis.plot(
                each[name],
                row,
                MARKERS[marker],
                color=INK,
                markerfacecolor=face,
                markersize=8,
                linestyle="none",
                label=label[name] if row == 0 else None,
                zorder=3,
            )
    axis.set_yticks(range(len(left_out)), left_out["space"])
    axis.set_ylim(len(left_out) - 0.5, -0.5)
    axis.axvline(0.0, color=MUTED, linewidth=0.9, linestyle=":")
    axis.set_xlabel("score (0: random search, 1: optimum); lines: all settings")
    axis.grid(axis="y", visible=False)
    handles, labels = axis.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=3)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Searches the recorded spaces; at another scale, runs the live sweep."""
    if any(each.startswith("scale=") for each in argv):
        return answer("tuning_the_tuner", argv)
    parser = argparse.ArgumentParser(
        prog="python -m experiments.papers.tuning_the_tuner",
        description=__doc__,
        epilog=f"{KEYS}\n  spaces=FOLDER              that holds the recorded spaces",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="*", metavar="key=value")
    settings = parser.parse_args(argv).settings
    folder = next((each.removeprefix("spaces=") for each in settings if each.startswith("spaces=")), "")
    order = read_order(["experiment=tuning_the_tuner", *(each for each in settings if not each.startswith("spaces="))])
    with alone(order.sweep_dir):
        if folder:
            prepare(order.experiment, Path(folder), order.sweep_dir)
        elif not all(space_file(order.sweep_dir, task).exists() for task in order.experiment.tasks):
            raise ConfigError("spaces: missing; give spaces=FOLDER with the recorded spaces, see --help")
        experiment = declare(order.experiment, order.sweep_dir)
        keep_environment({}, {}, order.sweep_dir / OF_A_SWEEP)
        search_all(experiment, order.sweep_dir, order.at_once)
    conclude(order.sweep_dir, order.sweep_dir)
    return 0


def conclude(sweep_dir: Path, out_dir: Path, *, quiet: bool = False) -> None:
    """Writes what the records show.

    Raises:
        OSError: The folder cannot be written.
    """
    experiment = load_experiment(sweep_dir / FILE_NAME)
    found = look(experiment, read_records(sweep_dir / RECORDS), sweep_dir)
    if not quiet:
        show_findings(found)
    write_findings(found, out_dir)


if __name__ == "__main__":
    sys.exit(main())
