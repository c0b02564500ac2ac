"""The sentences and figures of a report, from the records of a run. Numbers are rounded only here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fitness import Evaluation

from .runs import Candidate, Run

WIDE = 0.2


@dataclass(frozen=True, slots=True)
class Headline:
    """What a reader should take away.

    Attributes:
        claim: One sentence.
        sentences: What stands behind it.
        warnings: What speaks against relying on it.
        success: Whether something faster than the seed was found and confirmed.
    """

    claim: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    success: bool


def time_text(latency_us: float) -> str:
    """Returns a time with three or four digits and a fitting unit."""
    for limit, divisor, unit in ((1e3, 1.0, "µs"), (1e6, 1e3, "ms")):
        if latency_us < limit:
            return f"{latency_us / divisor:.4g} {unit}"
    return f"{latency_us / 1e6:.4g} s"


def count_text(count: int, noun: str) -> str:
    """Returns a number of things, e.g. ``"1 run"`` or ``"1,234 runs"``; the noun forms its plural with an s."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def duration_text(seconds: float) -> str:
    """Returns a duration for people: seconds, or minutes and seconds, or hours and minutes."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def speedup_text(evaluation: Evaluation | None) -> str:
    """Returns a speedup with its interval, or a dash."""
    if evaluation is None or evaluation.speedup is None:
        return "–"
    if evaluation.interval is None:
        return f"{evaluation.speedup:.2f}×"
    return f"{evaluation.speedup:.2f}× ({evaluation.interval[0]:.2f} – {evaluation.interval[1]:.2f})"


def subtitle(run: Run) -> str:
    """Returns operators, search and seed in one line."""
    parts = [f"operators {run.choices.get('operators', '?')}", f"search {run.choices.get('search', '?')}"]
    if run.choices.get("llm", "none") != "none":
        parts.append(f"model {run.config.get('llm', {}).get('model') or run.choices['llm']}")
    parts.append(count_text(run.generations, "generation"))
    parts.append(f"ended: {run.ended}" if run.ended else "unfinished: this is what is known so far")
    return " · ".join(parts)


def headline(run: Run) -> Headline:
    """Says what was found, in plain words."""
    best, verified = run.best, run.verification
    where = run.subject
    searched = _searched(run)
    if best is None or best.speedup is None:
        return Headline(f"No timed kernel for {where} yet.", (searched,), (), success=False)
    found = speedup_text(best.evaluation)
    if best.operator == "seed":
        return Headline(f"Nothing faster than {_started(run)} was found for {where}.", (searched,), (), success=False)
    if verified is None:
        claim = f"The search found a kernel for {where} that measured {best.speedup:.2f}× as fast as the seed."
        warning = "It has not been re-verified: this number was picked as the best of many, which flatters it."
        return Headline(claim, (searched,), (warning,), success=False)
    if not verified.ok or verified.speedup is None or verified.interval is None:
        claim = f"The best kernel for {where} did not survive its re-verification."
        reason = f"The search had measured {found}; the fresh process on hidden sizes says: {verified.status}."
        return Headline(claim, (reason, searched), (), success=False)
    floor = run.calibration.noise_floor if run.calibration is not None else 0.0
    if verified.interval[0] <= 1.0 + floor:
        claim = f"No improvement over the seed kernel for {where} is certain: {speedup_text(verified)}."
        reason = f"The interval, widened by the machine's noise of {100 * floor:.1f} %, does not exclude 1."
        return Headline(claim, (reason, searched), _doubts(run), success=False)
    low, high = verified.interval
    interval = f"95 % interval {low:.2f} – {high:.2f}"
    claim = f"{where}: {verified.speedup:.2f}× as fast as the naive seed, re-verified ({interval})."
    sentences = (
        f"During the search the same kernel measured {found}. The re-verification is the number to quote: "
        "a fresh process, hidden sizes, fresh inputs, a second block of time.",
        *_inherited(run, verified.speedup),
        searched,
    )
    return Headline(claim, sentences, _doubts(run), success=True)


def _inherited(run: Run, speedup: float) -> tuple[str, ...]:
    """Says what the kernels were worth that the run started from, where it started from more than the task's own."""
    seeds = _seeds(run)
    before = max((each.speedup for each in seeds if each.speedup is not None), default=1.0)
    if len(seeds) < 2:
        return ()
    return (
        f"It started from kernels of which the best was already {before:.2f}× as fast as the naive seed; "
        f"the search itself made that {speedup / before:.2f}× as fast.",
    )


def _seeds(run: Run) -> list[Candidate]:
    """Returns what the run started from: the task's own kernel, and those of ``start``."""
    return [each for each in run.candidates if each.operator == "seed"]


def _started(run: Run) -> str:
    """Names what was not surpassed, and how fast the best of it was where that is not the naive seed."""
    seeds = _seeds(run)
    if len(seeds) < 2 or run.best is None or run.best.speedup is None:
        return "the seed kernel"
    return f"the best of the {len(seeds)} kernels to start from ({run.best.speedup:.2f}× as fast as the naive seed)"


def _searched(run: Run) -> str:
    """Says what was searched."""
    count = len(run.evaluated)
    correct = sum(1 for each in run.evaluated if each.evaluation is not None and each.evaluation.ok)
    seeds = len(_seeds(run))
    start, included = ("the task's naive kernel", "it") if seeds < 2 else (f"{seeds} kernels", "them")
    made = len(run.candidates) - seeds
    return (
        f"Starting from {start}, {count_text(made, 'candidate')} {'was' if made == 1 else 'were'} made. "
        f"With {included}, {count_text(count, 'different kernel')} {'was' if count == 1 else 'were'} evaluated; "
        f"{correct} of them {'was' if correct == 1 else 'were'} correct."
    )


def _doubts(run: Run) -> tuple[str, ...]:
    """Returns what speaks against relying on the re-verified speedup."""
    return (*_shrunk(run), *_wide(run))


def _wide(run: Run) -> tuple[str, ...]:
    """Warns when the interval is so wide that not even the second digit is certain."""
    verified = run.verification
    if verified is None or verified.interval is None or verified.speedup is None:
        return ()
    if verified.interval[1] - verified.interval[0] <= WIDE * verified.speedup:
        return ()
    advice = "Measure again on a quiet one, or with evaluator=careful, before you rely on the second digit."
    return (f"The interval is wide: this machine was busy while the kernel was timed. {advice}",)


def _shrunk(run: Run) -> tuple[str, ...]:
    """Warns when the re-verified speedup is clearly below what the search had measured."""
    best, verified = run.best, run.verification
    if best is None or verified is None or best.speedup is None or verified.interval is None:
        return ()
    if best.speedup <= 1.05 * verified.interval[1]:
        return ()
    return (
        f"The search had measured {best.speedup:.2f}×: part of that was luck or does not carry over to hidden sizes.",
    )


def figures(run: Run) -> list[tuple[str, str]]:
    """Returns the row of large numbers."""
    best, verified = run.best, run.verification
    correct = sum(1 for each in run.evaluated if each.evaluation is not None and each.evaluation.ok)
    share = f"{100 * correct / len(run.evaluated):.0f} %" if run.evaluated else "–"
    shown = [
        (f"{verified.speedup:.2f}×" if verified is not None and verified.speedup else "–", "re-verified speedup"),
        (f"{best.speedup:.2f}×" if best is not None and best.speedup else "–", "speedup in the search"),
        (_latency(best.evaluation if best is not None else None), "a call of the best kernel"),
        (f"{len(run.evaluated):,}", "kernels evaluated"),
        (share, "of them correct"),
        (duration_text(run.elapsed_s), "wall time"),
    ]
    tokens = sum(each.tokens for each in run.candidates)
    return [*shown, (f"{tokens:,}", "model tokens")] if tokens else shown


def _latency(evaluation: Evaluation | None) -> str:
    """Returns a latency or a dash."""
    return time_text(evaluation.latency_us) if evaluation is not None and evaluation.latency_us else "–"


_ON_A_GPU = (
    "Seed and candidate wait in two isolated processes and are called in blocks, in changing order, on fresh data. The "
    "device's own events time them; they are believed as far as the trusted parent's clock around the block allows."
)
CLOCKS = {
    "Cpu": "Seed and candidate wait in two isolated processes. The trusted parent lets one call run, then the other, "
    "on equal data, in changing order, and holds the clock itself.",
    "Nvidia": _ON_A_GPU,
    "Amd": _ON_A_GPU,
    "External": "Seed and candidate are run by the target's own toolchain, a process each time, in changing order. It "
    "tells the times of its calls; more than fits into the wall clock around its process is not believed.",
}
"""Who holds the clock, by the class of the target."""


def trust(run: Run) -> list[str]:
    """Explains how a time is taken, what bounds the error, and what is missing on this machine."""
    target = run.config.get("target")
    kind = str(target.get("_target_")).rpartition(".")[2] if isinstance(target, Mapping) else ""
    sentences = [
        f"{CLOCKS.get(kind, CLOCKS['Cpu'])} Each pair gives one ratio; the speedup of a workload is the median of its "
        "ratios, the interval comes from a bootstrap over the pairs, and the speedup of a kernel is the geometric mean "
        "over the workloads. A machine that slows down for a while slows both, so the ratio stays.",
        "The times in µs are on the scale of this run: the seed's calibrated time divided by the speedup. Compare "
        "times of one run with each other; across machines or days compare speedups.",
        "A kernel is judged by the process that started it, never by the one that ran it; every element of its outputs "
        "is compared with a float64 reference on awkward sizes first, and times that the hardware cannot reach are "
        "refused.",
    ]
    if run.calibration is not None:
        sentences.append(
            f"The null test, the seed timed against itself, showed a noise of {100 * run.calibration.noise_floor:.2f} "
            "% on this machine: no smaller difference is called one."
        )
    isolation = run.environment.get("isolation")
    if kind == "External":
        sentences.append("What confines candidates in this run is the toolchain's own business.")
    elif isolation:
        sentences.append(f"Isolation of candidates in this run: {isolation}.")
    if run.verification is None:
        sentences.append("The best kernel of this run has not been re-verified.")
    return sentences


def spent_rows(run: Run) -> list[tuple[str, str]]:
    """Returns what the run used, against its limits."""
    budget = run.config.get("budget", {})
    seconds: Counter[str] = Counter()
    for each in run.evaluated:
        if each.evaluation is not None:
            seconds.update(each.evaluation.seconds)
    tokens = sum(each.tokens for each in run.candidates)
    rows = [
        ("evaluations", _of(f"{run.evaluations:,}, {run.duels} of them duels", budget.get("evaluations"))),
        ("wall time", _of(duration_text(run.elapsed_s), budget.get("seconds"), " s")),
        ("model tokens", _of(f"{tokens:,}", budget.get("tokens"))),
        ("generations", _of(str(run.generations), run.config.get("generations"))),
    ]
    return [*rows, *((f"{stage}, all evaluations", duration_text(total)) for stage, total in sorted(seconds.items()))]


def _of(used: str, limit: Any, unit: str = "") -> str:
    """Returns ``used`` with its limit."""
    return f"{used} of at most {limit:,}{unit}" if limit is not None else f"{used}, no limit set"


def environment_rows(run: Run) -> list[tuple[str, str]]:
    """Returns ``environment.json`` flat, in the order in which it was written."""
    rows: list[tuple[str, str]] = []
    for key, value in run.environment.items():
        if isinstance(value, Mapping):
            rows.extend((f"{key} · {name}", str(each)) for name, each in value.items())
        else:
            rows.append((key, str(value)))
    return rows
