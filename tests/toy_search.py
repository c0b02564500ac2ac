"""A search without a compiler: bit strings as kernels, an evaluator that computes a latency from them.

The evaluator stands at the real seam (`evolve.recording.Judge`); journal, doors and engine are real.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from evolve import Budget, Engine, Journal, RecordedEvaluations
from fitness import Calibration, Duel, Evaluation, Kernel, Status
from operators import Brief, Operator, Proposal

BITS = 12


def kernel(bits: str) -> Kernel:
    return Kernel(bits, "toy")


def ones(bits: str) -> float:
    """OneMax as a latency: fewer zeros, less time."""
    return 1.0 + bits.count("0")


class ToyEvaluator:
    """Judges bit strings; ``fails`` says which are wrong. Counts what it is asked."""

    def __init__(
        self,
        latency_us: Callable[[str], float] = ones,
        fails: Callable[[str], bool] = lambda bits: False,
        spread: float = 0.0,
        jitter_s: float = 0.0,
        static: Callable[[str], Mapping[str, float]] = lambda bits: {},
    ) -> None:
        self.key = "toy"
        self.asked: list[str] = []
        self._latency_us = latency_us
        self._fails = fails
        self._spread = spread
        self._jitter_s = jitter_s
        self._static = static

    def calibrate(self, device: int = 0) -> Calibration:
        return Calibration({"w": 100.0}, noise_floor=0.01)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        self.asked.append(kernel.source)
        if self._jitter_s:
            time.sleep(self._jitter_s * (int(kernel.digest[:2], 16) / 256))
        if self._fails(kernel.source):
            return Evaluation(kernel.digest, Status.WRONG_VALUE, max_rel_error=float("nan"), log="wrong")
        latency = self._latency_us(kernel.source)
        speedup = 100.0 / latency
        interval = (speedup * (1 - self._spread), speedup * (1 + self._spread))
        return Evaluation(
            kernel.digest,
            Status.OK,
            latency_us=latency,
            reference_latency_us=100.0,
            speedup=speedup,
            interval=interval,
            max_rel_error=kernel.source.count("1") / 100,
            static=self._static(kernel.source),
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        self.asked.append(f"{challenger.source} against {elite.source}")
        gain = self._latency_us(elite.source) / self._latency_us(challenger.source)
        return Duel(challenger.digest, elite.digest, gain, (gain * 0.99, gain * 1.01), calibration.noise_floor)

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        return self.evaluate(kernel, calibration)


class Inline:
    """An executor in the caller's thread."""

    workers = 1

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(job(*args, device=0))
        except Exception as error:
            future.set_exception(error)
        return future

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *exc: object) -> None: ...


class Pooled:
    """An executor with several threads."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._pool.submit(job, *args, device=0)

    def __enter__(self) -> Pooled:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(wait=True)


class ToyOperator:
    """An operator over bit strings."""

    def __init__(
        self,
        change: Callable[[list[str], np.random.Generator], str | None],
        arity: int = 1,
        memory: Sequence[str] = (),
        takes_failures: bool = False,
        name: str = "toy",
    ) -> None:
        self.name = name
        self.arity = arity
        self.memory = frozenset(memory)
        self.takes_failures = takes_failures
        self.briefs: list[Brief] = []
        self._change = change

    def propose(self, parents: Sequence[Any], brief: Brief, rng: np.random.Generator) -> Proposal:
        self.briefs.append(brief)
        bits = self._change([parent.kernel.source for parent in parents], rng)
        digests = tuple(parent.kernel.digest for parent in parents)
        if bits is None:
            return Proposal(None, self.name, digests, outcome="no_code", note="nothing came")
        return Proposal(kernel(bits), self.name, digests, tokens=len(bits))


def flip(parents: list[str], rng: np.random.Generator) -> str:
    """Flips every bit with probability 1 / length, and at least one."""
    bits = np.array([bit == "1" for bit in parents[0]])
    mask = rng.random(bits.size) < 1 / bits.size
    mask[rng.integers(bits.size)] |= not mask.any()
    return "".join("01"[int(bit)] for bit in bits ^ mask)


def cross(parents: list[str], rng: np.random.Generator) -> str:
    cut = int(rng.integers(1, len(parents[0])))
    return parents[0][:cut] + parents[1][cut:]


def draft(parents: list[str], rng: np.random.Generator) -> str:
    return "".join("01"[int(bit)] for bit in rng.integers(2, size=BITS))


def operators(**more: Operator) -> dict[str, Operator]:
    """Mutation, crossover and draft, and whatever else is given."""
    return {
        "mutate": ToyOperator(flip, name="mutate"),
        "mate": ToyOperator(cross, arity=2, name="mate"),
        "draft": ToyOperator(draft, arity=0, name="draft"),
        **more,
    }


def brief(client: Any = None) -> Brief:
    """A brief of which only names are read."""
    named: Any = SimpleNamespace(name="toy", suffix=".toy")
    return Brief(task=named, target=named, language=named, client=client)


def engine(policy: Any, folder: Path, *, evaluator: Any = None, executor: Any = None, **settings: Any) -> Engine:
    """An engine over a journal in ``folder``; ``strict`` and ``configuration`` go to the journal."""
    journal = Journal(
        folder / "journal.jsonl",
        strict=settings.pop("strict", False),
        configuration=settings.pop("configuration", None),
    )
    doors = RecordedEvaluations(evaluator or ToyEvaluator(), executor or Inline(), journal)
    defaults: dict[str, Any] = {
        "seed_kernels": [kernel("0" * BITS)],
        "operators": operators(),
        "brief": brief(),
        "seed": 7,
        "directory": folder,
        "budget": Budget(),
    }
    return Engine(policy=policy, evaluations=doors, journal=journal, **{**defaults, **settings})


def digest(folder: Path) -> str:
    """Of the derived record of a run."""
    return hashlib.sha256((folder / "generations.jsonl").read_bytes()).hexdigest()
