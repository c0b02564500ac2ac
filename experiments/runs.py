"""Run directories as objects: what was proposed, what became of it, and in which order.

Everything here is read from the records; nothing is measured or decided again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitness import Calibration, Evaluation

STAGES = ("proposed", "parsed", "built", "correct", "faster")
"""What is shown of `evolve.funnel`'s stages as a funnel; duplicates have a column of their own."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One slot of a run: a proposal and what became of it.

    Attributes:
        slot: In the order of commitment; seeds are negative.
        generation: 0 for the seeds.
        operator: Name of the operator; ``"seed"`` for the seeds.
        parents: Digests of the kernels that it was made from.
        digest: Of the kernel; None when the proposal held none.
        outcome: ``"parsed"``, or why there is no kernel.
        note: One line of the operator.
        tokens: Model tokens spent.
        evaluation: None when there was nothing to evaluate.
        charged: Evaluations charged to the budget so far, this one included.
        repeated: Whether the same kernel had been evaluated before, so that nothing was charged.
        requests: Digests of the model requests behind it.
        arm: Which member of an ensemble of models answered them.
        origin: Of a seed: ``"task"``, or what it was inherited from.
    """

    slot: int
    generation: int
    operator: str
    parents: tuple[str, ...]
    digest: str | None
    outcome: str
    note: str
    tokens: int
    evaluation: Evaluation | None
    charged: int
    repeated: bool
    requests: tuple[str, ...] = ()
    arm: str = ""
    origin: str = ""

    @property
    def speedup(self) -> float | None:
        """Speedup over the seed kernel; None when it was not timed."""
        return self.evaluation.speedup if self.evaluation is not None else None


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """How far the candidates of one operator came.

    Attributes:
        operator: Its name, or ``"all"``.
        counts: One a stage of `STAGES`.
        repeats: Proposals of a kernel that was known already.
        tokens: Model tokens spent.
        total: Whether this is the sum of all others.
    """

    operator: str
    counts: tuple[int, ...]
    repeats: int
    tokens: int
    total: bool = False

    @property
    def cells(self) -> list[tuple[int, float]]:
        """Counts with their share of what was proposed."""
        return [(count, count / self.counts[0] if self.counts[0] else 0.0) for count in self.counts]


@dataclass(frozen=True, slots=True)
class Funnel:
    """The rows of all operators, and their sum."""

    rows: tuple[FunnelRow, ...]
    stages: tuple[str, ...] = STAGES


@dataclass(frozen=True)
class Run:
    """One stored run.

    Attributes:
        path: Its directory.
        config: The resolved configuration.
        config_text: The same as it is stored.
        environment: What ``environment.json`` holds.
        candidates: In slot order, seeds first.
        sources: Source text by digest.
        best_digest: The best kernel that the engine certified; None before the first record.
        generations: How many generations are complete, the seeds' not counted.
        elapsed_s: Wall time over all attempts.
        verification: The best kernel once more, in a fresh process; None when the run did not
            come so far.
        calibration: The baseline and the machine when the run began.
        ended: Why the run ended; empty while it has not.
        choices: Which member of each configuration group was chosen.
        evaluations: Charged to the budget, duels included.
        duels: Of them, how many were duels.
        counts: How many proposals of each operator came to each stage, as recorded.
    """

    path: Path
    config: Mapping[str, Any]
    config_text: str
    environment: Mapping[str, Any]
    candidates: Sequence[Candidate]
    sources: Mapping[str, str]
    best_digest: str | None
    generations: int
    elapsed_s: float
    verification: Evaluation | None = None
    calibration: Calibration | None = None
    ended: str = ""
    evaluations: int = 0
    duels: int = 0
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def first(self) -> Mapping[str, Candidate]:
        """The candidate that first held each kernel, by digest."""
        found: dict[str, Candidate] = {}
        for each in self.candidates:
            if each.digest is not None:
                found.setdefault(each.digest, each)
        return found

    @cached_property
    def evaluated(self) -> Sequence[Candidate]:
        """Candidates that were evaluated, each kernel once, seeds included."""
        return [each for each in self.candidates if each.evaluation is not None and not each.repeated]

    @property
    def best(self) -> Candidate | None:
        """The best individual."""
        return self.first.get(self.best_digest or "")

    @property
    def best_file(self) -> str:
        """Where the source of the best kernel is, relative to the run directory."""
        return next((str(each.relative_to(self.path)) for each in self.path.glob("kernels/best.*")), "kernels/best.*")

    @property
    def task(self) -> str:
        """Name of the task."""
        return self.choices.get("task", "?")

    @property
    def language(self) -> str:
        """Name of the language."""
        return self.choices.get("language", "?")

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.choices.get("target", "?")

    @property
    def title(self) -> str:
        """The run in a few words."""
        return f"{self.subject}, seed {self.config.get('seed', '?')}"

    @property
    def subject(self) -> str:
        """What is searched for."""
        return subject(self.choices, self.config)

    @cached_property
    def best_so_far(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Evaluations charged and the largest speedup by then, one entry a timed candidate."""
        timed = [(each.charged, each.speedup) for each in self.evaluated if each.speedup is not None]
        charged = np.array([each[0] for each in timed], dtype=np.int64)
        return charged, np.maximum.accumulate(np.array([each[1] for each in timed], dtype=np.float64))

    @property
    def funnel(self) -> Funnel:
        """How far the candidates of each operator came; the seeds are left out."""
        names = [name for name in self.counts if name != "seed"]
        rows = [self._row(name, self.counts[name]) for name in names]
        total = Counter[str]()
        for name in names:
            total.update(self.counts[name])
        spent = sum(row.tokens for row in rows)
        return Funnel((*rows, FunnelRow("all", *_split(total), spent, total=True)))

    def _row(self, name: str, counts: Mapping[str, int]) -> FunnelRow:
        """Returns the row of one operator."""
        return FunnelRow(name, *_split(counts), sum(each.tokens for each in self.candidates if each.operator == name))


def subject(choices: Mapping[str, str], config: Mapping[str, Any]) -> str:
    """Returns what is searched for, in words; of a benchmark, which problem.

    Args:
        choices: Which member of each configuration group was chosen.
        config: The resolved configuration.
    """
    task, language, target = (choices.get(group, "?") for group in ("task", "language", "target"))
    if config.get("problem") is not None:
        task = f"{task} {config.get('level')}/{config['problem']}"
    spoken = {
        "cpp": "C++",
        "cuda": "CUDA C++",
        "hip": "HIP C++",
        "triton": "Triton",
        "cute": "CuTe",
        "numba": "Numba",
        "opencl": "OpenCL",
    }
    return f"{task} in {spoken.get(language, language)} on {'the CPU' if target == 'cpu' else target}"


def _split(counts: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Returns the counts of `STAGES`, and of duplicates, which go no further than parsing."""
    return tuple(counts.get(stage, 0) for stage in STAGES), counts.get("duplicate", 0)
