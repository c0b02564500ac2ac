"""One run in a line of the list: read from its small files and the ends of the large ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve import json_text

from ..analysis.run_columns import journal_path
from ..records import number
from ..runs import subject
from .root import Root
from .stored import FAULTS, Facts, read_facts, told

TAIL_BYTES = 65_536


@dataclass(frozen=True)
class Summary:
    """What the list shows of a run.

    Attributes:
        path: Relative to the root.
        state: ``"running"``, ``"finished"``, ``"failed"``, ``"unfinished"``, ``"broken"`` or ``"empty"``.
        problem: Why it failed, or what cannot be read; empty when nothing is wrong.
        values: What it can be filtered by: state, groups, dotted keys of the configuration, numbers.
        title: The run in a few words.
        best: Speedup in the search; None before anything was timed.
        verified: Speedup when judged anew at the end; None where that failed or was not done.
        interval: Of ``verified``.
        evaluations: Charged, duels included.
        tokens: Of the model.
        elapsed_s: Wall time of a finished run; None of others.
        changed_s: When its files changed last, in seconds since the epoch.
    """

    path: str
    state: str
    problem: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    best: float | None = None
    verified: float | None = None
    interval: tuple[float, float] | None = None
    evaluations: int = 0
    tokens: int = 0
    elapsed_s: float | None = None
    changed_s: float = 0.0


def summarise(root: Root, path: str, state: str, changed_s: float) -> Summary:
    """Reads what the list shows of a run; never raises for what is in its files.

    Args:
        root: What may be opened.
        path: Of the run directory, relative to the root.
        state: As far as the names of its files tell.
        changed_s: When its files changed last, in seconds since the epoch.
    """
    run_dir = root.path / path
    facts = read_facts(root, run_dir, with_config=False)
    problems = list(facts.problems)
    config: Mapping[str, Any] = {}
    totals: Mapping[str, Any] = {}
    leaves: Mapping[str, str] = {}
    try:
        config = _configuration(root, run_dir)
        leaves = _leaves(config)
        totals = _totals(root, run_dir)
    except FAULTS as fault:
        problems.append(told(fault))
    if state == "broken" and not problems:
        problems.append("holds no journal.jsonl: the run was stopped before it began, or this file was lost")
    failure = str(facts.failure.get("error", "")) if state == "failed" else ""
    figures = _figures(facts, totals)
    values = {**leaves, **facts.choices, "state": "broken" if problems else state}
    return Summary(
        path=path,
        state=values["state"],
        problem="; ".join(filter(None, (failure, *problems))),
        title=_title(facts.choices, config),
        changed_s=changed_s,
        values={**values, **{name: str(value) for name, value in figures.items() if value is not None}, "name": path},
        **figures,
        interval=_interval(facts),
    )


def _configuration(root: Root, run_dir: Path) -> Mapping[str, Any]:
    """Reads the configuration from the journal's first line, else from ``config.yaml``."""
    journal = journal_path(run_dir)
    if journal is not None:
        with root.open(journal) as file:
            header = file.readline(TAIL_BYTES * 16)
        found = json.loads(header).get("configuration") if header.endswith(b"\n") else None
        if isinstance(found, dict):
            return found
    return read_facts(root, run_dir).config


def _totals(root: Root, run_dir: Path) -> Mapping[str, Any]:
    """Reads what stands behind the slots in the last whole line of ``generations.jsonl``."""
    try:
        with root.open(run_dir / "generations.jsonl") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return {}
    end = tail.rfind(b"\n") + 1
    start = tail.rfind(b'"population":', 0, end)  # inside a string, its quotes would be escaped
    found = json.loads(b"{" + tail[start:end]) if start >= 0 else {}
    return found if isinstance(found, dict) else {}


def _figures(facts: Facts, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the numbers of a run; what a record misuses is None."""
    result, best = facts.result, totals.get("best")
    verification = result.get("verification")
    return {
        "best": number(best.get("speedup") if isinstance(best, dict) else None),
        "verified": number(verification.get("speedup") if isinstance(verification, dict) else None),
        "evaluations": int(number(totals.get("evaluations")) or 0),
        "tokens": int(number(totals.get("tokens")) or 0),
        "elapsed_s": number(result.get("elapsed_s")),
    }


def _interval(facts: Facts) -> tuple[float, float] | None:
    verification = facts.result.get("verification")
    found = verification.get("interval") if isinstance(verification, dict) else None
    numbers = [number(each) for each in found] if isinstance(found, list) else []
    return (numbers[0], numbers[1]) if len(numbers) == 2 and None not in numbers else None  # type: ignore[return-value]


def _title(choices: Mapping[str, str], config: Mapping[str, Any]) -> str:
    return f"{subject(choices, config)}, seed {config.get('seed', '?')}" if choices else ""


def _leaves(config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the values of a configuration by dotted key."""

    def walk(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
        if isinstance(tree, Mapping) and tree:
            for key, value in tree.items():
                yield from walk(value, f"{prefix}.{key}" if prefix else str(key))
        else:
            yield prefix, tree if isinstance(tree, str) else json_text(tree, default=str)

    return dict(walk(config, ""))
