"""Everything a comparison comes to: analysed once, then printed, drawn and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .comparison import Comparison, Rules, Verdict, any_difference, compare, rules_of
from .findings import paragraph, warnings
from .scores import WORDS, budgets_of, by_task, score_runs
from .skeletons import unique_skeletons
from .summary import arm_table, operator_table, task_table
from .tables import Sweep, load_sweep

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_METRIC = "area_evaluations"
DEFAULT_TARGET = 2.0


@dataclass(frozen=True, slots=True)
class Result:
    """A compared sweep.

    Attributes:
        sweep: Runs and slots, of the experiment alone where one was declared.
        metric: The primary one.
        rules: How comparisons were decided.
        scored: The runs with all metrics.
        arms: `summary.arm_table`.
        tasks: `summary.task_table`.
        operators: `summary.operator_table`.
        comparisons: In the order of declaration.
        omnibus: Statistic, p and blocks of Friedman's test over all arms; None with fewer than three.
        text: The result in one paragraph.
        warnings: What speaks against relying on it.
    """

    sweep: Sweep
    metric: str
    rules: Rules
    scored: pd.DataFrame
    arms: pd.DataFrame
    tasks: pd.DataFrame
    operators: pd.DataFrame
    comparisons: Sequence[Comparison]
    omnibus: tuple[float, float, int] | None
    text: str
    warnings: Sequence[str]

    @property
    def has_win(self) -> bool:
        """Whether any arm was shown to be better by rules that were declared before the runs."""
        return self.rules.is_declared and any(
            each.verdict in (Verdict.FIRST, Verdict.SECOND) for each in self.comparisons
        )

    @property
    def title(self) -> str:
        """The experiment's question or name, or the folder's name."""
        experiment = self.sweep.experiment
        return (experiment.question or experiment.name) if experiment is not None else self.sweep.path.resolve().name


def analyse(sweep_dir: Path, *, with_skeletons: bool = False) -> Result:
    """Reads a sweep and compares its arms.

    Args:
        sweep_dir: Of the sweep.
        with_skeletons: Whether to read every source and count those that differ in more than names
            and numbers.

    Raises:
        RunError: There is no run in it.
        ConfigError: Its declaration cannot be read.
    """
    loaded = load_sweep(sweep_dir)
    experiment = loaded.experiment
    metric = experiment.metric if experiment is not None else DEFAULT_METRIC
    target = experiment.target_speedup if experiment is not None else DEFAULT_TARGET
    sweep = loaded.declared_part()
    scored = score_runs(sweep, target)
    if with_skeletons or metric == "skeletons":
        scored = scored.assign(skeletons=unique_skeletons(sweep, correct_only=metric == "skeletons"))
    scores = by_task(scored, metric)
    rules = rules_of(experiment, sorted(scores), WORDS[metric].is_log)
    comparisons = compare(scores, rules)
    return Result(
        sweep=sweep,
        metric=metric,
        rules=rules,
        scored=scored,
        arms=arm_table(scored, sweep, metric),
        tasks=task_table(scored),
        operators=operator_table(sweep),
        comparisons=comparisons,
        omnibus=any_difference(scores, sorted(scores)),
        text=paragraph(comparisons, rules, metric),
        warnings=warnings(loaded, scored, comparisons, rules, budgets_of(sweep)["evaluations"]),
    )
