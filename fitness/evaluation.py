"""What became of a kernel: the record of an evaluation, with a closed verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

JSON = dict[str, Any]

SCHEMA = "kernelwright.evaluation/1"


class Status(StrEnum):
    """The verdict. Closed: every consumer may switch on it."""

    OK = "ok"
    """Correct, and timed where the target measures time."""
    REJECTED = "rejected"
    """Refused before building: a forbidden construct, too long, no entry point."""
    BUILD_FAILED = "build_failed"
    """The compiler said no."""
    BUILD_TIMEOUT = "build_timeout"
    """The compiler was stopped at its limit."""
    CRASHED = "crashed"
    """The worker died of a signal or an uncaught error."""
    NO_RESULT = "no_result"
    """It ended without delivering outputs, whatever its exit code or prints say."""
    OUT_OF_MEMORY = "out_of_memory"
    """The allocator or the memory limit said so."""
    RUN_TIMEOUT = "run_timeout"
    """The worker was killed at its limit."""
    WRONG_SHAPE = "wrong_shape"
    """Shape or dtype of an output differs."""
    WRONG_VALUE = "wrong_value"
    """An element is outside its tolerance, or not finite where the reference is."""
    UNREPEATABLE = "unrepeatable"
    """Two calls on equal inputs differ by more than the task allows."""
    TAMPERED = "tampered"
    """Inputs changed, guard zones overwritten, or an output object that is not plain."""
    SUSPECT = "suspect"
    """Correct, but its timing cannot be true."""


JUDGED = frozenset({Status.OK, Status.WRONG_VALUE, Status.UNREPEATABLE, Status.SUSPECT})
"""Statuses of kernels whose outputs were compared: only these may carry an error."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Timing of one workload: candidate and baseline interleaved. Nothing is rounded.

    Attributes:
        workload: Its name.
        samples_us: Time of one call of the candidate, a sample each pair, in µs.
        reference_samples_us: The baseline's, in the same pairs.
        latency_us: ``reference_latency_us / speedup``; recorded, not recomputed.
        reference_latency_us: Median of the baseline's samples.
        speedup: Median over pairs of baseline time / candidate time.
        interval: Bootstrap 95 % interval of ``speedup``.
        cpu_ratio: CPU time / wall time of the candidate's samples; above 1 it used threads. None where it does not run
            on the CPU.
        calls_per_sample: Calls batched into one sample.
    """

    workload: str
    samples_us: tuple[float, ...]
    reference_samples_us: tuple[float, ...]
    latency_us: float
    reference_latency_us: float
    speedup: float
    interval: tuple[float, float]
    cpu_ratio: float | None = None
    calls_per_sample: int = 1

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: JSON) -> Measurement:
        """Reads what `to_json` wrote."""
        tuples = {name: tuple(data[name]) for name in ("samples_us", "reference_samples_us", "interval")}
        return cls(**{**data, **tuples})


@dataclass(frozen=True, slots=True)
class Baseline:
    """A kernel against something else that computes its task, timed in pairs.

    Attributes:
        name: Of the other one, e.g. ``"compile"``.
        status: Of the other one; what is not ``OK`` was not compared.
        speedup: Geometric mean over workloads of its time / the kernel's time.
        interval: Bootstrap 95 % interval of ``speedup``.
        measurements: One a workload; the baseline of these is the other one.
        log: Why it was not compared.
    """

    name: str
    status: Status = Status.OK
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    measurements: tuple[Measurement, ...] = ()
    log: str = ""

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        data = {name: _plain(getattr(self, name)) for name in self.__slots__}
        return {**data, "measurements": [measurement.to_json() for measurement in self.measurements]}

    @classmethod
    def from_json(cls, data: JSON) -> Baseline:
        """Reads what `to_json` wrote."""
        measurements = tuple(Measurement.from_json(each) for each in data["measurements"])
        interval = tuple(data["interval"]) if data["interval"] is not None else None
        status = Status(data["status"])
        return cls(**{**data, "status": status, "interval": interval, "measurements": measurements})


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What became of one kernel on one task and target.

    Attributes:
        kernel: Digest.
        status: The verdict.
        measurements: One for each timed workload, if and only if the kernel is ``OK`` and timed.
        latency_us: Geometric mean over the timed workloads, on the run's own scale: the
            calibrated latency of the baseline divided by the speedup. None when not timed.
        reference_latency_us: Geometric mean of the baseline on the same scale.
        speedup: ``reference_latency_us / latency_us``.
        interval: 95 % interval of ``speedup``.
        max_rel_error: Largest error, relative to the largest expected magnitude of its output; None if not finite.
        flags: Observations that do not decide by themselves, e.g. ``"calls_blas"``.
        log: Compiler or run output, capped, without paths.
        seconds: Wall time by stage: ``queue``, ``build``, ``check``, ``rehearse``, ``time``, ``judge``, ``profile``.
        static: Metrics of the artifact that its toolchain tells, e.g. ``{"registers": 40}``.
        profile: Where it stands against what its machine can do: one paragraph for people and models.
        artifact: Digest of the built object's code and data, whatever became of it; empty where nothing was built.
        baselines: How it compares with what else computes the task, where that was asked for.

    Raises:
        ValueError: A field is present that the status does not allow, or a number is not finite.
    """

    kernel: str
    status: Status
    measurements: tuple[Measurement, ...] = ()
    latency_us: float | None = None
    reference_latency_us: float | None = None
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    max_rel_error: float | None = None
    flags: tuple[str, ...] = ()
    log: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    static: Mapping[str, float] = field(default_factory=dict)
    artifact: str = ""
    baselines: tuple[Baseline, ...] = ()
    profile: str = ""

    def __post_init__(self) -> None:
        timing = (self.latency_us, self.reference_latency_us, self.speedup, self.interval)
        timed = self.latency_us is not None
        if any((value is not None) != timed for value in timing) or bool(self.measurements) > timed:
            raise ValueError("latency_us, reference_latency_us, speedup and interval come together")
        if timed and self.status is not Status.OK:
            raise ValueError(f"a kernel that is {self.status} has no latency")
        if self.max_rel_error is not None and self.status not in JUDGED:
            raise ValueError(f"a kernel that is {self.status} has no error")
        if self.latency_us is not None and not (math.isfinite(self.latency_us) and self.latency_us > 0):
            raise ValueError(f"latency_us must be positive and finite, is {self.latency_us}")

    @property
    def ok(self) -> bool:
        """Whether the kernel is correct."""
        return self.status is Status.OK

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys and a ``schema``; no empty baselines or profile."""
        data = {name: _plain(getattr(self, name)) for name in self.__slots__}
        data["measurements"] = [measurement.to_json() for measurement in self.measurements]
        data["baselines"] = [baseline.to_json() for baseline in self.baselines]
        if not self.baselines:  # most have none, and older records know no such key
            del data["baselines"]
        if not self.profile:  # records from before there were any stay as they are
            del data["profile"]
        return {"schema": SCHEMA, **data}

    @classmethod
    def from_json(cls, data: JSON) -> Evaluation:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: It was written by another schema.
        """
        fields = dict(data)
        schema = fields.pop("schema", None)
        if schema != SCHEMA:
            raise ValueError(f"an evaluation of schema {SCHEMA!r} is expected, not {schema!r}")
        interval = fields.get("interval")
        return cls(
            **{
                **fields,
                "status": Status(fields["status"]),
                "measurements": tuple(Measurement.from_json(each) for each in fields["measurements"]),
                "interval": tuple(interval) if interval is not None else None,
                "flags": tuple(fields["flags"]),
                "baselines": tuple(Baseline.from_json(each) for each in fields.get("baselines", ())),
            }
        )


@dataclass(frozen=True, slots=True)
class Duel:
    """Two kernels timed against each other, interleaved, in processes of their own.

    Attributes:
        challenger: Digest of the kernel whose gain is asked for.
        elite: Digest of the kernel that it must beat.
        speedup: Geometric mean over workloads of elite time / challenger time.
        interval: Bootstrap 95 % interval of ``speedup``.
        noise_floor: Smallest difference that the machine can tell, as a fraction.
        measurements: One a workload; the baseline of these is the elite.
        failed: Digest of the one that turned out not to be correct, or empty; the other has won then.
    """

    challenger: str
    elite: str
    speedup: float
    interval: tuple[float, float]
    noise_floor: float
    measurements: tuple[Measurement, ...] = ()
    failed: str = ""

    @property
    def won(self) -> bool:
        """Whether the challenger is faster beyond doubt; a tie goes to the elite."""
        if self.failed:
            return self.failed == self.elite
        return self.interval[0] > 1.0 + self.noise_floor

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        data = {name: _plain(getattr(self, name)) for name in self.__slots__}
        return {**data, "measurements": [measurement.to_json() for measurement in self.measurements]}

    @classmethod
    def from_json(cls, data: JSON) -> Duel:
        """Reads what `to_json` wrote."""
        measurements = tuple(Measurement.from_json(each) for each in data["measurements"])
        return cls(**{**data, "interval": tuple(data["interval"]), "measurements": measurements})


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the baseline and the machine were like when a run began; the scale of its latencies.

    Attributes:
        reference_latency_us: Median latency of the baseline kernel, by workload.
        noise_floor: Half-width of the null test's interval (baseline against itself), as a
            fraction; no difference below it is certified.
        bytes_per_s: Measured peak bandwidth; None where it was not measured.
        flops_per_s: Measured peak arithmetic; None where it was not measured.
        facts: Load average, frequency, throttling, as far as the system tells.
    """

    reference_latency_us: Mapping[str, float]
    noise_floor: float
    bytes_per_s: float | None = None
    flops_per_s: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: JSON) -> Calibration:
        """Reads what `to_json` wrote."""
        return cls(**data)


def _plain(value: Any) -> Any:
    """Returns ``value`` as JSON has it."""
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value
