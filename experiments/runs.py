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

from fitness import Calibration, Evaluation, Status

STAGES = ("proposed", "parsed", "built", "correct", "faster")
UNBUILT = frozenset({Status.REJECTED, Status.BUILD_FAILED, Status.BUILD_TIMEOUT})


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
        finished: Whether the run ended by itself.
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
    finished: bool = False
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
        return f"{self.task} in {self.language} on {self.target}, seed {self.config.get('seed', '?')}"

    @cached_property
    def best_so_far(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Evaluations charged and the largest speedup by then, one entry a timed candidate."""
        timed = [(each.charged, each.speedup) for each in self.evaluated if each.speedup is not None]
        charged = np.array([each[0] for each in timed], dtype=np.int64)
        return charged, np.maximum.accumulate(np.array([each[1] for each in timed], dtype=np.float64))

    def stages(self, candidate: Candidate) -> int:
        """Returns how many stages of `STAGES` a candidate passed."""
        evaluation = candidate.evaluation
        if candidate.digest is None:
            return 1
        if evaluation is None or evaluation.status in UNBUILT:
            return 2
        if not evaluation.ok:
            return 3
        return 5 if self.is_faster(candidate) else 4

    def is_faster(self, candidate: Candidate) -> bool:
        """Returns whether a candidate is faster than every one of its parents, as measured."""
        parents = [self.first[digest] for digest in candidate.parents if digest in self.first]
        known = [parent.speedup for parent in parents if parent.speedup is not None]
        return candidate.speedup is not None and not candidate.repeated and candidate.speedup > max(known, default=1.0)

    def funnel(self) -> Funnel:
        """Counts how far the candidates of each operator came; the seeds are left out."""
        proposals = [each for each in self.candidates if each.operator != "seed"]
        rows = [
            self._row(name, [each for each in proposals if each.operator == name], total=False)
            for name in sorted({each.operator for each in proposals})
        ]
        return Funnel((*rows, self._row("all", proposals, total=True)))

    def _row(self, name: str, proposals: Sequence[Candidate], *, total: bool) -> FunnelRow:
        """Counts one row."""
        passed = Counter(self.stages(each) for each in proposals)
        counts = tuple(sum(count for stage, count in passed.items() if stage > index) for index in range(len(STAGES)))
        repeats = sum(each.repeated for each in proposals)
        return FunnelRow(name, counts, repeats, sum(each.tokens for each in proposals), total)
