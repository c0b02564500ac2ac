"""Where shared objects are checked and timed on this machine's processor: sessions in a sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .bench import Bench
from .cache import Cache
from .cell import Limits
from .check import Findings, check
from .contest import Contest, Rival
from .gate import Gate
from .host_code import host_metrics
from .material import Material
from .native import driver
from .sandbox import Sandbox
from .series import Series
from .session import Artifact, Failed, Session
from .settings import Settings
from .target import Target
from .task import Task
from .timing import Stopwatch, arena_bytes

_FLUSHES_TO_ZERO = 0x8040  # of the x86 control word: FTZ and DAZ
_GATE = Gate()
"""One for all evaluators of this program: builds and checks pass together, a measurement alone."""


class HostBench(Bench):
    """The processor. Nothing is timed while anything is built or checked: they share it."""

    runs_python = False

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, settings: Settings) -> None:
        """Starts nothing."""
        super().__init__(sandbox, task, target, settings, _GATE)

    @property
    def threads(self) -> int:
        """Threads that a kernel may use."""
        return int(getattr(self.target, "threads", 1))

    def session(self, artifact: Artifact, arena_size: int, device: int) -> Session:
        """Starts a process for one artifact, not loaded yet."""
        limits = Limits(
            wall_s=self.settings.run_timeout_s,
            cpu_s=int(self.settings.run_timeout_s * self.threads) + 1,
            memory_bytes=self.settings.memory_bytes + arena_size,
        )
        return Session(self.sandbox, artifact, arena_size, limits=limits, environment=self.target.environment(device))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Passes when nothing else is built, checked or timed by this program, or timed by another of this user's."""
        with self.gate.alone(), Cache().machine_lock("timing"):
            yield

    def check(self, artifact: Artifact, material: Material, device: int) -> Findings:
        """Judges an artifact on all cases, in a process of its own.

        Raises:
            Failed: It is not right.
            FitnessError: The machine failed.
        """
        layout = material.layout
        with self.session(artifact, layout.bytes, device) as session:
            session.load()
            findings = check(session, layout)
        if self.target.measures_time:
            static = host_metrics(artifact.path, self.sandbox)
            findings.static = lambda: static
        return findings

    def contest(
        self, first: Artifact, second: Artifact, material: Material, device: int, rng: np.random.Generator
    ) -> Contest:
        """Times two artifacts against each other, each in a process of its own; the caller is `alone`.

        Raises:
            Failed: The first did something that ends it.
            Rival: The second did.
            FitnessError: The machine failed.
        """
        room = arena_bytes(self.task, self.task.time_workloads)
        with self.session(first, room, device) as one, self.session(second, room, device) as other:
            watch = Stopwatch(self.sandbox, self.task, (one, other), self.settings, self.threads)
            try:
                series = self._take(watch, material, rng)
            except Failed as failure:
                if watch.failed_side == 1:
                    raise Rival(failure) from failure
                raise
            flushes = bool(one.side.float_state & _FLUSHES_TO_ZERO)
            return Contest(tuple(series), 0.0, flushes, judge=watch.judge)

    def peaks(self) -> tuple[float, float]:
        """Returns the most bytes and floating-point operations a second that one thread reaches here."""
        native = driver(self.sandbox.compiler)
        sizes = (1 << 14, 1 << 15, 1 << 18)
        bytes_per_s = max(native.kw_peak_bytes(size, 0.004) for size in sizes for _ in range(2))
        return bytes_per_s * self.threads, max(native.kw_peak_flops(0.004) for _ in range(5)) * self.threads

    def _take(self, watch: Stopwatch, material: Material, rng: np.random.Generator) -> list[Series]:
        watch.load()
        share_s = self.settings.time_limit_s / len(material.pools)
        return [watch.measure(pool, share_s, rng) for pool in material.pools]
