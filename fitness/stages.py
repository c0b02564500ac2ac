"""From a kernel to its verdict: screen, build, check, time, judge. The only place that knows the order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from . import policy
from .baselines import Challenger
from .bench import Bench
from .build import Builder
from .contest import Contest, Rival
from .draft import Draft
from .errors import MachineError, TaskError
from .evaluation import Calibration, Duel, Evaluation, Status
from .host_bench import HostBench
from .kernel import Kernel
from .language import Language
from .material import Material, secret_generator
from .object_code import code_digest
from .plausibility import check_roofline
from .profile import paragraph
from .sandbox import Sandbox
from .session import Artifact, Failed
from .settings import Settings
from .statistics import geometric_mean, ratio_interval
from .target import Target
from .task import Task

_MUCH_LESS_ACCURATE = 32.0


class Stages:
    """What kernels of one task, target and language go through, in one sandbox.

    Attributes:
        bench: Where artifacts are loaded, checked and timed.
        rng: Of samples and resamples; secret.
    """

    def __init__(self, task: Task, target: Target, language: Language, settings: Settings, sandbox: Sandbox) -> None:
        self._task, self._target, self._language = task, target, language
        self._settings, self._sandbox = settings, sandbox
        self._builder = Builder(language, target, sandbox, settings.build_timeout_s)
        make_bench: Callable[..., Bench] = getattr(target, "bench", HostBench)
        self.bench = make_bench(sandbox, task, target, settings)
        self.rng = secret_generator()
        self._drawing = threading.RLock()
        self._seed_found: tuple[Artifact, float] | None = None
        self._best_speedup = 0.0

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int, material: Material) -> Evaluation:
        """Takes a kernel through all stages.

        Raises:
            FitnessError: The machine or the task failed; not the kernel.
        """
        draft = Draft(kernel, {"weak_isolation"} if self._sandbox.missing else set())
        try:
            artifact = self._checked(draft, device, material)
            if not self._target.measures_time:
                draft.flags.add("not_timed")
                return draft.evaluation(Status.OK, max_rel_error=draft.max_rel_error)
            contest = self._timed(draft, artifact, device, material)
            evaluation = self._judge_time(draft, contest, calibration)
            return self._counted(evaluation, draft, artifact, device, material)
        except Failed as failure:
            return draft.failed(failure)

    def _checked(self, draft: Draft, device: int, material: Material, *, eager: bool = False) -> Artifact:
        policy.screen(draft.kernel, self._settings.source_bytes)
        with draft.queue(self.bench.gate.shared()):
            with draft.stage("build"):
                built = self._builder.build(draft.kernel, eager=eager)
            if built.kind == "python_module" and not self.bench.runs_python:
                text = f"language={draft.kernel.language} needs Python beside its kernels, and"
                raise TaskError(f"{text} target={self._target.name} runs none: choose target=interpret or a GPU")
            draft.log = built.log
            if built.kind == "shared_object":
                draft.artifact = code_digest(built.path)
                draft.flags |= policy.inspect(draft.kernel, built.path, self._settings.forbid)
            artifact = self._artifact(draft.kernel)
            with draft.stage("check"):
                findings = self.bench.check(artifact, material, device)
            draft.learn(findings.max_rel_error)
            draft.flags |= findings.flags
            draft.static, draft.observed = findings.static, findings.observed
            draft.move("check", "build", findings.compile_s)
            draft.move("check", "rehearse", findings.rehearse_s)
            policy.refuse(draft.flags, self._settings.forbid)
        return artifact

    def _timed(self, draft: Draft, artifact: Artifact, device: int, material: Material) -> Contest:
        baseline, seed_error = self.seed(device)
        with draft.queue(self.bench.alone()), draft.stage("time"):
            try:
                contest = self.bench.contest(artifact, baseline, material, device, self.rng)
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
        if any((each.cpu_ratio or 0.0) > 1.25 for each in contest.series):
            draft.flags.add("threads")
        policy.refuse(draft.flags, self._settings.forbid)
        return contest

    def _judge_time(self, draft: Draft, contest: Contest, calibration: Calibration) -> Evaluation:
        reference = calibration.reference_latency_us
        measurements = tuple(each.measurement(self.rng, reference.get(each.workload)) for each in contest.series)
        check_roofline(self._task, measurements, calibration)
        speedup, interval = ratio_interval([each.ratios for each in contest.series], self.rng)
        reference_us = geometric_mean([each.reference_latency_us for each in measurements])
        observed = (*draft.observed, *contest.observed)
        return draft.evaluation(
            Status.OK,
            measurements=measurements,
            latency_us=reference_us / speedup,
            reference_latency_us=reference_us,
            speedup=speedup,
            interval=interval,
            max_rel_error=draft.max_rel_error,
            profile=paragraph(self._task, measurements, calibration, draft.static(), observed),
        )

    def _counted(
        self, evaluation: Evaluation, draft: Draft, artifact: Artifact, device: int, material: Material
    ) -> Evaluation:
        """Adds what hardware counters tell of kernels that are worth it: the fastest so far, and the verified one."""
        with self._drawing:
            is_best = (evaluation.speedup or 0.0) >= self._best_speedup
            self._best_speedup = max(self._best_speedup, evaluation.speedup or 0.0)
        if not self._settings.profiler or not (is_best or material is not self.material):
            return evaluation
        with draft.stage("profile"):
            told = self.bench.counted(artifact, material, device)
        return replace(evaluation, profile=" ".join([evaluation.profile, *told]), seconds=dict(draft.seconds))

    def compare(self, kernel: Kernel, evaluation: Evaluation, device: int, material: Material) -> Evaluation:
        """Adds how a correct kernel compares with the baselines of the settings.

        A kernel that fails meanwhile fails: its outputs were judged.

        Raises:
            FitnessError: The machine failed.
        """
        if not (evaluation.measurements and self._settings.baselines):
            return evaluation
        try:
            challenger = Challenger(self.bench, self._artifact(kernel), material, device, self.rng)
            found = challenger.against(self._settings.baselines)
        except Failed as failure:
            return Draft(kernel, set(evaluation.flags), dict(evaluation.seconds)).failed(failure)
        return replace(evaluation, baselines=found)

    def duel(self, challenger: Kernel, elite: Kernel, noise_floor: float, device: int) -> Duel:
        """Times two correct kernels against each other and judges again what they compute.

        Raises:
            FitnessError: The machine failed.
        """
        try:
            with self.bench.gate.shared():
                first, second = self._artifact(challenger), self._artifact(elite)
            with self.bench.alone():
                contest = self.bench.contest(first, second, self.material, device, self.rng)
            contest.judge()
        except Failed:
            return Duel(challenger.digest, elite.digest, 1.0, (1.0, 1.0), noise_floor, failed=challenger.digest)
        except Rival:
            return Duel(challenger.digest, elite.digest, 1.0, (1.0, 1.0), noise_floor, failed=elite.digest)
        speedup, interval = ratio_interval([each.ratios for each in contest.series], self.rng)
        measurements = tuple(each.measurement(self.rng, None) for each in contest.series)
        return Duel(challenger.digest, elite.digest, speedup, interval, noise_floor, measurements)

    def seed(self, device: int) -> tuple[Artifact, float]:
        """Returns the artifact of the task's seed kernel and its largest error.

        Raises:
            TaskError: It is not correct.
            MachineError: It takes too long to build.
        """
        with self._drawing:
            found = self._seed_found
        if found is None:
            self.bench.prepare(device)
            draft = Draft(self._task.seed_kernel(self._language.name))
            try:
                artifact = self._checked(draft, device, self.material, eager=True)
            except Failed as failure:
                if failure.status is Status.BUILD_TIMEOUT:  # of a compiler's first use, or of a busy machine
                    limit = f"evaluator.build_timeout_s={self._settings.build_timeout_s:g}"
                    raise MachineError(f"the seed kernel takes longer to build than {limit}: raise it") from failure
                text = f"the seed kernel of task {self._task.name!r} is {failure.status}: {failure.log}"
                raise TaskError(text) from failure
            self.bench.trust(artifact, device)
            found = self._seed_found = (artifact, draft.max_rel_error or 0.0)
        return found

    def _artifact(self, kernel: Kernel) -> Artifact:
        arguments = len(self._task.inputs) + len(self._task.outputs) + len(self._task.axes)
        built = self._builder.build(kernel)
        return Artifact(built.path, kernel.entry_point, arguments, built.kind)

    @property
    def material(self) -> Material:
        """Cases and pools of the search; drawn once."""
        with self._drawing:
            return self._drawn

    @cached_property
    def _drawn(self) -> Material:
        return Material.draw(self._task, secret_generator())
