"""The report of a run, one HTML file that needs no network: ``python -m experiments.report RUN_DIR…``.

Rebuilds ``report.html`` and ``best_so_far.png`` from the records of finished and unfinished runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from fitness import Evaluation

from . import faults, plots
from .baseline_rows import baseline_rows
from .lineage import lineage
from .names import check_import_names
from .records import begun, load_run, write_whole
from .runs import Run
from .verdicts import statuses
from .wording import environment_rows, figures, headline, spent_rows, subtitle, time_text, trust

LEXERS = {"opencl": "c", "hip": "cuda", **dict.fromkeys(("triton", "cute", "flydsl", "numba"), "python")}
"""By language, where pygments has another name for it."""

HIGHLIGHT_LINES = 4000


def write_report(run_dir: Path) -> Path:
    """Writes ``report.html`` and ``best_so_far.png`` into a run directory.

    Returns:
        Where the page is.

    Raises:
        RunError: The directory holds no run.
        OSError: It cannot be written.
    """
    run = load_run(run_dir)
    page = run_dir / "report.html"
    write_whole(page, render(run).encode("utf-8", "backslashreplace"))
    write_whole(run_dir / "best_so_far.png", plots.titled_best_so_far(run))
    return page


def render(run: Run) -> str:
    """Returns the page; every text that is not ours is escaped by the template."""
    templates = files(__package__) / "templates"
    pages = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False, lstrip_blocks=True)
    pages.filters["time"] = time_text
    page = pages.from_string((templates / "report.html.j2").read_text(encoding="utf-8"))
    measured = _measured(run)
    best = run.best
    source = run.sources.get(best.digest or "") if best is not None else None
    formatter = HtmlFormatter(style="friendly", cssclass="code", nobackground=True)
    return page.render(
        run=run,
        css=Markup((templates / "report.css").read_text(encoding="utf-8")),
        highlight_css=Markup(formatter.get_style_defs(".code")),
        subtitle=subtitle(run),
        headline=headline(run),
        figures=figures(run),
        curve=_curve(run),
        funnel=run.funnel,
        statuses=statuses(run),
        steps=lineage(run, best.digest) if best is not None and best.digest else [],
        best_source=None if source is None else highlighted(source, run.language, formatter),
        best_digest=best.digest if best is not None else "",
        best_file=run.best_file,
        measurements=measured.measurements if measured is not None else (),
        profile=_profile(run, measured),
        measured_when=_measured_when(run, measured),
        baselines=baseline_rows(measured),
        strips=_strips(measured) if measured is not None else "",
        trust=trust(run),
        spent=spent_rows(run),
        environment=environment_rows(run),
        config_text=run.config_text,
        version=run.environment.get("kernelwright", ""),
    )


def _measured(run: Run) -> Evaluation | None:
    """Returns the evaluation whose samples are shown: the re-verified one where there is one."""
    if run.verification is not None and run.verification.measurements:
        return run.verification
    best = run.best
    return best.evaluation if best is not None and best.evaluation and best.evaluation.measurements else None


def _profile(run: Run, measured: Evaluation | None) -> str:
    """Returns the paragraph on the best kernel, of the evaluation that is shown or else of the search."""
    if measured is not None and measured.profile:
        return measured.profile
    best = run.best
    return best.evaluation.profile if best is not None and best.evaluation is not None else ""


def _measured_when(run: Run, measured: Evaluation | None) -> str:
    """Says which of the two measurements is shown."""
    if measured is not None and measured is run.verification:
        return "From the re-verification, in a fresh process after the search."
    return "From the search itself; this run has no re-verification."


def _curve(run: Run) -> str:
    """Returns the best-so-far figure."""
    return plots.data_uri(plots.drawn(lambda axis: plots.best_so_far(axis, run), (10.2, 4.0)))


def _strips(measured: Evaluation) -> str:
    """Returns the figure of all samples."""
    size = (10.2, 0.9 + 0.75 * len(measured.measurements))
    return plots.data_uri(plots.drawn(lambda axis: plots.samples(axis, measured.measurements), size))


def highlighted(source: str, language: str, formatter: HtmlFormatter[str]) -> Markup:
    """Returns a source as markup, in colour if it is not too long; pygments escapes it.

    Args:
        source: Any text.
        language: As `fitness` calls it.
        formatter: Says how tokens are marked up.
    """
    try:
        lexer: Any = get_lexer_by_name(LEXERS.get(language, language))
    except ClassNotFound:
        lexer = TextLexer()
    if source.count("\n") > HIGHLIGHT_LINES:
        lexer = TextLexer()
    return Markup(highlight(source, lexer, formatter))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    check_import_names()
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Rebuilds every report that is asked for; one broken run does not keep the others from theirs."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description="Writes report.html and best_so_far.png again from stored runs.",
    )
    parser.add_argument("run_dir", nargs="+", type=Path, metavar="RUN_DIR", help="the folder of a run, finished or not")
    status = 0
    for run_dir in begun(parser.parse_args(argv).run_dir):
        try:
            page = write_report(run_dir)
        except faults.KNOWN as fault:
            print(f"error: {faults.told_of(run_dir, fault)}", file=sys.stderr)
            status = faults.FAILED
        else:
            print(page)
    return status


if __name__ == "__main__":
    sys.exit(main())
