"""Do the statistics keep their promises, and how fast? ``python -m experiments.benchmarks.statistics``.

Simulates A/A experiments (no arm differs) for the rate of false positives, experiments with a
planted effect for the power, and invents a large sweep for the time and memory of a comparison.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from .. import faults
from ..analysis.arms import job_path
from ..analysis.comparison import Rules, Verdict, compare
from ..analysis.tables import CACHE
from ..experiment import Experiment, declare
from ..statistics.power import shift_of
from ..wording import count_text
from .synthetic import Invented, write_run

ALPHA = 0.05
BASELINE = "baseline"


def aa_scores(
    rng: np.random.Generator, arms: Sequence[str], tasks: int, seeds: int
) -> dict[str, dict[str, dict[int, float]]]:
    """Draws scores of arms that do not differ: skewed, on tasks of different scale, many runs without any gain."""
    return {
        arm: {
            f"task{task}": dict(enumerate(np.maximum(0.0, (1 + task) * rng.gumbel(0.1, 0.3, size=seeds))))
            for task in range(tasks)
        }
        for arm in arms
    }


def false_positives(simulations: int, *, paired: bool, seed: int = 0) -> dict[str, float]:
    """Returns how often A/A experiments of four arms, two tasks and 30 seeds find something.

    Args:
        simulations: Experiments.
        paired: Whether the design compares seed by seed.
        seed: Of the simulation.

    Returns:
        ``before_correction``: rate of the first declared comparison; ``family_wise``: rate of any of
        three after correction; ``claimed``: rate of any arm being called better.
    """
    arms = (BASELINE, "a", "b", "c")
    rules = Rules(tuple((arm, BASELINE) for arm in arms[1:]), paired=paired, alpha=ALPHA)
    hits = np.zeros(3)
    for index in range(simulations):
        scores = aa_scores(np.random.default_rng([seed, int(paired), index]), arms, tasks=2, seeds=30)
        found = compare(scores, rules, seed=index)
        hits += (
            found[0].p < ALPHA,
            any(each.p_corrected < ALPHA for each in found),
            any(each.verdict in (Verdict.FIRST, Verdict.SECOND) for each in found),
        )
    return dict(zip(("before_correction", "family_wise", "claimed"), (hits / simulations).tolist(), strict=True))


def power(simulations: int, effect: float, seeds: int, seed: int = 1) -> float:
    """Returns how often a planted effect is found on one task, and called better.

    Args:
        simulations: Experiments.
        effect: A12, planted as a normal shift.
        seeds: Runs of each arm.
        seed: Of the simulation.
    """
    rules = Rules((("planted", BASELINE),), alpha=ALPHA)
    hits = 0
    for index in range(simulations):
        rng = np.random.default_rng([seed, index])
        scores = {
            "planted": {"task": dict(enumerate(rng.normal(shift_of(effect), 1.0, size=seeds)))},
            BASELINE: {"task": dict(enumerate(rng.normal(0.0, 1.0, size=seeds)))},
        }
        hits += compare(scores, rules, seed=index)[0].verdict is Verdict.FIRST
    return hits / simulations


def invent_sweep(sweep_dir: Path, arms: int, tasks: int, seeds: int) -> None:
    """Writes the records of a sweep of 200 evaluations a run."""
    names = [f"arm{index}" for index in range(arms)]
    experiment = Experiment(
        name="invented",
        arms={name: (f"operators={name}",) for name in names},
        tasks={f"task{index}": (f"task=task{index}",) for index in range(tasks)},
        seeds=range(seeds),
        budget={"evaluations": 200},
    )
    declare(experiment, sweep_dir)
    for number, name in enumerate(names):
        search = Invented(gain=0.08 + 0.005 * number, tokens=300 * (number % 2), operator=f"operator{number}")
        for task in experiment.tasks:
            for seed in experiment.seeds:
                mixed = seed + 1000 * number + 100_000 * int(task.removeprefix("task"))
                write_run(sweep_dir / job_path(name, task, seed), search, mixed, {"operators": name, "task": task})


TIMED = """
import json, resource, sys, time
from pathlib import Path
from experiments.analysis.tables import load_sweep
from experiments.compare import main
start = time.perf_counter()
if sys.argv[1] == "load":
    rows = len(load_sweep(Path(sys.argv[2])).evaluations)
else:
    rows = main([sys.argv[2]])
    assert rows == 0
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
spent = {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time()}
print(json.dumps({**spent, "peak_bytes": 1024 * peak, "rows": rows}))
"""


def timed(what: str, sweep_dir: Path) -> dict[str, float]:
    """Loads or compares a sweep in a process of its own; returns its time, peak memory and rows."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED, what, str(sweep_dir)], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def large_sweep(arms: int, tasks: int, seeds: int) -> None:
    """Prints time and memory of loading and comparing an invented sweep."""
    with tempfile.TemporaryDirectory() as folder:
        sweep_dir = Path(folder)
        start = time.perf_counter()
        invent_sweep(sweep_dir, arms, tasks, seeds)
        written_s = time.perf_counter() - start
        size = f"{count_text(arms, 'arm')} × {count_text(tasks, 'task')} × {count_text(seeds, 'seed')}"
        print(f"sweep of {size} × 200 evaluations, written in {written_s:.0f} s")
        for what, words in (
            ("load", "loading, no cache"),
            ("load", "loading, cached"),
            ("compare", "comparing, cached"),
            ("compare", "comparing, no cache"),
        ):
            if words.endswith("no cache"):
                shutil.rmtree(sweep_dir / CACHE, ignore_errors=True)
            found = timed(what, sweep_dir)
            rows = f", {count_text(int(found['rows']), 'row')}" if what == "load" else ""
            spent = f"{found['wall_s']:.1f} s of wall time, {found['cpu_s']:.1f} s of processor time"
            print(f"{words}: {spent}, peak memory {found['peak_bytes'] / 1e9:.2f} GB{rows}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Prints what was found beside what is wanted."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.statistics", description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000, help="A/A experiments (1000)")
    parser.add_argument("--size", type=int, nargs=3, default=(10, 20, 30), metavar=("ARMS", "TASKS", "SEEDS"))
    arguments = parser.parse_args(argv)
    for paired in (False, True):
        found = false_positives(arguments.simulations, paired=paired)
        print(
            f"A/A, {'paired' if paired else 'independent'} seeds, {count_text(arguments.simulations, 'experiment')}: "
            f"declared comparison {100 * found['before_correction']:.1f} % before correction (wanted 5 ± 1.5), "
            f"family-wise {100 * found['family_wise']:.1f} % after (wanted at most 5), "
            f"called better {100 * found['claimed']:.1f} %"
        )
    print(f"power: A12 of 0.71 with 30 seeds found in {100 * power(400, 0.71, 30):.1f} % of 400 (wanted at least 75)")
    large_sweep(*arguments.size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
