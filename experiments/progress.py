"""What a person sees while a run goes on: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evolve import Budget, Generation, RecordedEvaluations
from fitness import Calibration, Duel, Evaluation, Kernel

from .runs import STAGES
from .wording import count_text, duration_text

RATE_WINDOW_S = 30.0


class Watched:
    """The evaluator's door, with someone looking at what passes through it.

    Args:
        evaluations: The door.
        progress: Is told.
    """

    def __init__(self, evaluations: RecordedEvaluations, progress: Progress) -> None:
        self._evaluations = evaluations
        self._progress = progress

    def calibration(self) -> Calibration:
        """See `RecordedEvaluations.calibration`."""
        return self._evaluations.calibration()

    def submit(self, kernel: Kernel) -> Future[Evaluation]:
        """See `RecordedEvaluations.submit`."""
        future = self._evaluations.submit(kernel)
        future.add_done_callback(self._progress.judged)
        return future

    def duel(self, challenger: Kernel, elite: Kernel) -> Duel:
        """See `RecordedEvaluations.duel`."""
        return self._evaluations.duel(challenger, elite)

    def verify(self, kernel: Kernel) -> Evaluation:
        """See `RecordedEvaluations.verify`."""
        self._progress.enter("re-verifying the best kernel in a fresh process, on hidden sizes")
        return self._evaluations.verify(kernel)


@dataclass
class Progress:
    """Shows generations as they come.

    Args:
        console: Where to; a live panel when it is a terminal, a line a generation when not.
        title: The run in a few words.
        budget: For the time left.
        generations: At most so many; None for no limit.
    """

    console: Console
    title: str
    budget: Budget
    generations: int | None
    latest: Generation | None = None
    stage: str = "measuring the seed kernel and the machine"
    _verdicts: deque[float] = field(default_factory=lambda: deque(maxlen=4096))
    _since: int = 0
    _live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(get_renderable=self.panel, console=self.console, refresh_per_second=4, transient=True)
            self._live.start()
        else:
            self._say(f"{self.title}: {self.stage}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, evaluations: RecordedEvaluations) -> Watched:
        """Returns the same door, watched, so that a generation that takes long is seen to move."""
        return Watched(evaluations, self)

    def judged(self, future: Future[Evaluation]) -> None:
        """Takes note of one more verdict; runs in the executor's thread."""
        self._verdicts.append(time.monotonic())
        self._since += 1

    def show(self, generation: Generation) -> None:
        """Takes note of one more generation."""
        self.latest, self.stage, self._since = generation, "searching", 0
        if self._live is None:
            self._say(self.line(generation))

    def enter(self, stage: str) -> None:
        """Says what is being done now that is no generation."""
        self.stage = stage
        if self._live is None:
            self._say(stage)

    def line(self, generation: Generation) -> str:
        """Returns a generation in one line."""
        parts = [
            f"generation {generation.index}{f'/{self.generations}' if self.generations else ''}",
            f"best {best_text(generation)}",
            count_text(generation.evaluations, "evaluation"),
            f"{self.rate():.1f}/s" if self.rate() else "",
            " > ".join(f"{count} {stage}" for stage, count in zip(STAGES, totals(generation.funnel), strict=True)),
            self.left_text(),
        ]
        return " | ".join(part for part in parts if part)

    def rate(self) -> float:
        """Returns verdicts a second over the last half minute; those from the journal count too."""
        now = time.monotonic()
        recent = [at for at in self._verdicts if now - at < RATE_WINDOW_S]
        return len(recent) / (now - recent[0]) if len(recent) > 1 and now > recent[0] else 0.0

    def done(self) -> float:
        """Returns which fraction of the limit that comes first is used, from 0 to 1."""
        latest = self.latest
        if latest is None:
            return 0.0
        used = [
            (latest.index, self.generations),
            (latest.evaluations, self.budget.evaluations),
            (latest.elapsed_s, self.budget.seconds),
            (latest.tokens, self.budget.tokens),
        ]
        return min(1.0, max((spent / limit for spent, limit in used if limit), default=0.0))

    def left_text(self) -> str:
        """Returns an estimate of the time left; empty before there is a basis for one."""
        latest, done = self.latest, self.done()
        if latest is None or latest.index == 0 or done <= 0.0:
            return ""
        return f"about {duration_text(latest.elapsed_s * (1 - done) / done)} left"

    def panel(self) -> Group:
        """Returns what stands on the terminal now."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right")
        grid.add_column()
        latest = self.latest
        if latest is not None:
            of = f" of {self.generations}" if self.generations else ""
            grid.add_row("generation", f"{latest.index}{of}")
            grid.add_row("best speedup", Text(best_text(latest), style="bold green"))
            now = f", {self._since} more since" if self._since else ""
            grid.add_row("evaluations", f"{latest.evaluations}{now}   {self.rate():.1f} a second")
            if latest.tokens:
                grid.add_row("model tokens", f"{latest.tokens:,}")
            grid.add_row("funnel", funnel_text(latest.funnel))
            grid.add_row("time", f"{duration_text(latest.elapsed_s)}   {self.left_text()}")
        bar = ProgressBar(total=1.0, completed=self.done(), width=48, pulse=latest is None)
        return Group(Text(self.title, style="bold"), grid, bar, Text(self.stage + " …", style="dim"))

    def _say(self, text: str) -> None:
        """Prints one line without markup, wrapping or colour."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def totals(funnel: Mapping[str, Mapping[str, int]]) -> tuple[int, ...]:
    """Returns the counts of `STAGES` over all operators, the seeds left out."""
    rows = [row for name, row in funnel.items() if name != "seed"]
    return tuple(sum(row.get(stage, 0) for row in rows) for stage in STAGES)


def funnel_text(funnel: Mapping[str, Mapping[str, int]]) -> Text:
    """Returns the funnel in one line with its shares."""
    counts = totals(funnel)
    text = Text()
    for stage, count in zip(STAGES, counts, strict=True):
        text.append(f"{' → ' if text else ''}{count} ", style="bold")
        text.append(
            stage if stage == STAGES[0] or not counts[0] else f"{stage} ({100 * count / counts[0]:.0f} %)", style="dim"
        )
    return text


def best_text(generation: Generation) -> str:
    """Returns the best speedup so far."""
    speedup = generation.best.evaluation.speedup
    return f"{speedup:.2f}×" if speedup is not None else "not timed"
