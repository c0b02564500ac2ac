"""The figures of the pages, as SVG images for light and for dark screens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from fitness import Measurement

from .. import plots
from ..analysis.figures import BUDGET_WORDS, looks
from ..runs import Run
from .lineage_tree import ancestors

DARK = {
    plots.INK: "#e8edf2",
    plots.MUTED: "#9aa7b4",
    plots.GRID: "#333c46",
    "#000000": "#e8edf2",
    plots.COLOURS[0]: "#2f8fdc",
}
"""What colours become on dark paper; the other colours of data stand out on both."""
WIDTH = 9.6
MOST_EDGES = 2_000
"""Of more kernels than this, only the fastest get a line to their parent; the others are points."""

_drawing = threading.Lock()
"""Matplotlib's settings are global, and pages are made in threads."""


@dataclass(frozen=True)
class Curve:
    """The best-so-far curve of one run.

    Attributes:
        group: Runs of one group are drawn alike and have one entry in the legend.
        costs: Shape ``(num_timed,)``, non-decreasing: what had been spent.
        bests: The same shape: the largest speedup by then.
        end: What the whole run had spent.
    """

    group: str
    costs: NDArray[np.float64]
    bests: NDArray[np.float64]
    end: float


def best_so_far(run: Run, *, dark: bool) -> bytes:
    """Returns the best-so-far figure of a run."""
    return _svg(lambda axis: plots.best_so_far(axis, run), (WIDTH, 3.9), dark)


def samples(measurements: Sequence[Measurement], *, dark: bool) -> bytes:
    """Returns the figure of all samples of a kernel."""
    size = (WIDTH, 0.9 + 0.75 * len(measurements))
    return _svg(lambda axis: plots.samples(axis, measurements, ("seed", "kernel")), size, dark)


def curves(found: Sequence[Curve], cost: str, *, dark: bool) -> bytes:
    """Returns the best-so-far curves of several runs on one axis.

    Args:
        found: The curves; a group has one look and one entry in the legend.
        cost: ``"evaluations"``, ``"seconds"`` or ``"tokens"``.
        dark: For dark paper.
    """
    styles = looks(list(dict.fromkeys(each.group for each in found)))

    def draw(axis: Axes) -> None:
        named: set[str] = set()
        for each in found:
            look = styles[each.group]
            axis.step(
                [*each.costs, each.end],
                [*each.bests, *each.bests[-1:]] if len(each.bests) else [np.nan],
                where="post",
                color=look.colour,
                linestyle=look.line,
                linewidth=1.7,
                label=None if each.group in named else plots.plain(each.group),
            )
            if len(each.bests):
                axis.plot(each.end, each.bests[-1], look.marker, color=look.colour, markersize=6)
            named.add(each.group)
        axis.axhline(1.0, color=plots.MUTED, linewidth=0.9, linestyle=":")
        _scale(axis, np.concatenate([each.bests for each in found] or [np.ones(1)]))
        axis.set_xlabel(BUDGET_WORDS[cost])
        axis.set_ylabel("best speedup so far")
        if named:
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, borderaxespad=0.0)

    rows = (len(styles) + 1) // 2
    return _svg(draw, (WIDTH, 4.4 + 0.2 * rows), dark)


def lineage(run: Run, chosen: str | None, *, dark: bool) -> bytes:
    """Returns every timed kernel with a line to its first parent; the line that led to one of them stands out.

    Args:
        run: x is the slot, y the speedup over the seed kernel.
        chosen: Digest of the kernel whose ancestors stand out; None for the best.
        dark: For dark paper.
    """
    timed = {digest: each for digest, each in run.first.items() if each.speedup is not None}
    line = [timed[digest] for digest in ancestors(run, chosen or run.best_digest) if digest in timed]

    def draw(axis: Axes) -> None:
        children = [each for each in timed.values() if each.parents and each.parents[0] in timed]
        children.sort(key=lambda each: -(each.speedup or 0.0))
        pairs = [(timed[each.parents[0]], each) for each in children[:MOST_EDGES]]
        edges = [[(each.slot, each.speedup or 0.0) for each in pair] for pair in pairs]
        many = len(timed) > MOST_EDGES
        axis.add_collection(
            LineCollection(edges, colors=plots.MUTED, linewidths=0.5, alpha=0.15 if many else 0.4, rasterized=many)
        )
        points = [(each.slot, each.speedup or 0.0) for each in timed.values()]
        if points:
            slots, speedups = zip(*points, strict=True)
            axis.scatter(slots, speedups, s=12, color=plots.MUTED, linewidths=0, alpha=0.6, rasterized=many)
            _scale(axis, np.array(speedups))
        steps = [(each.slot, each.speedup or 0.0) for each in line]
        if steps:
            axis.plot(*zip(*steps, strict=True), "-o", color=plots.COLOURS[1], markersize=6, linewidth=2.0)
        axis.set_xlabel("slot, in the order of commitment")
        axis.set_ylabel("speedup over the seed kernel")

    return _svg(draw, (WIDTH, 4.2), dark)


def _scale(axis: Axes, values: NDArray[np.float64]) -> None:
    """Chooses a logarithmic scale when the speedups span more than a factor of eight."""
    if len(values) and values.max() / values.min() > 8:
        axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def _svg(draw: Callable[[Axes], object], size: tuple[float, float], dark: bool) -> bytes:
    with _drawing:
        made = plots.image(plots.drawn(draw, size), "svg")
    return _recoloured(made, DARK) if dark else made


def _recoloured(svg: bytes, colours: Mapping[str, str]) -> bytes:
    for old, new in colours.items():
        svg = svg.replace(old.lower().encode(), new.encode())
    return svg
