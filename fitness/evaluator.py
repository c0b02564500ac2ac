"""The judge of kernels: what may be asked of it, and how it keeps an eye on the machine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from .baselines import check_baselines
from .cache import digest_of
from .compiler import find_compiler
from .contest import Rival
from .errors import MachineError, SandboxError
from .evaluation import Calibration, Duel, Evaluation
from .kernel import Kernel
from .language import Language, check_pair
from .material import Material, secret_generator
from .sandbox import Sandbox, find_sandbox
from .sanitize import sanitize
from .series import Series
from .session import Failed
from .settings import Settings
from .stages import Stages
from .statistics import ratio_interval
from .target import Target
from .task import Task

_LOG = logging.getLogger("kernelwright.fitness")
_NULL_TESTS = 3
_LEAST_FLOOR = 0.005
_TOO_BUSY = 1.0
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
        ValueError: The language does not run on the target, a setting is out of range, a forbidden flag or a
            baseline is unknown, or baselines or a profiler are asked for on a target without them.
    """

    def __init__(self, task: Task, target: Target, language: Language, **settings: Any) -> None:
        self.task, self.target, self.language = task, target, language
        forbid, baselines = (tuple(settings.pop(name, ())) for name in ("forbid", "baselines"))
        self.settings = Settings(forbid=forbid, baselines=baselines, **settings)
        check_pair(language, target)
        check_baselines(self.settings.baselines, target)
        if self.settings.profiler and not getattr(target, "is_device", False):
            raise ValueError(f"evaluator.profiler must be false for target={target.name}: it looks at GPUs only")
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._making = threading.RLock()
        self._made: Stages | None = None
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
    def _stages(self) -> Stages:
        with self._making:
            if self._made is None:
                self._made = Stages(self.task, self.target, self.language, self.settings, self.sandbox)
            return self._made

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
        return _twice(lambda: self._stages.evaluate(kernel, calibration, device, self._stages.material))

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Evaluates again from nothing: new processes, sizes and data that no kernel has seen, new samples.

        Then times the kernel against the baselines that the settings name.

        Raises:
            FitnessError: The machine or the task failed, twice; not the kernel.
        """
        material = Material.draw(self.task, secret_generator())
        evaluation = _twice(lambda: self._stages.evaluate(kernel, calibration, device, material))
        return _twice(lambda: self._stages.compare(kernel, evaluation, device, material))

    def compare(self, kernel: Kernel, evaluation: Evaluation, device: int = 0) -> Evaluation:
        """Adds to the evaluation of a kernel how it compares with the baselines that the settings name.

        Raises:
            FitnessError: The machine failed, twice.
        """
        return _twice(lambda: self._stages.compare(kernel, evaluation, device, self._stages.material))

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
        noise_floor = max(calibration.noise_floor, self._floor)
        return _twice(lambda: self._stages.duel(challenger, elite, noise_floor, device))

    def sanitize(self, kernel: Kernel) -> Mapping[str, str]:
        """Runs a C++ kernel on the check cases under sanitizers; for the few that are worth it.

        Returns:
            By sanitizer: ``"clean"``, what it found, or why it says nothing.

        Raises:
            SandboxError: The sandbox does not come up.
        """
        with self._stages.bench.gate.shared():
            return sanitize(kernel, self.task, self._stages.material.cases, self.sandbox)

    def close(self) -> None:
        """Ends workers that wait for candidates, where the target has such."""
        with self._making:
            made = self._made
        if made is not None:
            made.bench.close()

    # ---- the machine --------------------------------------------------------------------------------------

    def _calibrate(self, device: int) -> Calibration:
        examine = getattr(self.task, "examine", None)  # of a problem that comes from elsewhere: is it fit for search?
        if examine is not None:
            examine(secret_generator())
        self._stages.seed(device)
        if not self.target.measures_time:
            return Calibration({}, 0.0, facts=self._facts())
        series, self._floor = self._null_test(device, _NULL_TESTS)
        with self._stages.bench.alone():
            bytes_per_s, flops_per_s = self._stages.bench.peaks()
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
        stages = self._stages
        baseline, _ = stages.seed(device)
        series: list[Series] = []
        floor = _LEAST_FLOOR
        for _ in range(tests):
            try:
                with stages.bench.alone():
                    contest = stages.bench.contest(baseline, baseline, stages.material, device, stages.rng)
            except (Failed, Rival) as failure:
                raise MachineError(f"the seed kernel, correct a moment ago, failed: {failure}") from failure
            _, (low, high) = ratio_interval([each.ratios for each in contest.series], stages.rng)
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
        if due and self.target.measures_time:
            self._floor = _twice(lambda: self._null_test(device, 1))[1]


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
