"""The check stage: is a kernel right, on sizes and data that it has not seen?"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import copy_outputs, plan_of, sources_of, table_bytes
from .compare import judge, same_bits
from .errors import TaskError
from .evaluation import Status
from .native import FINE, Plan, driver
from .sandbox import Sandbox
from .session import Failed, Session
from .task import Task, Workload

Arrays = dict[str, NDArray[Any]]
_ONES = (ctypes.c_float * 12)(*[1.0] * 12)
_CLEAN, _DIRTY = 0, (0xA5, 0x5B)


@dataclass(frozen=True)
class Instance:
    """Inputs of one workload with what must come out. Stays in the parent."""

    inputs: Arrays
    expected: Mapping[str, NDArray[Any]]
    tolerance: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A workload with two sets of data for the same buffers."""

    workload: Workload
    instances: tuple[Instance, Instance]


@dataclass
class Findings:
    """What a stage learned about a kernel that is right so far."""

    max_rel_error: float = 0.0
    flags: set[str] = field(default_factory=set)


def make_instance(task: Task, workload: Workload, rng: np.random.Generator) -> Instance:
    """Draws inputs and computes what must come out.

    Raises:
        TaskError: The reference does not produce what the task declares.
    """
    inputs = {name: np.ascontiguousarray(array) for name, array in task.make_inputs(workload, rng).items()}
    for name, spec in task.inputs.items():
        if inputs[name].dtype != np.dtype(spec.dtype) or inputs[name].shape != spec.extent(workload.axes):
            raise TaskError(f"task {task.name!r} draws an input {name!r} that is not of its declared type and shape")
    expected, tolerance = expect(task, workload, inputs)
    return Instance(inputs, expected, tolerance)


def expect(task: Task, workload: Workload, inputs: Arrays) -> tuple[Arrays, dict[str, NDArray[np.float64]]]:
    """Computes expected outputs and tolerances.

    Raises:
        TaskError: The reference does not produce what the task declares.
    """
    expected = task.reference(inputs)
    for name, spec in task.outputs.items():
        if name not in expected or expected[name].shape != spec.extent(workload.axes):
            raise TaskError(f"the reference of task {task.name!r} gives no {name!r} of its declared shape")
    return expected, task.tolerance(inputs, expected)


def make_cases(task: Task, workloads: Sequence[Workload], rng: np.random.Generator) -> tuple[Case, ...]:
    """Draws the data of several workloads."""
    return tuple(Case(each, (make_instance(task, each, rng), make_instance(task, each, rng))) for each in workloads)


class Layout:
    """Where the buffers of all cases lie in one arena."""

    def __init__(self, task: Task, cases: Sequence[Case]) -> None:
        self.plans: list[Plan] = []
        at = table_bytes(task, len(cases))
        for case in cases:
            plan = plan_of(task, case.workload, at, 1)
            self.plans.append(plan)
            at += plan.stride
        self.bytes = at


def check(session: Session, sandbox: Sandbox, task: Task, cases: Sequence[Case], layout: Layout) -> Findings:
    """Judges a loaded kernel in three rounds over all cases, each round one order to the process.

    Round one: first data. Round two: the same again, with a dirty stack and heap and another poison; every bit must
    agree (or, for a task that is not repeatable, stay within tolerance). Round three: other data in the same buffers.
    The first round that fails decides; within it the order is tampered, wrong value, unrepeatable.

    Raises:
        Failed: The kernel is not right.
    """
    findings = Findings()
    order = np.random.default_rng(secrets.randbits(64)).permutation(len(cases))
    first = _round(session, sandbox, task, cases, layout, order, 0, _CLEAN)
    _judge_all(task, cases, first, 0, findings)
    again = _round(session, sandbox, task, cases, layout, order[::-1], 0, _DIRTY[0])
    for case, before, after in zip(cases, first, again, strict=True):
        _judge_repeat(task, case, before, after)
    other = _round(session, sandbox, task, cases, layout, order, 1, _DIRTY[1])
    _judge_all(task, cases, other, 1, findings)
    return findings


def _round(
    session: Session,
    sandbox: Sandbox,
    task: Task,
    cases: Sequence[Case],
    layout: Layout,
    order: Any,
    which: int,
    dirty: int,
) -> list[Arrays]:
    native, side = driver(sandbox.compiler), ctypes.byref(session.side)
    keys = [secrets.randbits(64) for _ in cases]
    sources = [sources_of(task, [case.instances[which].inputs]) for case in cases]
    for call, index in enumerate(order):
        plan = ctypes.byref(layout.plans[index])
        native.kw_fill(side, plan, 0, sources[index], _ONES, keys[index])
        native.kw_call(side, plan, call, 0)
    session.call(len(cases), dirty)
    outputs = [
        copy_outputs(task, case.workload, plan, session.arena) for case, plan in zip(cases, layout.plans, strict=True)
    ]
    found = [
        native.kw_inspect(side, ctypes.byref(plan), 0, sources[index], _ONES, keys[index])
        for index, plan in enumerate(layout.plans)
    ]
    worst = min(found, key=_severity)
    if worst != FINE:
        failure = session.failure(worst)
        raise Failed(failure.status, f"{cases[found.index(worst)].workload.name}: {failure.log}", failure.max_rel_error)
    return outputs


def _severity(outcome: int) -> int:
    """Tampering first, then what was not written."""
    return {-4: 0, -5: 1}.get(outcome, 2)


def _judge_all(task: Task, cases: Sequence[Case], outputs: Sequence[Arrays], which: int, findings: Findings) -> None:
    for case, found in zip(cases, outputs, strict=True):
        instance = case.instances[which]
        verdict = judge(found, instance.expected, instance.tolerance)
        if not verdict.is_right:
            raise Failed(Status.WRONG_VALUE, f"{_label(case.workload)}: {verdict.reason}", verdict.max_rel_error)
        findings.max_rel_error = max(findings.max_rel_error, verdict.max_rel_error)


def _judge_repeat(task: Task, case: Case, before: Arrays, after: Arrays) -> None:
    if same_bits(before, after):
        return
    instance = case.instances[0]
    verdict = judge(after, instance.expected, instance.tolerance)
    if task.repeatable or not verdict.is_right:
        text = f"{_label(case.workload)}: two calls on equal inputs give different results"
        raise Failed(Status.UNREPEATABLE, text, verdict.max_rel_error)


def _label(workload: Workload) -> str:
    sizes = ", ".join(f"{axis}={size}" for axis, size in workload.axes.items())
    return f"{workload.name} ({sizes}; {workload.distribution})"
