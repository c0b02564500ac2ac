"""An evaluation under way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from .evaluation import JUDGED, Evaluation, Status
from .kernel import Kernel
from .logs import plain
from .session import Failed


@dataclass
class Draft:
    """What is known of a kernel so far.

    Attributes:
        kernel: The kernel.
        flags: Observations.
        seconds: Wall time by stage.
        max_rel_error: Largest error of a judged call; None before the first.
        log: What the compiler said.
        artifact: Digest of what it built; empty before.
        observed: Sentences of a profiler.
        static: Returns metrics of it; of none before it was found right.
    """

    kernel: Kernel
    flags: set[str] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)
    max_rel_error: float | None = None
    log: str = ""
    artifact: str = ""
    static: Callable[[], Mapping[str, float]] = dict
    observed: tuple[str, ...] = ()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time of what is inside to that stage's."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start

    def move(self, source: str, target: str, seconds: float) -> None:
        """Counts some of one stage's time as another's: compilers that run when a kernel is first called build it."""
        if seconds:
            self.seconds[source] -= seconds
            self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    @contextmanager
    def queue(self, gate: AbstractContextManager[None]) -> Iterator[None]:
        """Passes a gate; the wait for it is a stage of its own."""
        with self.stage("queue"):
            gate.__enter__()
        try:
            yield
        finally:
            gate.__exit__(None, None, None)

    def learn(self, max_rel_error: float) -> None:
        """Notes the error of judged calls."""
        self.max_rel_error = max(self.max_rel_error or 0.0, max_rel_error)

    def failed(self, failure: Failed) -> Evaluation:
        """Returns the record of a kernel that failed."""
        error = failure.max_rel_error if failure.max_rel_error is not None else self.max_rel_error
        log = "\n".join(part for part in (plain(failure.log), self.log) if part)
        return self.evaluation(failure.status, error if failure.status in JUDGED else None, log=log)

    def evaluation(self, status: Status, max_rel_error: float | None, **fields: Any) -> Evaluation:
        """Returns the record; an error that is not finite is none, as JSON has no such number."""
        error = max_rel_error if max_rel_error is not None and math.isfinite(max_rel_error) else None
        given = {"log": self.log, "artifact": self.artifact, "static": dict(self.static()), **fields}
        flags, seconds = tuple(sorted(self.flags)), dict(self.seconds)
        return Evaluation(self.kernel.digest, status, flags=flags, seconds=seconds, max_rel_error=error, **given)
