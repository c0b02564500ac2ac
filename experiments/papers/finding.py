"""What an experiment shows beside its comparison: a table, and a figure where one helps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from rich.console import Console
from rich.table import Table

from ..compare import PIPE_WIDTH, Picture, save_pictures
from ..faults import naming
from ..plots import STYLE

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        name: Of its files.
        caption: One sentence.
        table: A row an arm, task or whatever it is about.
        draw: Makes the figure; None where the table says it all.
    """

    name: str
    caption: str
    table: pd.DataFrame
    draw: Callable[[], Figure] | None = None


def write_findings(found: Sequence[Finding], out_dir: Path) -> None:
    """Writes each table as CSV, and each figure as PNG and PDF.

    Raises:
        OSError: The folder cannot be written.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    with naming(out_dir):
        for each in found:
            each.table.to_csv(out_dir / f"{each.name}.csv", index=False, lineterminator="\n", float_format="%.6g")
            if each.draw is not None:
                with matplotlib.rc_context(dict(STYLE)):
                    save_pictures([Picture(each.name, each.caption, each.draw())], out_dir, prefix="")


def show_findings(found: Sequence[Finding]) -> None:
    """Prints each table with its sentence."""
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    for each in found:
        table = Table(title=each.caption, title_justify="left", title_style="bold")
        for name in each.table.columns:
            table.add_column(str(name), overflow="fold")
        for row in each.table.itertuples(index=False):
            table.add_row(*map(_cell, row))
        console.print(table)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
