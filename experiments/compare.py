"""Arms × tasks × seeds, compared: ``python -m experiments.compare SWEEP_DIR``.

Prints the tables and the result in words, and writes ``comparison.html``, the figures as PNG and
PDF, and every number as CSV and Parquet into the sweep directory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from . import faults
from .analysis import figures
from .analysis.display import Shown, shown_tables
from .analysis.figures import BUDGET_WORDS, mean_curves
from .analysis.result import Result, analyse
from .analysis.scores import WORDS
from .names import check_import_names
from .plots import STYLE, data_uri
from .records import write_whole
from .wording import count_text

if TYPE_CHECKING:
    import pandas as pd

PIPE_WIDTH = 170
"""Columns of the output where no terminal tells its own."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the comparison.

    Attributes:
        name: Of its files, behind ``comparison_``.
        caption: One sentence.
        made: The figure itself.
    """

    name: str
    caption: str
    made: Figure


def pictures(result: Result) -> list[Picture]:
    """Draws the figures that the data allow."""
    with matplotlib.rc_context(dict(STYLE)):
        made = [_curves(result), _profile(result), _effects(result), _funnel(result)]
    return [picture for picture in made if picture is not None]


def _curves(result: Result) -> Picture | None:
    """Draws best-so-far curves under each budget that every arm has spent something of."""
    by_cost = {cost: mean_curves(result.sweep, cost) for cost in BUDGET_WORDS}
    by_cost = {cost: curves for cost, curves in by_cost.items() if curves}
    if not by_cost:
        return None
    made = Figure(figsize=(1.2 + 4.3 * len(by_cost), 4.2))
    axes = made.subplots(1, len(by_cost), sharey=True, squeeze=False)[0]
    for axis, (cost, curves) in zip(axes, by_cost.items(), strict=True):
        figures.best_so_far(axis, curves, cost, _styles(result)).label_outer()
    _legend(made)
    return Picture(
        "best_so_far",
        "Best certified speedup so far, geometric mean over tasks and seeds, with 95 % bootstrap intervals over seeds.",
        made,
    )


def _styles(result: Result) -> dict[str, figures.Look]:
    """Returns the look of every arm, the same in all figures."""
    return figures.looks(sorted(result.scored["arm"].unique()))


def _profile(result: Result) -> Picture | None:
    """Draws the performance profile."""
    if not result.scored["state"].isin(["finished", "failed"]).any():
        return None
    made = Figure(figsize=(6.4, 4.2))
    figures.profile(made.add_subplot(), result.scored, _styles(result))
    _legend(made)
    return Picture(
        "profile",
        "Share of runs whose final kernel is measured to be faster than τ; failed runs count, tasks weigh the same.",
        made,
    )


def _effects(result: Result) -> Picture | None:
    """Draws the effects of all comparisons."""
    if not result.comparisons:
        return None
    made = Figure(figsize=(8.2, 1.3 + 0.36 * len(result.comparisons)))
    figures.effects(made.add_subplot(), result.comparisons)
    return Picture(
        "effects",
        "Probability of improvement with 95 % bootstrap interval and corrected p; filled: significant and of interest.",
        made,
    )


def _funnel(result: Result) -> Picture | None:
    """Draws the validity funnel."""
    if not len(result.operators):
        return None
    made = Figure(figsize=(7.4, 1.2 + 0.78 * len(result.operators)))
    figures.funnel(made.add_subplot(), result.operators)
    _legend(made)
    return Picture(
        "funnel",
        "How far the proposals of each operator come; improved means correct and faster than the best parent.",
        made,
    )


def _legend(made: Figure) -> None:
    """Puts one legend below the axes of a figure."""
    handles, labels = made.axes[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), handlelength=3.2)


def save_pictures(drawn: Sequence[Picture], out_dir: Path, prefix: str = "comparison_") -> None:
    """Writes every figure as PNG and PDF, the same bytes for the same data."""
    with matplotlib.rc_context(dict(STYLE)):
        for picture in drawn:
            path = out_dir / f"{prefix}{picture.name}"
            picture.made.savefig(path.with_suffix(".png"), dpi=160, metadata={"Software": None})
            picture.made.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None, "Producer": None})


def save_tables(result: Result, out_dir: Path) -> None:
    """Writes every number: comparisons, arms, tasks, operators and runs as CSV, runs also as Parquet."""
    import pandas as pd

    runs = result.scored.drop(columns=["fingerprint", "configuration", "choices"])
    tables: Mapping[str, pd.DataFrame] = {
        "comparison": pd.DataFrame([_flat(asdict(each)) for each in result.comparisons]),
        "comparison_arms": result.arms.reset_index(),
        "comparison_tasks": result.tasks.reset_index(),
        "comparison_operators": result.operators.reset_index(),
        "comparison_runs": runs,
    }
    for name, table in tables.items():
        table.to_csv(out_dir / f"{name}.csv", index=False, lineterminator="\n", float_format="%.9g")
    runs.to_parquet(out_dir / "comparison.parquet", index=False)


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    """Returns a record with an interval as two columns."""
    flat: dict[str, object] = {}
    for name, value in record.items():
        if name.endswith("_interval"):
            low, high = value if isinstance(value, tuple) else (None, None)
            flat |= {f"{name.removesuffix('_interval')}_low": low, f"{name.removesuffix('_interval')}_high": high}
        else:
            flat[name] = str(value) if name == "verdict" else value
    return flat


def render(result: Result, drawn: Sequence[Picture]) -> str:
    """Returns the page: one file, no network, everything from records escaped."""
    templates = files("experiments") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["counted"] = count_text
    page = environment.from_string((templates / "comparison.html.j2").read_text(encoding="utf-8"))
    return page.render(
        title=result.title,
        subtitle=subtitle(result),
        css=Markup((templates / "report.css").read_text(encoding="utf-8")),
        has_win=result.has_win,
        paragraph=result.text,
        warnings=result.warnings,
        tables=shown_tables(result),
        figures=[{"caption": picture.caption, "uri": data_uri(picture.made)} for picture in drawn],
        rules=rules(result),
        num_runs=len(result.scored),
        num_slots=len(result.sweep.evaluations),
    )


def subtitle(result: Result) -> str:
    """Returns the size of the experiment in a few words."""
    scored = result.scored
    counts = (scored["arm"].nunique(), scored["task"].nunique(), scored["seed"].nunique())
    return " × ".join(
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in zip(counts, ("arm", "task", "seed"), strict=True)
    )


def rules(result: Result) -> list[tuple[str, str]]:
    """Returns how the comparison was decided, name by name."""
    decided = result.rules
    one = "Wilcoxon's signed-rank test on paired seeds" if decided.paired else "Mann and Whitney's rank-sum test"
    many = "" if decided.paired or result.scored["task"].nunique() == 1 else ", stratified by task (van Elteren)"
    rows = [
        ("primary metric", f"{result.metric}: {WORDS[result.metric].words}"),
        ("declared before the runs", "yes" if decided.is_declared else "no: exploratory, all pairs"),
        ("test", f"{one}{many}, two-sided"),
        ("correction", f"Holm's, for {count_text(len(result.comparisons), 'comparison')}; alpha {decided.alpha:g}"),
        ("smallest effect of interest", f"{100 * decided.minimum_effect:g} % of speedup"),
        ("intervals", "95 %, bootstrap over seeds within tasks, 2,000 replicates, fixed seed"),
    ]
    if decided.effects:
        within = (
            "means over the arms of a level, seed by seed"
            if decided.paired
            else "runs of arms that differ in nothing else"
        )
        rows.append(
            ("main effects of factors", f"{within} are compared, within each task; every setting weighs the same")
        )
    if result.omnibus is not None:
        statistic, p, blocks = result.omnibus
        told = f"χ² = {statistic:.2f}, p = {p:.2g}, {count_text(blocks, 'block')}"
        rows.append(("any difference between arms (Friedman)", told))
    return rows


def show(result: Result, console: Console) -> None:
    """Prints the tables and the result in words."""
    for shown in shown_tables(result):
        console.print(_rich(shown))
    console.print(result.text, markup=False, highlight=False)
    for warning in result.warnings:
        console.print(f"note: {warning}", style="yellow", markup=False, highlight=False)


def _rich(shown: Shown) -> Table:
    """Returns a table for the terminal."""
    table = Table(title=shown.title, title_justify="left", title_style="bold")
    for index, name in enumerate(shown.columns):
        table.add_column(name, justify="left" if index < shown.names else "right", overflow="fold")
    for row in shown.rows:
        table.add_row(*row)
    return table


def write(result: Result, out_dir: Path) -> Path:
    """Writes everything; returns where the page is.

    Raises:
        OSError: The folder cannot be written.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    drawn = pictures(result)
    with faults.naming(out_dir):
        save_pictures(drawn, out_dir)
        save_tables(result, out_dir)
    page = out_dir / "comparison.html"
    write_whole(page, render(result, drawn).encode("utf-8", "backslashreplace"))
    return page


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    check_import_names()
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Compares one sweep."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.compare",
        description="Compares the arms of a sweep by the rules of its experiment.yaml; without one, explores.",
    )
    parser.add_argument("sweep_dir", type=Path, metavar="SWEEP_DIR", help="the folder of a sweep, finished or not")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write; the sweep's own folder by default")
    parser.add_argument(
        "--skeletons", action="store_true", help="count sources that differ in more than names and numbers"
    )
    arguments = parser.parse_args(argv)
    result = analyse(arguments.sweep_dir, with_skeletons=arguments.skeletons)
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    show(result, console)
    page = write(result, arguments.out or arguments.sweep_dir)
    console.print(f"comparison: {page}", markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
