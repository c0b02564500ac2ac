"""One attempt at a run: from a checked configuration to a finished, or at least resumable, run directory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table

from evolve import Budget, Engine, Generation
from llm import LLMError

from .analysis.tables import FAILURE, RESULT
from .baseline_rows import baseline_rows
from .build import build_engine, build_problem, problem_facts
from .environment import OF_A_RUN, keep_environment
from .progress import Progress
from .records import write_json, write_whole
from .report import write_report
from .runs import subject
from .tracking import Tracker, begun
from .wording import count_text, duration_text, speedup_text, time_text

RESULT_SCHEMA = "kernelwright.result/1"


def attempt(config: DictConfig, choices: Mapping[str, str], run_dir: Path, console: Console) -> float | None:
    """Runs, or goes on with, the search of one run directory, and writes its report.

    Args:
        config: Checked by `settings.check_settings`.
        choices: Which member of each configuration group was chosen.
        run_dir: Made when it is absent.
        console: Where a person looks.

    Returns:
        The re-verified speedup; None when the target measures no time.

    Raises:
        LLMError: The model cannot be asked; the run can be resumed.
        FitnessError: The machine or the task is broken; the run can be resumed.
        EvolveError: The journal or the run directory is unusable.
        OSError: The run directory cannot be written.
    """
    title = f"{subject(choices, {str(key): value for key, value in config.items()})}, seed {config.seed}"
    progress = Progress(console, title, Budget(**config.budget), config.generations)
    try:
        with ExitStack() as stack:
            problem = build_problem(config)
            engine = build_engine(config, problem, stack, run_dir, watch=progress.watch)
            _keep_configuration(config, run_dir)
            keep_environment(problem_facts(problem), choices, run_dir / OF_A_RUN)
            tracker = begun(config, run_dir)
            latest = _search(engine, config.generations, progress, tracker)
            if tracker is not None:
                tracker.end(engine.stop_reason, engine.verification)
    except LLMError:
        if (run_dir / "generations.jsonl").exists():
            write_report(run_dir)
        raise
    _keep_result(engine, latest, run_dir)
    page = write_report(run_dir)
    console.print(final_table(engine, latest, title))
    console.print(f"report: {page}", markup=False, highlight=False, soft_wrap=True)
    return engine.verification.speedup if engine.verification is not None else None


def _search(engine: Engine, generations: int | None, progress: Progress, tracker: Tracker | None) -> Generation:
    """Shows every generation of a search to person and tracker; returns the last one."""
    latest = None
    with progress:
        for latest in engine.run(generations=generations):
            progress.show(latest)
            if tracker is not None:
                tracker.generation(latest)
    assert latest is not None, "an engine yields the seeds or raises"
    return latest


def _keep_configuration(config: DictConfig, run_dir: Path) -> None:
    """Writes ``config.yaml``; the journal has made sure that a later attempt differs in `UNRECORDED` keys at most.

    The newest attempt is the one to replay: it may have gone on for more generations.
    """
    path, text = run_dir / "config.yaml", OmegaConf.to_yaml(config, resolve=True).encode()
    if not path.exists() or path.read_bytes() != text:
        write_whole(path, text)


def _keep_result(engine: Engine, latest: Generation, run_dir: Path) -> None:
    """Writes ``result.json``, which says that the run came to its end, and how."""
    best, verified = latest.best, engine.verification
    record = {
        "schema": RESULT_SCHEMA,
        "ended": engine.stop_reason,
        "generations": latest.index,
        "evaluations": latest.evaluations,
        "tokens": latest.tokens,
        "elapsed_s": latest.elapsed_s,
        "best": _figures(best.evaluation.to_json()) | {"kernel": best.digest, "operator": best.operator},
        "verification": _figures(verified.to_json()) if verified is not None else None,
    }
    write_json(run_dir / RESULT, record)
    (run_dir / FAILURE).unlink(missing_ok=True)  # of an attempt before this one, or beside it


def _figures(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the numbers of an evaluation, and of its baselines where it has any, without samples."""
    names = ("status", "latency_us", "reference_latency_us", "speedup", "interval", "max_rel_error", "flags")
    figures = {name: evaluation[name] for name in names}
    if "baselines" in evaluation:
        short = ("name", "status", "speedup", "interval")
        figures["baselines"] = [{name: each[name] for name in short} for each in evaluation["baselines"]]
    return figures


def final_table(engine: Engine, latest: Generation, title: str) -> Table:
    """Returns what a run came to."""
    table = Table(title=title, title_justify="left", show_header=False, title_style="bold")
    table.add_column(style="dim")
    table.add_column()
    best, verified = latest.best.evaluation, engine.verification
    table.add_row("speedup in the search", speedup_text(best))
    if verified is not None:
        told = speedup_text(verified) if verified.ok else f"failed: {verified.status}"
        table.add_row("re-verified speedup", told, style="bold")
    for row in baseline_rows(verified):
        table.add_row(f"over {row.meaning}", row.text)
    if best.latency_us is not None and best.reference_latency_us is not None:
        table.add_row(
            "time of a call", f"{time_text(best.latency_us)}, the seed's {time_text(best.reference_latency_us)}"
        )
    table.add_row("made by", latest.best.operator.replace("_", " "))
    table.add_row(
        "spent",
        f"{count_text(latest.evaluations, 'evaluation')}, {duration_text(latest.elapsed_s)}"
        + (f", {count_text(latest.tokens, 'token')}" if latest.tokens else ""),
    )
    table.add_row("ended by", engine.stop_reason)
    return table
