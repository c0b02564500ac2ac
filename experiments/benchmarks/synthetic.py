"""Run directories of an invented search: the same records as a real one, without its cost.

For tests and benchmarks of what reads records. Nothing here says anything about a real search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolve import json_text

SAMPLES = tuple(10.0 + 0.01 * index for index in range(5))


@dataclass(frozen=True, slots=True)
class Invented:
    """What an invented search is like.

    Attributes:
        gain: Mean logarithm by which a good child beats the best so far.
        validity: Share of proposals that are correct.
        tokens: Of each proposal.
        seconds: Of each evaluation.
        operator: Its name.
        evaluations: Of the run.
        generation_size: Slots in a generation.
    """

    gain: float = 0.1
    validity: float = 0.6
    tokens: int = 0
    seconds: float = 0.2
    operator: str = "syntactic"
    evaluations: int = 200
    generation_size: int = 16


def write_run(run_dir: Path, search: Invented, seed: int, choices: Mapping[str, str], *, finished: bool = True) -> None:
    """Writes the records of one run.

    Args:
        run_dir: Made when it is absent.
        search: What it is like.
        seed: Of everything random.
        choices: Members of the configuration's groups.
        finished: Whether the run came to its end.
    """
    rng = np.random.default_rng(seed)
    run_dir.mkdir(parents=True, exist_ok=True)
    lines = [json_text({"schema": "kernelwright.journal/1", "configuration": {"seed": seed, **choices}})]
    lines.append(_answer("calibration", "e", 0.1, {"reference_latency_us": {"w": 10.0}, "noise_floor": 0.01}))
    generations, speedups = [], [1.0]
    best: dict[str, Any] = {"slot": -1, "kernel": _digest(seed, -1), "latency_us": 10.0, "speedup": 1.0}
    lines.append(_answer("evaluation", f"{_digest(seed, -1)}/e", 0.2, _evaluation("ok", 1.0, search.seconds)))
    generations.append(_generation(0, [_slot(seed, -1, ("ok", 1.0), search)], best, spent=(1, 0)))
    slots: list[dict[str, Any]] = []
    for slot in range(search.evaluations - 1):
        status, speedup = _outcome(search, max(speedups), rng)
        at_s = 0.2 + (slot + 1) * search.seconds
        lines.append(
            _answer("evaluation", f"{_digest(seed, slot)}/e", at_s, _evaluation(status, speedup, search.seconds))
        )
        if search.tokens:
            answer = {"text": "t", "finish_reason": "stop", "latency_s": 0.5 * search.seconds, "reasoning": ""}
            lines.append(_answer("completion", _digest(seed, slot), at_s, answer))
        slots.append(_slot(seed, slot, (status, speedup), search))
        if speedup is not None and speedup > best["speedup"]:
            best = {"slot": slot, "kernel": _digest(seed, slot), "latency_us": 10.0 / speedup, "speedup": speedup}
            speedups.append(speedup)
        if len(slots) == search.generation_size or slot == search.evaluations - 2:
            spent = (slot + 2, (slot + 1) * search.tokens)
            generations.append(_generation(len(generations), slots, best, spent))
            slots = []
    if finished:
        verified = best["speedup"] * float(np.exp(rng.normal(-0.01, 0.01)))
        lines.append(_answer("verification", f"{best['kernel']}/e", at_s, _evaluation("ok", verified, 1.0)))
        (run_dir / "result.json").write_text(json_text({"ended": "evaluations", "elapsed_s": at_s}), "utf-8")
    (run_dir / "environment.json").write_text(json_text({"choices": dict(choices)}), "utf-8")
    (run_dir / "journal.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    _write_generations(run_dir, generations)


def _write_generations(run_dir: Path, generations: list[dict[str, Any]]) -> None:
    """Writes ``generations.jsonl``."""
    text = "".join(json_text(each, separators=(",", ":")) + "\n" for each in generations)
    (run_dir / "generations.jsonl").write_text(text, "utf-8")


def _outcome(search: Invented, best: float, rng: np.random.Generator) -> tuple[str, float | None]:
    """Draws status and speedup of one proposal."""
    if rng.random() > search.validity:
        return str(rng.choice(["build_failed", "wrong_value", "crashed"])), None
    step = rng.exponential(search.gain) if rng.random() < 0.15 else -rng.exponential(0.3)
    return "ok", float(best * np.exp(step / (1.0 + best)))


def _digest(seed: int, slot: int) -> str:
    """Returns a digest for a slot."""
    return hashlib.sha256(f"{seed}/{slot}".encode()).hexdigest()[:32]


def _answer(kind: str, key: str, at_s: float, value: Mapping[str, Any]) -> str:
    """Returns a line of a journal."""
    return json_text({"kind": kind, "key": key, "at_s": round(at_s, 3), "value": value}, separators=(",", ":"))


def _evaluation(status: str, speedup: float | None, seconds: float) -> dict[str, Any]:
    """Returns the record of an evaluation, as far as readers of sweeps look at it."""
    timed = speedup is not None
    return {
        "schema": "kernelwright.evaluation/1",
        "status": status,
        "measurements": [{"workload": "w", "samples_us": SAMPLES}] if timed else [],
        "latency_us": 10.0 / speedup if speedup else None,
        "speedup": speedup,
        "log": "" if timed else 'error: "seconds":{"build":99}',
        "seconds": {"build": 0.5 * seconds, "check": 0.2 * seconds, "time": 0.3 * seconds, "queue": 9.0},
        "static": {},
    }


def _slot(seed: int, slot: int, outcome: tuple[str, float | None], search: Invented) -> dict[str, Any]:
    """Returns the record of a slot; the seed kernel has a negative one."""
    status, speedup = outcome
    return {
        "slot": slot,
        "operator": "seed" if slot < 0 else search.operator,
        "parents": [] if slot < 0 else [_digest(seed, -1)],
        "kernel": _digest(seed, slot),
        "outcome": "parsed",
        "note": "",
        "status": status,
        "latency_us": 10.0 / speedup if speedup else None,
        "speedup": speedup,
        "max_rel_error": 0.0 if status == "ok" else None,
        "duplicate_of": None,
        "twin_of": None,
        "tokens": 0 if slot < 0 else search.tokens,
    }


def _generation(
    index: int, slots: list[dict[str, Any]], best: Mapping[str, Any], spent: tuple[int, int]
) -> dict[str, Any]:
    """Returns the record of a generation."""
    return {
        "schema": "kernelwright.generation/1",
        "generation": index,
        "slots": slots,
        "population": 1,
        "survivors": [best["slot"]],
        "best": dict(best),
        "inherited_speedup": 1.0,
        "evaluations": spent[0],
        "duels": 0,
        "tokens": spent[1],
        "funnel": {},
    }
