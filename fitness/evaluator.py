"""From a kernel to its verdict: screen, build, check, time. The only place that knows the order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from . import policy
from .baselines import Challenger, check_baselines
from .bench import Bench
from .build import Builder
from .cache import digest_of
from .compiler import find_compiler
from .contest import Contest, Rival
from .draft import Draft
from .errors import MachineError, SandboxError, TaskError
from .evaluation import Calibration, Duel, Evaluation, Status
from .kernel import Kernel
from .language import Language
from .material import Material, secret_generator
from .object_code import code_digest
from .plausibility import check_roofline
from .profile import paragraph
from .sandbox import Sandbox, find_sandbox
from .sanitize import sanitize
from .series import Series
from .session import Artifact, Failed
from .settings import Settings
from .statistics import geometric_mean, ratio_interval
from .target import Target
from .task import Task

_LOG = logging.getLogger("kernelwright.fitness")
_NULL_TESTS = 3
_LEAST_FLOOR = 0.005
_TOO_BUSY = 1.0
_MUCH_LESS_ACCURATE = 32.0
Result = TypeVar("Result")


class Evaluator:
    """Judges kernels of one task, target and language.

    Args:
        task: What is to be computed.
        target: Where.
        language: In what.
        **settings: The fields of `fitness.settings.Settings`.

    Making one needs no compiler; using it does: every method raises `ToolchainError` where there is
    none, and `SandboxError` where nothing can be confined.

    Attributes:
        settings: All settings.

    Raises:
        ValueError: A setting is out of range, a forbidden flag or a baseline is unknown, or baselines or a
            profiler are asked for on a target without them.
    """

    def __init__(self, task: Task, target: Target, language: Language, **settings: Any) -> None:
        self.task, self.target, self.language = task, target, language
        forbid, baselines = (tuple(settings.pop(name, ())) for name in ("forbid", "baselines"))
        self.settings = Settings(forbid=forbid, baselines=baselines, **settings)
        check_baselines(self.settings.baselines, target)
        if self.settings.profiler and not getattr(target, "is_device", False):
            raise ValueError(f"evaluator.profiler must be false for target={target.name}: it looks at GPUs only")
        self._start()

    def _start(self) -> None:
        self._rng = secret_generator()
        self._lock = threading.Lock()
        self._making = threading.RLock()
        self._made_bench: Bench | None = None
        self._made_builder: Builder | None = None
        self._material_drawn: Material | None = None
        self._seed_drawn: tuple[Artifact, float] | None = None
        self._floor = 0.0
        self._evaluations = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"task": self.task, "target": self.target, "language": self.language, "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    # What needs a compiler is made when it is first needed: a replay only wants the key.

    @cached_property
    def sandbox(self) -> Sandbox:
        """How candidates are confined here, and what is missing."""
        sandbox = find_sandbox(find_compiler(getattr(self.language, "compiler", None)), self.settings.sandbox)
        if sandbox.missing:
            _LOG.warning("candidates are confined weakly here, without %s", ", ".join(sandbox.missing))
        return sandbox

    @property
    def _bench(self) -> Bench:
        with self._making:
            if self._made_bench is None:
                bench = getattr(self.target, "bench", Bench)
                self._made_bench = bench(self.sandbox, self.task, self.target, self.settings)
            return self._made_bench

    @property
    def _builder(self) -> Builder:
        with self._making:
            if self._made_builder is None:
                limit_s = self.settings.build_timeout_s
                self._made_builder = Builder(self.language, self.target, self.sandbox, limit_s)
            return self._made_builder

    @property
    def baselines(self) -> tuple[str, ...]:
        """What `compare` times a kernel against."""
        return self.settings.baselines

    @property
    def key(self) -> str:
        """Digest of task, target, language and settings, for the journal."""
        workloads = [repr(each) for each in (*self.task.check_workloads, *self.task.time_workloads)]
        seed = self.task.seed_kernel(self.language.name).digest
        # The target by its configuration: what a probe finds must not be needed to replay elsewhere.
        settings = (repr(self.settings), *self.settings.baselines, *(["profiler"] if self.settings.profiler else []))
        return digest_of(self.task.name, *workloads, repr(self.target), self.language.name, seed, *settings)

    def describe(self) -> Mapping[str, str]:
        """Returns how evaluations are made here, for people."""
        return {
            "sandbox": self.sandbox.mechanism,
            "missing": ", ".join(self.sandbox.missing),
            "compiler": self.language.fingerprint(self.target),
            "cache_regime": self.settings.cache_regime,
        }

    # ---- what is asked for --------------------------------------------------------------------------------

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Takes a kernel through all stages.

        Raises:
            FitnessError: The machine or the task failed, twice; not the kernel.
        """
        self._repeat_null_test(device)
        return _twice(lambda: self._evaluate(kernel, calibration, device, self._material()))

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Evaluates again from nothing: new processes, sizes and data that no kernel has seen, new samples.

        Then times the kernel against the baselines that the settings name.

        Raises:
            FitnessError: The machine or the task failed, twice; not the kernel.
        """
        material = Material.draw(self.task, secret_generator())
        evaluation = _twice(lambda: self._evaluate(kernel, calibration, device, material))
        return _twice(lambda: self._with_baselines(kernel, evaluation, device, material))

    def compare(self, kernel: Kernel, evaluation: Evaluation, device: int = 0) -> Evaluation:
        """Adds to the evaluation of a kernel how it compares with the baselines that the settings name.

        Raises:
            FitnessError: The machine failed, twice.
        """
        return _twice(lambda: self._with_baselines(kernel, evaluation, device, self._material()))

    def calibrate(self, device: int = 0) -> Calibration:
        """Measures the scale and the noise of a run: the seed kernel against itself, and the machine's peaks.

        Raises:
            TaskError: The task's seed kernel is wrong.
            MachineError: The machine is too busy to time anything.
        """
        return _twice(lambda: self._calibrate(device))

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Times two kernels that were found correct before against each other; what they compute is judged again.

        Raises:
            FitnessError: The machine failed, twice.
        """
        return _twice(lambda: self._duel(challenger, elite, calibration, device))

    def sanitize(self, kernel: Kernel) -> Mapping[str, str]:
        """Runs a C++ kernel on the check cases under sanitizers; for the few that are worth it.

        Returns:
            By sanitizer: ``"clean"``, what it found, or why it says nothing.

        Raises:
            SandboxError: The sandbox does not come up.
        """
        with self._bench.gate.shared():
            return sanitize(kernel, self.task, self._material().cases, self.sandbox)

    def close(self) -> None:
        """Ends workers that wait for candidates, where the target has such."""
        close = getattr(self._bench, "close", None)
        if close is not None:
            close()

    # ---- stages -------------------------------------------------------------------------------------------

    def _evaluate(self, kernel: Kernel, calibration: Calibration, device: int, material: Material) -> Evaluation:
        draft = Draft(kernel, {"weak_isolation"} if self.sandbox.missing else set())
        try:
            artifact = self._checked(draft, device, material)
            if not self.target.measures_time:
                draft.flags.add("not_timed")
                return draft.evaluation(Status.OK, max_rel_error=draft.max_rel_error)
            contest = self._timed(draft, artifact, device, material)
            return self._judge_time(draft, contest, calibration)
        except Failed as failure:
            return draft.failed(failure)

    def _checked(self, draft: Draft, device: int, material: Material, *, eager: bool = False) -> Artifact:
        policy.screen(draft.kernel, self.settings.source_bytes)
        with draft.queue(self._bench.gate.shared()):
            with draft.stage("build"):
                built = self._builder.build(draft.kernel, eager=eager)
            draft.log = built.log
            if built.kind == "shared_object":
                draft.artifact = code_digest(built.path)
                draft.flags |= policy.inspect(draft.kernel, built.path, self.settings.forbid)
            artifact = self._artifact(draft.kernel)
            with draft.stage("check"):
                findings = self._bench.check(artifact, material, device)
            draft.learn(findings.max_rel_error)
            draft.flags |= findings.flags
            draft.static, draft.observed = findings.static, findings.observed
            draft.move("check", "build", findings.compile_s)
            policy.refuse(draft.flags, self.settings.forbid)
        return artifact

    def _timed(self, draft: Draft, artifact: Artifact, device: int, material: Material) -> Contest:
        baseline, seed_error = self._seed(device)
        with draft.queue(self._bench.alone()), draft.stage("time"):
            try:
                contest = self._bench.contest(artifact, baseline, material, device, self._rng)
            except Rival as rival:
                raise MachineError(f"the baseline, a correct kernel, failed: {rival}") from rival
        draft.learn(contest.max_rel_error)
        with draft.stage("judge"):
            try:
                draft.learn(contest.judge())
            except Rival as rival:
                raise MachineError(f"the baseline, a correct kernel, failed: {rival}") from rival
        draft.flags |= contest.flags
        least = max(seed_error, float(np.finfo(np.float32).eps))
        if (draft.max_rel_error or 0.0) > _MUCH_LESS_ACCURATE * least:
            draft.flags.add("reduced_precision")
        if contest.flushes_to_zero:
            draft.flags.add("float_state")
        if any(np.median(each.cpu_s[0] / each.wall_s[0]) > 1.25 for each in contest.series):
            draft.flags.add("threads")
        policy.refuse(draft.flags, self.settings.forbid)
        return contest

    def _judge_time(self, draft: Draft, contest: Contest, calibration: Calibration) -> Evaluation:
        reference = calibration.reference_latency_us
        measurements = tuple(each.measurement(self._rng, reference.get(each.workload)) for each in contest.series)
        check_roofline(self.task, measurements, calibration)
        speedup, interval = ratio_interval([each.ratios for each in contest.series], self._rng)
        reference_us = geometric_mean([each.reference_latency_us for each in measurements])
        return draft.evaluation(
            Status.OK,
            measurements=measurements,
            latency_us=reference_us / speedup,
            reference_latency_us=reference_us,
            speedup=speedup,
            interval=interval,
            max_rel_error=draft.max_rel_error,
            profile=paragraph(self.task, measurements, calibration, draft.static, (*draft.observed, *contest.observed)),
        )

    def _with_baselines(self, kernel: Kernel, evaluation: Evaluation, device: int, material: Material) -> Evaluation:
        """A kernel that fails while it is compared fails: its outputs were judged."""
        if not (evaluation.measurements and self.settings.baselines):
            return evaluation
        try:
            challenger = Challenger(self._bench, self._artifact(kernel), material, device, self._rng)
            found = challenger.against(self.settings.baselines)
        except Failed as failure:
            return Draft(kernel, set(evaluation.flags), dict(evaluation.seconds)).failed(failure)
        return replace(evaluation, baselines=found)

    def _duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int) -> Duel:
        floor = max(calibration.noise_floor, self._floor)
        try:
            with self._bench.gate.shared():
                first, second = self._artifact(challenger), self._artifact(elite)
            with self._bench.alone():
                contest = self._bench.contest(first, second, self._material(), device, self._rng)
            contest.judge()
        except Failed:
            return Duel(challenger.digest, elite.digest, 1.0, (1.0, 1.0), floor, failed=challenger.digest)
        except Rival:
            return Duel(challenger.digest, elite.digest, 1.0, (1.0, 1.0), floor, failed=elite.digest)
        speedup, interval = ratio_interval([each.ratios for each in contest.series], self._rng)
        measurements = tuple(each.measurement(self._rng, None) for each in contest.series)
        return Duel(challenger.digest, elite.digest, speedup, interval, floor, measurements)

    # ---- the machine --------------------------------------------------------------------------------------

    def _calibrate(self, device: int) -> Calibration:
        examine = getattr(self.task, "examine", None)  # of a problem that comes from elsewhere: is it fit for search?
        if examine is not None:
            examine(secret_generator())
        self._seed(device)
        if not self.target.measures_time:
            return Calibration({}, 0.0, facts=self._facts())
        series, self._floor = self._null_test(device, _NULL_TESTS)
        with self._bench.alone():
            bytes_per_s, flops_per_s = self._bench.peaks()
        return Calibration(
            reference_latency_us=_latencies_us(series),
            noise_floor=self._floor,
            bytes_per_s=bytes_per_s,
            flops_per_s=flops_per_s,
            facts=self._facts(),
        )

    def _facts(self) -> dict[str, Any]:
        moment: Mapping[str, Any] = getattr(self.target, "momentary", dict)()
        latencies = getattr(self.task, "torch_latencies", None) if self.target.name == "cpu" else None
        known = latencies(getattr(self.target, "threads", 1)) if latencies is not None else {}
        return {**moment, **known, "cache_regime": self.settings.cache_regime}

    def _null_test(self, device: int, tests: int) -> tuple[list[Series], float]:
        """Times the seed kernel against itself, in new processes each time; returns the samples and the noise floor.

        Raises:
            MachineError: The machine is too busy to time anything.
        """
        baseline, _ = self._seed(device)
        series: list[Series] = []
        floor = _LEAST_FLOOR
        for _ in range(tests):
            try:
                with self._bench.alone():
                    contest = self._bench.contest(baseline, baseline, self._material(), device, self._rng)
            except (Failed, Rival) as failure:
                raise MachineError(f"the seed kernel, correct a moment ago, failed: {failure}") from failure
            _, (low, high) = ratio_interval([each.ratios for each in contest.series], self._rng)
            floor = max(floor, high - 1.0, 1.0 - low)
            series += contest.series
        if floor > _TOO_BUSY:
            raise MachineError(f"the machine is too busy to time anything: a kernel differs from itself by {floor:.0%}")
        return series, floor

    def _repeat_null_test(self, device: int) -> None:
        """Now and then the noise floor of duels is measured again."""
        with self._lock:
            self._evaluations += 1
            due = self.settings.null_every and self._evaluations % self.settings.null_every == 0
        if due:
            self._floor = _twice(lambda: self._null_test(device, 1))[1]

    def _seed(self, device: int) -> tuple[Artifact, float]:
        """Returns the baseline's artifact and its largest error."""
        with self._lock:
            found = self._seed_drawn
        if found is None:
            draft = Draft(self.task.seed_kernel(self.language.name))
            try:
                artifact = self._checked(draft, device, self._material(), eager=True)
            except Failed as failure:
                if failure.status is Status.BUILD_TIMEOUT:  # of a compiler's first use, or of a busy machine
                    limit = f"evaluator.build_timeout_s={self.settings.build_timeout_s:g}"
                    raise MachineError(f"the seed kernel takes longer to build than {limit}: raise it") from failure
                text = f"the seed kernel of task {self.task.name!r} is {failure.status}: {failure.log}"
                raise TaskError(text) from failure
            found = self._seed_drawn = (artifact, draft.max_rel_error or 0.0)
        return found

    def _artifact(self, kernel: Kernel) -> Artifact:
        arguments = len(self.task.inputs) + len(self.task.outputs) + len(self.task.axes)
        built = self._builder.build(kernel)
        return Artifact(built.path, kernel.entry_point, arguments, built.kind)

    def _material(self) -> Material:
        with self._lock:
            if self._material_drawn is None:
                self._material_drawn = Material.draw(self.task, secret_generator())
            return self._material_drawn


def _twice(job: Callable[[], Result]) -> Result:
    """Runs a job; when the machine fails under it, once more."""
    try:
        return job()
    except (MachineError, SandboxError) as error:
        _LOG.warning("once more, after a fault of the machine: %s", error)
        return job()


def _latencies_us(series: Sequence[Series]) -> dict[str, float]:
    samples: dict[str, list[float]] = {}
    for each in series:
        samples.setdefault(each.workload, []).extend(each.wall_s.reshape(-1).tolist())
    return {workload: float(np.median(values)) * 1e6 for workload, values in samples.items()}
