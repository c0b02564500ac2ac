"""Figures. Each function draws on an axis that it is given, and returns it.

Colours are those of Okabe and Ito, which stay apart for every kind of colour blindness; no meaning
hangs on colour alone, and everything reads in grey.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fitness import Measurement

from .runs import Run

matplotlib.use("Agg")

INK, MUTED, GRID = "#1f2933", "#6b7785", "#e4e8ec"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#332288")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MANY_POINTS = 2000

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "kernelwright",
    "figure.constrained_layout.use": True,
}


def best_so_far(axis: Axes, run: Run) -> Axes:
    """Draws every timed candidate, the best-so-far curve and the re-verified speedup.

    Args:
        axis: Where to draw.
        run: x is the number of evaluations charged, y the speedup over the seed kernel.
    """
    timed = [each for each in run.evaluated if each.speedup is not None]
    operators = sorted({each.operator for each in timed}, key=lambda name: (name != "seed", name))
    for index, operator in enumerate(operators, start=-1 if "seed" in operators else 0):
        points = [each for each in timed if each.operator == operator]
        axis.scatter(
            [each.charged for each in points],
            [each.speedup or 0.0 for each in points],
            s=20,
            color=COLOURS[index % len(COLOURS)] if index >= 0 else INK,
            marker=MARKERS[index % len(MARKERS)],
            alpha=0.65,
            linewidths=0,
            label=plain(operator.replace("_", " ")),
            rasterized=len(timed) > MANY_POINTS,
            zorder=2,
        )
    evaluations, best = run.best_so_far
    if len(best):
        axis.step(evaluations, best, where="post", color=INK, linewidth=1.8, label="best so far", zorder=3)
    failed = [each.charged for each in run.evaluated if each.speedup is None]
    if failed:
        axis.plot(
            failed,
            np.zeros(len(failed)),
            "|",
            color=MUTED,
            markersize=6,
            alpha=0.6,
            clip_on=False,
            label="failed",
            transform=axis.get_xaxis_transform(),
            rasterized=len(failed) > MANY_POINTS,
            zorder=1,
        )
    _draw_verification(axis, run)
    axis.axhline(1.0, color=MUTED, linewidth=0.9, linestyle=":")
    _speedup_scale(axis, [each.speedup for each in timed if each.speedup is not None])
    axis.set_xlabel("evaluations")
    axis.set_ylabel("speedup over the seed kernel")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handletextpad=0.5)
    return axis


def _draw_verification(axis: Axes, run: Run) -> None:
    """Draws the re-verified speedup with its interval as a band."""
    verified = run.verification
    if verified is None or verified.speedup is None or verified.interval is None:
        return
    axis.axhspan(*verified.interval, color=COLOURS[2], alpha=0.18, linewidth=0)
    axis.axhline(verified.speedup, color=COLOURS[2], linewidth=1.3, linestyle="--", label="re-verified, with interval")


def _speedup_scale(axis: Axes, values: Sequence[float]) -> None:
    """Chooses a logarithmic scale when the speedups span more than a factor of eight."""
    if values and max(values) / min(values) > 8:
        axis.set_yscale("log", base=2)
    elif values:
        axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def samples(axis: Axes, measurements: Sequence[Measurement], names: tuple[str, str] = ("seed", "best")) -> Axes:
    """Draws all raw samples of every workload, baseline and candidate side by side.

    Args:
        axis: Where to draw; x is the time of one call in µs, from 0 or on a logarithmic scale.
        measurements: One a workload.
        names: Of the baseline and of the candidate.
    """
    rng = np.random.default_rng(0)
    ticks, labels = [], []
    for row, measurement in enumerate(measurements):
        pairs = ((measurement.reference_samples_us, MUTED, names[0]), (measurement.samples_us, COLOURS[0], names[1]))
        for offset, (values, colour, name) in enumerate(pairs):
            if not values:
                continue
            height = row * 2.6 + offset
            jitter = rng.uniform(-0.26, 0.26, len(values))
            axis.scatter(
                values,
                height + jitter,
                s=9,
                color=colour,
                alpha=0.45,
                linewidths=0,
                rasterized=len(values) > MANY_POINTS,
            )
            low, middle, high = np.percentile(values, (25, 50, 75))
            axis.plot([low, high], [height, height], color=INK, linewidth=4, alpha=0.35, solid_capstyle="butt")
            axis.plot([middle, middle], [height - 0.36, height + 0.36], color=INK, linewidth=1.6)
            ticks.append(height)
            labels.append(plain(f"{measurement.workload} · {name}"))
    axis.set_yticks(ticks, labels)
    axis.invert_yaxis()
    _time_scale(axis, [value for each in measurements for value in (*each.samples_us, *each.reference_samples_us)])
    axis.set_xlabel("time of one call in µs (bar: quartiles, line: median)")
    axis.grid(axis="y", visible=False)
    return axis


def _time_scale(axis: Axes, values: Sequence[float]) -> None:
    """Chooses a logarithmic scale when the times span more than a factor of ten."""
    if values and max(values) / min(values) > 10:
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def plain(text: str) -> str:
    """Returns a text that is drawn as it stands: Matplotlib reads what is between dollar signs as formula.

    Halves of surrogate pairs, which it cannot draw, are spelt out.
    """
    return text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")


def drawn(draw: Callable[[Axes], object], size: tuple[float, float]) -> Figure:
    """Returns a figure of the given width and height in inches, with one axis that ``draw`` was given."""
    with matplotlib.rc_context(STYLE):
        made = Figure(figsize=size)
        draw(made.add_subplot())
        return made


def image(made: Figure, kind: Literal["svg", "png"]) -> bytes:
    """Returns a figure as an image file; equal figures give equal bytes."""
    buffer = io.BytesIO()
    unstamped = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(STYLE):
        made.savefig(buffer, format=kind, metadata=unstamped, dpi=150, transparent=kind == "svg")
    return buffer.getvalue()


def data_uri(made: Figure) -> str:
    """Returns a figure as an SVG image that needs no file and runs no script: for screens and for print."""
    return "data:image/svg+xml;base64," + base64.b64encode(image(made, "svg")).decode()


def titled_best_so_far(run: Run) -> bytes:
    """Returns the best-so-far figure as a PNG of 1,350 by 675 pixels that can stand alone."""

    def draw(axis: Axes) -> None:
        best_so_far(axis, run)
        axis.set_title(plain(run.title), loc="left", fontsize=11)

    return image(drawn(draw, (9.0, 4.5)), "png")
