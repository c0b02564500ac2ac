"""Number 7: tuning the tuner (Willemsen 2025, https://arxiv.org/abs/2509.26300).

Source: hyper-parameters of auto-tuning strategies are tuned by replaying recorded spaces, 100 repeats a setting; a
search is scored against calculated random search, P = (baseline - best) / (baseline - optimum), on average over a
budget in which random search comes 95 % of the way from median to optimum. Limited tuning gained 94.8 %,
meta-strategies 204.7 %.

Here, CPU scale: thirteen settings of one genetic algorithm (population, survivors, share of crossover) on three
recorded spaces, 30 repeats, the same score and budgets. A setting is chosen on two spaces and judged on the third.
Three spaces of two kernels are far fewer than the source's, and there is no meta-strategy. Nothing is timed: every
run is a function of its seed. The spaces are files of the FAIR Benchmark Hub
(https://github.com/AutoTuningAssociation/benchmark_hub):

    python -m experiments.papers.tuning_the_tuner spaces=FOLDER   # that holds convolution_A4000.json.gz …

Here, GPU scale (scale=gpu): the same settings, live, on declared tunables of Triton kernels, 220 evaluations, 10
seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from omegaconf import DictConfig
from rich.console import Console
from rich.progress import track

from evolve import stream
from fitness import TaskError
from fitness.spaces import RecordedSpace, cutoff_evaluations, random_search_ms

from .. import faults
from ..analysis.figures import MARKERS
from ..benchmarks.space_runs import Setup, search_ms
from ..build import make
from ..composition import composed
from ..experiment import FILE_NAME, RECORDS, Experiment, declare, load_experiment
from ..faults import ConfigError
from ..plots import INK, MUTED
from ..records import write_whole
from ..statistics import interval
from ..sweep_command import KEYS, read_order
from .finding import Finding, show_findings, write_findings
from .question import answer

if TYPE_CHECKING:
    import pandas as pd

CUTOFF = 0.95
RESAMPLES = 2000
SPACES = "spaces.json"

_spaces: dict[str, RecordedSpace] = {}
"""Read once, before the processes that search them are forked."""


def prepare(experiment: Experiment, folder: Path, sweep_dir: Path) -> dict[str, RecordedSpace]:
    """Reads the spaces and stores what scores are calculated from, so that no later step needs the files.

    Raises:
        ConfigError: A file is missing, or is no complete cache file.
    """
    spaces = {}
    for task in experiment.tasks:
        path = folder / f"{task}.json.gz"
        try:
            spaces[task] = RecordedSpace(path)
        except TaskError as fault:
            raise ConfigError(f"spaces: {fault}") from fault
    facts = {task: _facts(space, folder / f"{task}.json.gz") for task, space in spaces.items()}
    sweep_dir.mkdir(parents=True, exist_ok=True)
    (sweep_dir / SPACES).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return spaces


def _facts(task: RecordedSpace, path: Path) -> dict[str, Any]:
    """Returns what a score needs to know of a space."""
    times = task.space.times_ms
    budget = cutoff_evaluations(times, CUTOFF)
    return {
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "configurations": len(task.space),
        "optimum_ms": task.space.optimum_ms,
        "worst_ms": float(np.nanmax(times)),
        "budget": budget,
        "random_search_ms": [round(float(each), 6) for each in random_search_ms(times, budget)],
    }


def run(overrides: Sequence[str], task: str, seed: int) -> dict[str, Any]:
    """Searches once; returns each improvement as ``[evaluation, best time in ms]``."""
    config, space = _config(tuple(overrides)), _spaces[task]
    operators = {str(name): make(config, f"operators.{name}") for name in config.operators}
    setup = Setup(partial(make, config, "search"), lambda: operators, "")
    curve = search_ms(space, setup, cutoff_evaluations(space.space.times_ms, CUTOFF), seed=0, repeat=seed)
    known = np.concatenate([[np.inf], curve[:-1]])
    return {"improvements": [[int(n) + 1, float(curve[n])] for n in np.flatnonzero(curve < known)]}


@cache
def _config(overrides: tuple[str, ...]) -> DictConfig:
    """Composes a setting once a process."""
    return composed(overrides)


def score(improvements: Sequence[tuple[int, float]], facts: Mapping[str, Any]) -> float:
    """Returns Willemsen's score of a run, on average over its budget."""
    baseline = np.array(facts["random_search_ms"])
    best = np.full(len(baseline), facts["worst_ms"])
    for evaluation, time_ms in improvements:
        best[evaluation - 1 :] = time_ms
    return float(np.mean((baseline - best) / (baseline - facts["optimum_ms"])))


def look(experiment: Experiment, records: Sequence[Mapping[str, Any]], sweep_dir: Path) -> list[Finding]:
    """Scores every run, and judges settings on the space that they were not chosen on."""
    import pandas as pd

    facts = json.loads((sweep_dir / SPACES).read_text(encoding="utf-8"))
    scored = pd.DataFrame(
        [
            (each["arm"], each["task"], each["seed"], score(each["improvements"], facts[each["task"]]))
            for each in records
        ],
        columns=["arm", "task", "seed", "score"],
    )
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


def search_all(experiment: Experiment, spaces: Mapping[str, RecordedSpace], path: Path, num_processes: int) -> None:
    """Runs what is not yet in the records, and adds a line for each run as it ends."""
    known = read_records(path)
    done = {(each["arm"], each["task"], each["seed"]) for each in known}
    left = [(arm, task, seed) for seed in experiment.seeds for task in spaces for arm in experiment.arms]
    left = [each for each in left if each not in done]
    # A line that a killed attempt has torn is not written on.
    write_whole(path, "".join(json.dumps(each) + "\n" for each in known).encode())
    _spaces.update(spaces)
    pool = ProcessPoolExecutor(num_processes, mp_context=multiprocessing.get_context("fork"))
    try:
        running = {
            pool.submit(run, (*experiment.overrides, *experiment.arms[arm]), task, seed): (arm, task, seed)
            for arm, task, seed in left
        }
        with path.open("a", encoding="utf-8") as file:
            for future in track(as_completed(running), "searching", len(left), console=Console(stderr=True)):
                arm, task, seed = running[future]
                file.write(json.dumps({"arm": arm, "task": task, "seed": seed, **future.result()}) + "\n")
                file.flush()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def read_records(path: Path) -> list[dict[str, Any]]:
    """Returns the records of all runs, in the order of seeds, tasks and arms; none where there is no file."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines(keepends=True)
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    single = {(each["seed"], each["task"], each["arm"]): each for each in records}
    return [single[key] for key in sorted(single)]


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
    if not folder:
        raise ConfigError("spaces: missing; give spaces=FOLDER with the recorded spaces, see --help")
    order = read_order(["experiment=tuning_the_tuner", *(each for each in settings if not each.startswith("spaces="))])
    spaces = prepare(order.experiment, Path(folder), order.sweep_dir)
    experiment = declare(order.experiment, order.sweep_dir)
    search_all(experiment, spaces, order.sweep_dir / RECORDS, order.at_once)
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
