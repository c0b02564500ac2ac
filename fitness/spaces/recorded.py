"""Recorded spaces in the place of a task, a target, a language and an evaluator: search without hardware."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cache import digest_of
from ..errors import TaskError, ToolchainError
from ..evaluation import Calibration, Duel, Evaluation, Measurement, Status
from ..kernel import Kernel
from ..language import Build
from ..target import Target
from ..task import Arrays, Cost, TensorSpec, Workload
from .notation import Notation
from .space import Space

_WORKLOAD = "recorded"

_STATUS = {
    "compil": Status.BUILD_FAILED,
    "runtime": Status.CRASHED,
    "invalid": Status.REJECTED,
    "timeout": Status.RUN_TIMEOUT,
    "correct": Status.WRONG_VALUE,
}
"""Parts of the words that recordings have for failures, and what they mean here."""


class RecordedEvaluator:
    """Answers from a recorded space, in the place of `fitness.Evaluator`.

    A latency is the recorded mean time. Speedups are over the seed kernel's; their intervals follow from the spread of
    the single measurements on both sides. What failed when it was recorded fails again.

    Args:
        task: Holds the space.
        target: Is not asked.
        language: Is not asked.
        **settings: Of an evaluator that builds and times; nothing is built or timed here.
    """

    baselines: tuple[str, ...] = ()

    def __init__(self, task: RecordedSpace, target: Any = None, language: Any = None, **settings: Any) -> None:
        del target, language, settings
        self._task = task
        self._space = task.space

    @cached_property
    def key(self) -> str:
        """Digest of all that is recorded."""
        space = self._space
        arrays = (space.levels.tobytes(), space.times_ms.tobytes())
        return digest_of("recorded", space.name, repr(space.parameters), *arrays, repr(space.failures))

    def describe(self) -> Mapping[str, str]:
        """Returns how evaluations are made here, for people."""
        return {"sandbox": "nothing runs: answers are looked up", "compiler": "", "missing": "", "cache_regime": ""}

    def calibrate(self, device: int = 0) -> Calibration:
        """The seed kernel's time, and how far two of its means may be apart."""
        del device
        seed = self._space.median_position
        noise = 1.96 * math.sqrt(2.0) * self._relative_error(seed)
        return Calibration({_WORKLOAD: 1e3 * float(self._space.times_ms[seed])}, noise_floor=noise)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Looks a kernel up."""
        del device
        position = self._task.position(kernel)
        if position is None:
            return Evaluation(kernel.digest, Status.REJECTED, log="this configuration is not in the recorded space")
        word = self._space.failures.get(position)
        if word is not None:
            return Evaluation(kernel.digest, _status(word), log=f"recorded as {word}")
        timing = self._compared(position, self._space.median_position, calibration.reference_latency_us[_WORKLOAD])
        return Evaluation(
            kernel.digest,
            Status.OK,
            (timing,),
            latency_us=timing.latency_us,
            reference_latency_us=timing.reference_latency_us,
            speedup=timing.speedup,
            interval=timing.interval,
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Compares what is recorded of two kernels.

        Raises:
            TaskError: One of them has no recorded time.
        """
        del device
        places = [self._task.position(kernel) for kernel in (challenger, elite)]
        first, second = (place if place is not None and place not in self._space.failures else None for place in places)
        if first is None or second is None:
            raise TaskError(f"{self._space.name}: a duel needs two kernels with a recorded time")
        timing = self._compared(first, second, 1e3 * float(self._space.times_ms[second]))
        return Duel(challenger.digest, elite.digest, timing.speedup, timing.interval, 0.0, (timing,))

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Looks a kernel up once more: there is only one recording."""
        return self.evaluate(kernel, calibration, device)

    def _compared(self, position: int, reference: int, reference_us: float) -> Measurement:
        space = self._space
        latency_us = 1e3 * float(space.times_ms[position])
        speedup = reference_us / latency_us
        error = math.hypot(self._relative_error(position), self._relative_error(reference))
        spread = math.exp(1.96 * error) if position != reference else 1.0
        return Measurement(
            _WORKLOAD,
            self._samples_us(position),
            self._samples_us(reference),
            latency_us,
            reference_us,
            speedup,
            (speedup / spread, speedup * spread),
        )

    def _samples_us(self, position: int) -> tuple[float, ...]:
        samples = self._space.samples_ms[position]
        return tuple(1e3 * sample for sample in samples) or (1e3 * float(self._space.times_ms[position]),)

    def _relative_error(self, position: int) -> float:
        """Standard error of a recorded mean, as a fraction of it; 0 where no single measurements are recorded."""
        samples = np.asarray(self._space.samples_ms[position], dtype=np.float64)
        if samples.size < 2:
            return 0.0
        return float(samples.std(ddof=1) / math.sqrt(samples.size) / samples.mean())


class RecordedSpace:
    """A recorded space as a task: a kernel is a configuration, written with declared tunables.

    The seed kernel is the configuration of median time. There is nothing to compute, so inputs and references
    are refused; `RecordedEvaluator` needs none.

    Args:
        path: A cache file of Kernel Tuner, ``.json`` or ``.json.gz``.

    Attributes:
        space: What is recorded.
        evaluator: Answers for this task.

    Raises:
        TaskError: There is no such file, or it is no complete cache file.
    """

    name = "recorded_space"
    axes: tuple[str, ...] = ()
    check_workloads: Sequence[Workload] = ()
    time_workloads: Sequence[Workload] = (Workload(_WORKLOAD, {}),)
    repeatable = True
    evaluator = RecordedEvaluator

    def __init__(self, path: Path | str | None = None) -> None:
        if path is None:
            raise TaskError("path: give the file of a recorded space, in Kernel Tuner's cache format: task.path=FILE")
        self.space = Space.read(path)
        self._notation = Notation(self.space)

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """None."""
        return {}

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """None."""
        return {}

    @property
    def description(self) -> str:
        """What was recorded."""
        space = self.space
        what = f"kernel {space.kernel or 'unknown'} on {space.device or 'an unnamed device'}"
        return f"The recorded tuning space {space.name}: {what}, {len(space)} configurations of its tunables."

    @property
    def parameters(self) -> Mapping[str, tuple[Any, ...]]:
        """The values of each tunable, as they stand in a source."""
        return self._notation.parameters

    @property
    def levels(self) -> NDArray[np.int64]:
        """See `fitness.Restricted`."""
        return self.space.levels

    def exists(self, setting: Mapping[str, Any]) -> bool:
        """Whether a setting of all tunables is recorded."""
        return self._notation.exists(setting)

    def kernel(self, position: int, language: str = "recorded") -> Kernel:
        """The kernel of the configuration at a position of the space."""
        return Kernel(self._notation.source(self.space.levels[position].tolist()), language)

    def position(self, kernel: Kernel) -> int | None:
        """Where a kernel's configuration is in the space; None when it does not exist."""
        return self._notation.position(kernel.source)

    def seed_kernel(self, language: str) -> Kernel:
        """The configuration of median time."""
        return self.kernel(self.space.median_position, language)

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """There is none.

        Raises:
            TaskError: Always.
        """
        raise TaskError("a recorded space has no inputs: it is searched, not computed")

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """There is none.

        Raises:
            TaskError: Always.
        """
        raise TaskError("a recorded space has no reference: it is searched, not computed")

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, NDArray[np.float64]]:
        """There is none.

        Raises:
            TaskError: Always.
        """
        raise TaskError("a recorded space has no tolerance: it is searched, not computed")

    def cost(self, workload: Workload) -> Cost:
        """Unknown, so nothing."""
        return Cost(0.0, 0.0)

    def hidden_workloads(self, rng: np.random.Generator) -> Sequence[Workload]:
        """None."""
        return ()


class RecordedTarget:
    """Where a recorded space was measured; nothing runs there any more."""

    name = "recorded"
    arch = "recorded"
    measures_time = True

    def environment(self, device: int) -> dict[str, str]:
        """Nothing."""
        return {}

    def describe(self) -> Mapping[str, str]:
        """Says that times are recorded ones."""
        return {"device": "times are looked up in a recording"}


class RecordedLanguage:
    """What configurations of a recorded space are written in: declared tunables, and nothing that could be built."""

    name = "recorded"
    suffix = ".cpp"
    grammar = "cpp"

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Refuses.

        Raises:
            ToolchainError: Always.
        """
        raise ToolchainError("a configuration of a recorded space cannot be built: choose task=recorded_space")

    def fingerprint(self, target: Target) -> str:
        """Nothing is built."""
        return ""


def _status(word: str) -> Status:
    lowered = word.lower()
    return next((status for part, status in _STATUS.items() if part in lowered), Status.NO_RESULT)
