"""From a kernel to its verdict: screen, build, check, time. The only place that knows the order."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import policy
from .build import Builder, Built
from .cache import Cache, digest_of
from .check import check
from .compiler import find_compiler
from .errors import MachineError, SandboxError, TaskError
from .evaluation import JUDGED, Calibration, Duel, Evaluation, Measurement, Status
from .gate import Gate
from .kernel import Kernel
from .language import Language
from .material import Material, secret_generator
from .native import driver
from .plausibility import check_idleness, check_roofline
from .sandbox import Limits, Sandbox, find_sandbox
from .session import Artifact, Failed, Session
from .statistics import geometric_mean, ratio_interval
from .target import Target
from .task import Task
from .timing import Precision, Regime, Series, Stopwatch, arena_bytes

_GATE = Gate()
_LEAST_FLOOR = 0.005


@dataclass(frozen=True)
class Settings:
    """Everything that decides how an evaluation is made; see `Evaluator`."""

    build_timeout_s: float = 20.0
    run_timeout_s: float = 10.0
    memory_bytes: int = 1 << 30
    source_bytes: int = 1 << 18
    forbid: tuple[str, ...] = ()
    cache_regime: Regime = "hot"
    sandbox: str | None = None
    null_every: int = 50
    precision: Precision = field(default_factory=Precision)


@dataclass
class _Draft:
    """An evaluation under way."""

    kernel: Kernel
    flags: set[str] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)
    static: dict[str, float] = field(default_factory=dict)
    max_rel_error: float = 0.0
    log: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start

    def failed(self, failure: Failed) -> Evaluation:
        error = failure.max_rel_error if failure.status in JUDGED else None
        if error is None and failure.status is Status.SUSPECT:
            error = self.max_rel_error
        return self.evaluation(failure.status, max_rel_error=error, log=failure.log)

    def evaluation(self, status: Status, **fields: Any) -> Evaluation:
        return Evaluation(
            kernel=self.kernel.digest,
            status=status,
            flags=tuple(sorted(self.flags)),
            seconds=dict(self.seconds),
            static=dict(self.static),
            **{"log": self.log, **fields},
        )


class Evaluator:
    """Judges kernels of one task, target and language.

    Args:
        task: What is to be computed.
        target: Where.
        language: In what.
        build_timeout_s: Wall clock of the compiler.
        run_timeout_s: Wall clock of each process of a candidate.
        memory_bytes: Memory of a candidate's process, beside its buffers.
        source_bytes: Longest source.
        forbid: Flags that make a kernel ``rejected``; `fitness.policy.FLAGS` has them all.
        cache_regime: ``"hot"``: inputs were written just before, on the same core, for both sides alike.
            ``"cold"``: all caches are flushed before every round trip.
        sandbox: ``"bubblewrap"`` or ``"limits"``; None for the strongest that works.
        null_every: Evaluations between two null tests; 0 for the one of the calibration only.
        min_pairs: Pairs of samples that are always taken.
        max_pairs: Pairs at most.
        target_precision: Half-width of the interval that is good enough, as a fraction.
        time_limit_s: No new pair after this time in one evaluation.
        sample_s: Shortest sample.

    Raises:
        ValueError: A setting is out of range, or a forbidden flag is unknown.
        ToolchainError: There is no compiler.
        SandboxError: Nothing can be confined here.
    """

    def __init__(
        self,
        task: Task,
        target: Target,
        language: Language,
        *,
        min_pairs: int = 10,
        max_pairs: int = 60,
        target_precision: float = 0.01,
        time_limit_s: float = 0.4,
        sample_s: float = 1e-3,
        **settings: Any,
    ) -> None:
        precision = Precision(min_pairs, max_pairs, target_precision, time_limit_s, sample_s)
        self.task, self.target, self.language = task, target, language
        self.settings = Settings(precision=precision, **settings)
        self._start()

    def _start(self) -> None:
        compiler = find_compiler(getattr(self.language, "compiler", None))
        self.sandbox: Sandbox = find_sandbox(compiler, self.settings.sandbox)
        self._builder = Builder(self.language, self.target, self.sandbox, self.settings.build_timeout_s)
        self._rng = secret_generator()
        self._lock = threading.Lock()
        self._drawn: Material | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"task": self.task, "target": self.target, "language": self.language, "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    @property
    def key(self) -> str:
        """Digest of task, target, language and settings, for the journal."""
        workloads = [repr(each) for each in (*self.task.check_workloads, *self.task.time_workloads)]
        target = (self.target.name, self.target.arch, repr(self.target.environment(0)))
        seed = self.task.seed_kernel(self.language.name).digest
        return digest_of(self.task.name, *workloads, *target, self.language.name, seed, repr(self.settings))

    # ---- what is asked for --------------------------------------------------------------------------------

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Takes a kernel through all stages.

        Raises:
            FitnessError: The machine or the task failed, not the kernel.
        """
        return self._evaluate(kernel, calibration, device, self._material())

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Evaluates again from nothing: new processes, sizes and data that no kernel has seen, new samples.

        Raises:
            FitnessError: The machine or the task failed, not the kernel.
        """
        return self._evaluate(kernel, calibration, device, Material.draw(self.task, secret_generator()))

    def _evaluate(self, kernel: Kernel, calibration: Calibration, device: int, material: Material) -> Evaluation:
        draft = _Draft(kernel)
        try:
            artifact = self._prepare(draft, device, material)
            return self._timed(draft, artifact, calibration, device, material)
        except Failed as failure:
            return draft.failed(failure)

    def calibrate(self, device: int = 0) -> Calibration:
        """Measures the scale and the noise of a run: the seed kernel against itself, and the machine's peaks.

        Raises:
            TaskError: The task's seed kernel is wrong.
            MachineError: The machine is too busy to time anything.
        """
        draft = _Draft(self.task.seed_kernel(self.language.name))
        try:
            artifact = self._prepare(draft, device, self._material(), eager=True)
        except Failed as failure:
            raise TaskError(
                f"the seed kernel of task {self.task.name!r} is {failure.status}: {failure.log}"
            ) from failure
        series, _ = self._measure(artifact, artifact, device, self._material())
        native = driver(self.sandbox.compiler)
        return Calibration(
            reference_latency_us={each.workload: float(np.median(each.wall_s[1])) * 1e6 for each in series},
            noise_floor=self._floor(series),
            bytes_per_s=max(native.kw_peak_bytes(1 << 14, 0.005), native.kw_peak_bytes(1 << 18, 0.005)),
            flops_per_s=native.kw_peak_flops(0.01),
            facts=getattr(self.target, "momentary", dict)(),
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Times two kernels against each other.

        Raises:
            FitnessError: The machine failed.
            ValueError: One of the two is not a correct kernel.
        """
        artifacts = [self._prepare(_Draft(each), device, self._material()) for each in (challenger, elite)]
        series, _ = self._measure(artifacts[0], artifacts[1], device, self._material())
        speedup, interval = ratio_interval([each.ratios for each in series], self._rng)
        return Duel(
            challenger=challenger.digest,
            elite=elite.digest,
            speedup=speedup,
            interval=interval,
            noise_floor=calibration.noise_floor,
            measurements=tuple(each.measurement(self._rng, None) for each in series),
        )

    # ---- stages -------------------------------------------------------------------------------------------

    def _prepare(self, draft: _Draft, device: int, material: Material, *, eager: bool = False) -> Artifact:
        policy.screen(draft.kernel, self.settings.source_bytes)
        with draft.stage("queue"), _GATE.shared():
            pass
        with _GATE.shared():
            with draft.stage("build"):
                built = self._builder.build(draft.kernel, eager=eager)
            draft.log = built.log
            draft.flags |= policy.inspect(draft.kernel, built.path, self.settings.forbid)
            arguments = len(self.task.inputs) + len(self.task.outputs) + len(self.task.axes)
            artifact = Artifact(built.path, draft.kernel.entry_point, arguments)
            with draft.stage("check"):
                self._check(draft, artifact, device, material)
        return artifact

    def _check(self, draft: _Draft, artifact: Artifact, device: int, material: Material) -> None:
        with self._session(artifact, material.layout.bytes, device) as session:
            session.load()
            findings = check(session, self.sandbox, self.task, material.cases, material.layout)
        draft.max_rel_error = findings.max_rel_error

    def _timed(
        self, draft: _Draft, artifact: Artifact, calibration: Calibration, device: int, material: Material
    ) -> Evaluation:
        seed = self._builder.build(self.task.seed_kernel(self.language.name), eager=True)
        baseline = Artifact(seed.path, self.task.seed_kernel(self.language.name).entry_point, artifact.arguments)
        with draft.stage("time"):
            series, watch = self._measure(artifact, baseline, device, material)
        draft.max_rel_error = max(draft.max_rel_error, watch.max_rel_error)
        reference = calibration.reference_latency_us
        measurements = tuple(each.measurement(self._rng, reference.get(each.workload)) for each in series)
        check_roofline(self.task, measurements, calibration, int(getattr(self.target, "threads", 1)))
        speedup, interval = ratio_interval([each.ratios for each in series], self._rng)
        reference_us = geometric_mean([each.reference_latency_us for each in measurements])
        return draft.evaluation(
            Status.OK,
            measurements=measurements,
            latency_us=reference_us / speedup,
            reference_latency_us=reference_us,
            speedup=speedup,
            interval=interval,
            max_rel_error=draft.max_rel_error,
        )

    def _measure(
        self, first: Artifact, second: Artifact, device: int, material: Material
    ) -> tuple[list[Series], Stopwatch]:
        precision = self.settings.precision
        room = arena_bytes(self.task, self.task.time_workloads)
        with _GATE.alone(), Cache().lock("timing"):
            with self._session(first, room, device) as one, self._session(second, room, device) as other:
                watch = Stopwatch(
                    self.sandbox, self.task, (one, other), precision, self._threads, self.settings.cache_regime
                )
                for watch.failed_side, session in enumerate((one, other)):
                    session.load()
                watch.pin()
                start = time.monotonic()
                series = []
                for index, pool in enumerate(material.pools):
                    deadline = start + precision.time_limit_s * (index + 1) / len(material.pools)
                    series.append(watch.measure(pool, deadline, self._rng))
                check_idleness(one, watch.busy_s, watch.trips)
        return series, watch

    def _floor(self, series: Sequence[Series]) -> float:
        middle, (low, high) = ratio_interval([each.ratios for each in series], self._rng)
        return max(_LEAST_FLOOR, high - 1.0, 1.0 - low)

    @property
    def _threads(self) -> int:
        return int(getattr(self.target, "threads", 1))

    def _session(self, artifact: Artifact, arena_size: int, device: int) -> Session:
        limits = Limits(
            wall_s=self.settings.run_timeout_s,
            cpu_s=int(self.settings.run_timeout_s * self._threads) + 1,
            memory_bytes=self.settings.memory_bytes + arena_size,
        )
        return Session(self.sandbox, artifact, arena_size, limits, self.target.environment(device))

    def _material(self) -> Material:
        with self._lock:
            if self._drawn is None:
                self._drawn = Material.draw(self.task, secret_generator())
            return self._drawn
