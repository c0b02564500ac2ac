"""fast_p over a set of problems, from their stored runs: ``python -m experiments.fast_p RUN_DIR…``.

fast_p is the share of problems whose kernel is correct and more than p times as fast as the baseline
(Ouyang 2025, https://arxiv.org/abs/2502.10517). A run without a re-verified kernel counts as a failure. A copy of the
baseline is measured faster than it every other time, so a kernel counts as faster when its whole 95 % interval lies
above p; the share by measured speedups alone, as others state it, stands beside it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fitness import BASELINES

from . import faults
from .faults import RunError
from .names import check_import_names
from .records import begun, load_run, write_json
from .runs import Run
from .statistics import fast_p_curve, geometric_mean, geometric_mean_correct
from .wording import count_text

SCHEMA = "kernelwright.fast_p/2"
THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0)
SEED = "seed"
NAMES = (SEED, *BASELINES)
FACTS = {"eager": "eager_us", "compile": "compile_us"}
"""What the calibration of a run on a CPU says of torch."""

EPILOG = """\
baselines:
  seed           the kernel that a run started from, in interleaved pairs
  eager, compile, max_autotune, library
                 on a GPU what the evaluator timed the verified kernel against, in interleaved pairs; on a CPU torch by
                 itself when the run began, on as many threads as the kernels, so that its ratio has no interval and
                 counts as measured
A baseline is shown when every run with a kernel knows it; without any kernel, the seed alone.

example:
  kernelwright -m task=kernelbench level=1 problem=1,36 root=KernelBench language=triton target=nvidia …
  python -m experiments.fast_p runs/SWEEP/*
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One problem.

    Attributes:
        problem: Task, level and number.
        speedups: Over each baseline that is known; NaN where there is no correct kernel, or the baseline failed.
        certain: The lower ends of their 95 % intervals; the speedup itself where there is no interval.
    """

    problem: str
    speedups: Mapping[str, float]
    certain: Mapping[str, float]


def row_of(run_dir: Path) -> Row:
    """Reads one run; of one that failed before its first record only the name is known.

    Raises:
        RunError: There is no run.
    """
    run = load_run(run_dir)
    verified = run.verification if run.verification is not None and run.verification.ok else None
    if verified is None:
        return Row(problem_of(run), {SEED: math.nan}, {SEED: math.nan})
    timed = {SEED: (verified.speedup, verified.interval)}
    timed |= {each.name: (each.speedup, each.interval) for each in verified.baselines}
    facts = run.calibration.facts if run.calibration is not None else {}
    for name, key in FACTS.items():
        if key in facts and verified.latency_us:
            timed.setdefault(name, (float(facts[key]) / verified.latency_us, None))
    speedups = {name: speedup or math.nan for name, (speedup, _) in timed.items()}
    certain = {name: interval[0] if interval else speedups[name] for name, (_, interval) in timed.items()}
    return Row(problem_of(run), speedups, certain)


def problem_of(run: Run) -> str:
    """Returns what a run was about."""
    task = run.config.get("task", {})
    return f"level {task['level']} problem {task['problem']}" if run.task == "kernelbench" else run.task


def baselines_of(rows: Sequence[Row]) -> list[str]:
    """Returns the baselines that every row with a kernel knows; a mixture would be a share of different sets.

    Where no row has a kernel, nothing was compared with anything but the seed.
    """
    correct = [row for row in rows if not math.isnan(row.speedups[SEED])]
    return [name for name in NAMES if all(name in row.speedups for row in correct or rows)]


def measured(rows: Sequence[Row], baseline: str) -> list[float]:
    """Returns the measured speedup of each row, NaN for failures."""
    return [row.speedups.get(baseline, math.nan) for row in rows]


def certain(rows: Sequence[Row], baseline: str) -> list[float]:
    """Returns what each row's speedup is at least, NaN for failures."""
    return [row.certain.get(baseline, math.nan) for row in rows]


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """Returns what is printed, as one object without rounding; failures are null."""
    found: dict[str, object] = {"schema": SCHEMA, "num_problems": len(rows), "thresholds": THRESHOLDS}
    found["problems"] = [
        {"problem": row.problem, **_plain(row.speedups), "certain": _plain(row.certain)} for row in rows
    ]
    for name in baselines_of(rows):
        speedups = measured(rows, name)
        mean, count = geometric_mean_correct(speedups)
        found[name] = {
            "fast_p": fast_p_curve(certain(rows, name), THRESHOLDS).tolist(),
            "fast_p_measured": fast_p_curve(speedups, THRESHOLDS).tolist(),
            "geometric_mean_failures_as_1": geometric_mean(speedups),
            "geometric_mean_correct": mean if count else None,
            "num_correct": count,
        }
    return found


def _plain(speedups: Mapping[str, float]) -> dict[str, float | None]:
    """Returns speedups as JSON has them."""
    return {name: None if math.isnan(value) else value for name, value in speedups.items()}


def tables(rows: Sequence[Row]) -> list[Table]:
    """Returns the speedups by problem, and fast_p by baseline."""
    names = baselines_of(rows)
    problems = Table("problem", *(f"over {name}" for name in names), title="re-verified speedups", title_justify="left")
    for row in rows:
        problems.add_row(row.problem, *(_cell(row, name) for name in names))
    title = f"fast_p over {count_text(len(rows), 'problem')}, by whole intervals (by measured speedups)"
    shares = Table("", *names, title=title, title_justify="left")
    sure, all_measured = ([fast_p_curve(of(rows, name), THRESHOLDS) for name in names] for of in (certain, measured))
    for index, threshold in enumerate(THRESHOLDS):
        pairs = [(100 * one[index], 100 * other[index]) for one, other in zip(sure, all_measured, strict=True)]
        shares.add_row(f"fast_{threshold:g}", *(f"{one:.0f} % ({other:.0f} %)" for one, other in pairs))
    means = [geometric_mean(measured(rows, name)) for name in names]
    shares.add_row("geometric mean, failures as 1", *(f"{mean:.2f}×" for mean in means))
    return [problems, shares]


def _cell(row: Row, name: str) -> str:
    """Returns a speedup in words."""
    speedup = row.speedups.get(name, math.nan)
    if math.isnan(speedup):
        return "failed" if math.isnan(row.speedups[SEED]) else "the baseline failed"
    low = row.certain[name]
    return f"{speedup:.2f}×" if low == speedup else f"{speedup:.2f}× (at least {low:.2f}×)"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.fast_p",
        description="States fast_p over a set of problems: one stored run a problem.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_dir", nargs="+", type=Path, metavar="RUN_DIR", help="the folder of a run")
    parser.add_argument("--json", type=Path, metavar="OUT", help="store the figures, unrounded")
    arguments = parser.parse_args(argv)
    rows = [row_of(run_dir) for run_dir in begun(arguments.run_dir)]
    twice = sorted({row.problem for row in rows if sum(row.problem == each.problem for each in rows) > 1})
    if twice:
        raise RunError(f"{twice[0]}: several runs; fast_p counts problems, give one run of each")
    if arguments.json is not None:
        write_json(arguments.json, summary(rows))
    for table in tables(rows):
        Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
