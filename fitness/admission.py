"""Is a task fit for search? What computes nothing must fail, what is honest must pass.

A task whose tolerance lets a constant through, or whose reference does not depend on an input, makes
every speedup on it worthless. `admit` draws inputs, makes the outputs of kernels that do not do the
work, and judges them as the evaluator would: every element within its tolerance, nothing else.
Whether an honest kernel passes is a matter for the evaluator and the task's seed kernel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .shirkers import SHIRKERS, Sample, Shirker, half_redrawn, redrawn, within
from .task import Task

_LOG = logging.getLogger("kernelwright.fitness")


@dataclass(frozen=True, slots=True)
class Check:
    """One demand on a task.

    Attributes:
        name: What is demanded, e.g. ``"zeros fail"``.
        passed: Whether the task meets it.
        reason: Where and why not; empty when it does.
    """

    name: str
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict on a task.

    Attributes:
        task: Its name.
        checks: All demands, in a fixed order.
    """

    task: str
    checks: tuple[Check, ...]

    @property
    def admitted(self) -> bool:
        """Whether the task meets every demand."""
        return all(check.passed for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line a failed check."""
        return tuple(f"{check.name}: {check.reason}" for check in self.checks if not check.passed)


def admit(task: Task, rng: np.random.Generator, draws: int = 2, inputs: Sequence[str] | None = None) -> Admission:
    """Puts a task to all tests.

    Args:
        task: The problem.
        rng: Source of the inputs; the verdict should not depend on it.
        draws: How often each timed workload is drawn. A check workload that is like a timed one is not drawn too.
        inputs: Which inputs are tried for whether they matter; None: all. Each costs three calls of the reference.

    Returns:
        The verdict. A task whose reference is not even sound is not tried further.
    """
    pairs = [(each, True) for each in task.time_workloads for _ in range(draws)]
    timed = [(each.axes, each.distribution) for each in task.time_workloads]
    pairs += [(each, False) for each in task.check_workloads if (each.axes, each.distribution) not in timed]
    samples = [Sample.drawn(task, workload, rng, timed) for workload, timed in pairs]
    sound = [
        _told("declared shapes", _first_fault(samples, _shape_fault)),
        _told("finite", _first_fault(samples, _finite_fault)),
        _told("repeatable reference", _first_fault(samples, _repeat_fault)),
    ]
    if not all(check.passed for check in sound):
        return Admission(task.name, tuple(sound))
    refused = [_told(f"{name} fail", _refused(samples, shirker, rng)) for name, shirker in SHIRKERS.items()]
    matters = [
        _told(f"{kind} matters: {name}", _refused(samples, change(name), rng))
        for kind, change in (("input", redrawn), ("half of input", half_redrawn))
        for name in (task.inputs if inputs is None else inputs)
    ]
    others = [
        _told("outputs spread", _first_fault([each for each in samples if each.timed], _spread_fault)),
        _told("well conditioned", _first_fault([each for each in samples if each.timed], _conditioning(rng))),
    ]
    return Admission(task.name, (*sound, *refused, *matters, *others))


def _told(name: str, verdict: tuple[bool, str]) -> Check:
    """Returns a check, once the log has it: on large problems each may take seconds."""
    _LOG.debug("%s: %s", name, "yes" if verdict[0] else "no")
    return Check(name, *verdict)


def _refused(samples: Sequence[Sample], shirker: Shirker, rng: np.random.Generator) -> tuple[bool, str]:
    """Whether shirking fails in every timed draw, and in at least a quarter of the check workloads.

    Some check workloads are so small that a wrong kernel is right by chance, so not all can be asked for.
    """
    small_passes = []
    for sample in samples:
        passes = any(sample.accepts(outputs) for outputs in shirker(sample, rng))
        if passes and sample.timed:
            return False, f"within tolerance at {sample.workload.name}"
        if passes:
            small_passes.append(sample.workload.name)
    checked = sum(not sample.timed for sample in samples)
    if 4 * len(small_passes) > 3 * checked:
        return False, f"within tolerance at {len(small_passes)} of {checked} check workloads, e.g. {small_passes[-1]}"
    return True, ""


# What a sound reference is.


def _first_fault(samples: Sequence[Sample], fault_of: Callable[[Sample], str]) -> tuple[bool, str]:
    for sample in samples:
        fault = fault_of(sample)
        if fault:
            return False, f"{fault} at {sample.workload.name}"
    return True, ""


def _shape_fault(sample: Sample) -> str:
    axes = sample.workload.axes
    for name, spec in sample.task.inputs.items():
        value = sample.inputs[name]
        if value.shape != spec.extent(axes) or value.dtype != spec.dtype or not value.flags.c_contiguous:
            return f"input {name} is {value.dtype}{value.shape}, declared {spec.dtype}{spec.extent(axes)}"
    for name, spec in sample.task.outputs.items():
        value = sample.expected[name]
        if value.shape != spec.extent(axes) or value.dtype not in (np.dtype(np.float64), np.dtype(spec.dtype)):
            return f"output {name} is {value.dtype}{value.shape}, declared {spec.dtype}{spec.extent(axes)}"
        if np.broadcast_shapes(sample.tolerance[name].shape, value.shape) != value.shape:
            return f"tolerance of {name} has shape {sample.tolerance[name].shape}"
    return ""


def _finite_fault(sample: Sample) -> str:
    for name, spec in sample.task.outputs.items():
        value, tolerance = sample.expected[name], sample.tolerance[name]
        if not (np.isfinite(value).all() and np.isfinite(tolerance).all() and (tolerance >= 0).all()):
            return f"{name} or its tolerance is not finite, or the tolerance is negative"
        with np.errstate(over="ignore", under="ignore"):
            rounded = value.astype(spec.dtype)
        if not within(rounded, value, tolerance):
            return f"{name} rounded to {spec.dtype} is outside its own tolerance"
    return ""


def _repeat_fault(sample: Sample) -> str:
    before = {name: value.copy() for name, value in sample.inputs.items()}
    again = sample.task.reference(sample.inputs)
    if any(not np.array_equal(before[name], sample.inputs[name]) for name in before):
        return "the reference changes its inputs"
    if any(not np.array_equal(again[name], sample.expected[name]) for name in again):
        return "the reference gives another answer to the same inputs"
    return ""


def _spread_fault(sample: Sample) -> str:
    """Along every axis most lines must vary by more than the tolerance hides."""
    for name, value in sample.expected.items():
        tolerance = np.broadcast_to(sample.tolerance[name], value.shape)
        for axis, extent in enumerate(value.shape):
            varies = np.ptp(value, axis=axis) > 2 * tolerance.max(axis=axis)
            if extent > 1 and np.mean(varies) < 0.5:
                return f"{name} hardly varies along axis {axis}"
    return ""


def _conditioning(rng: np.random.Generator) -> Callable[[Sample], str]:
    """Inputs moved by one ulp may not move a rounded output by more than a thousandth of its scale, or four ulps."""

    def fault(sample: Sample) -> str:
        moved = sample.with_inputs({name: _one_ulp_off(value, rng) for name, value in sample.inputs.items()})
        for name, value in sample.expected.items():
            if not np.issubdtype(value.dtype, np.floating):
                continue
            change = np.abs(moved[name] - value)
            allowed = max(1e-3, 4 * float(np.finfo(sample.task.outputs[name].dtype).eps))
            if not change.max() <= allowed * np.abs(value).max():
                return f"one ulp in the inputs moves {name} by {change.max():.3g}"
        return ""

    return fault


def _one_ulp_off(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    if not np.issubdtype(values.dtype, np.floating):
        return values
    toward = np.where(rng.random(values.shape) < 0.5, np.inf, -np.inf).astype(values.dtype)
    moved: NDArray[Any] = np.nextafter(values, toward)
    return moved
