"""The check stage: is a kernel right, on sizes and data that it has not seen?"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import copy_outputs, place, plan_of, sources_of, table_bytes
from .compare import judge, same_bits
from .errors import TaskError
from .evaluation import Status
from .native import FINE, SEAL, TAMPERED, UNWRITTEN, Draw, driver
from .sandbox import Sandbox
from .session import Failed, Session
from .task import Task, Workload

Arrays = dict[str, NDArray[Any]]
_CLEAN, _DIRTY = 0, (0xA5, 0x5B)


@dataclass(frozen=True)
class Instance:
    """Inputs of one workload with what must come out. Stays in the parent."""

    inputs: Arrays
    expected: Mapping[str, NDArray[Any]]
    tolerance: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A workload with three sets of data for the same buffers: one, nearly the same, and another."""

    workload: Workload
    instances: tuple[Instance, Instance, Instance]


@dataclass
class Findings:
    """What a stage learned about a kernel that is right so far."""

    max_rel_error: float = 0.0
    flags: set[str] = field(default_factory=set)


def make_instance(task: Task, workload: Workload, rng: np.random.Generator) -> Instance:
    """Draws inputs and computes what must come out.

    Raises:
        TaskError: The inputs or the reference are not what the task declares.
    """
    inputs = draw_inputs(task, workload, rng)
    return Instance(inputs, *expect(task, workload, inputs))


def draw_inputs(task: Task, workload: Workload, rng: np.random.Generator) -> Arrays:
    """Draws inputs.

    Raises:
        TaskError: They are not of the declared types and shapes.
    """
    inputs = {name: np.ascontiguousarray(array) for name, array in task.make_inputs(workload, rng).items()}
    for name, spec in task.inputs.items():
        if inputs[name].dtype != np.dtype(spec.dtype) or inputs[name].shape != spec.extent(workload.axes):
            raise TaskError(f"task {task.name!r} draws an input {name!r} that is not of its declared type and shape")
    return inputs


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
    return tuple(_make_case(task, each, rng) for each in workloads)


def _make_case(task: Task, workload: Workload, rng: np.random.Generator) -> Case:
    first, other = make_instance(task, workload, rng), make_instance(task, workload, rng)
    inputs = {name: _nearly(array, other.inputs[name], rng) for name, array in first.inputs.items()}
    near = Instance(inputs, *expect(task, workload, inputs))
    return Case(workload, (first, near, other))


def _nearly(array: NDArray[Any], other: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Returns ``array`` with a few elements of ``other``; what is sorted may have to be, and is left as it is."""
    flat, changed = array.reshape(-1), array.copy()
    if flat.size > 2 and bool(np.all(flat[:-1] <= flat[1:])):
        return changed
    if flat.size:
        chosen = rng.integers(0, flat.size, 3)
        changed.reshape(-1)[chosen] = other.reshape(-1)[chosen]
    return changed


class Layout:
    """Where the buffers of all cases lie in one arena; every case has them twice.

    Attributes:
        plans: One a case and copy: case ``i`` has plans ``2 i`` and ``2 i + 1``.
        inputs: Where the inputs of all of them lie: first offset, number of bytes.
        bytes: Size of the arena.
    """

    def __init__(self, task: Task, cases: Sequence[Case]) -> None:
        self.plans = [plan_of(task, case.workload) for case in cases for _ in range(2)]
        first = table_bytes(task, len(self.plans))
        end, self.bytes = place(self.plans, first)
        self.inputs = (first, end - first)


_Call = tuple[int, int, int]
"""Index of the case, which copy of its buffers, which of its instances."""


def check(session: Session, sandbox: Sandbox, task: Task, cases: Sequence[Case], layout: Layout) -> Findings:
    """Judges a loaded kernel in rounds over all cases, each round one order to the process.

    1. First data. 2. The same in the same buffers, with a dirty stack and heap and another poison; every bit must
    agree (or, for a task that is not repeatable, stay within tolerance). 3. First data, and straight after it the
    same but for a few elements, in other buffers. 4. Other data in the first buffers. 5. First data, on pages that
    cannot be written: what was right so often and crashes now writes to its inputs.

    The first round that fails decides; within it the order is tampered, wrong value, unrepeatable.

    Raises:
        Failed: The kernel is not right.
    """
    findings = Findings()
    order = np.random.default_rng(secrets.randbits(64)).permutation(len(cases)).tolist()
    rounds = _Rounds(session, sandbox, task, cases, layout, findings)
    first = rounds.call([(case, 0, 0) for case in order], _CLEAN)
    rounds.judge(first)
    again = rounds.call([(case, 0, 0) for case in reversed(order)], _DIRTY[0])
    for call, outputs in first.items():
        _judge_repeat(task, cases[call[0]], outputs, again[call])
    rounds.judge(rounds.call([(case, copy, copy) for case in order for copy in (0, 1)], _DIRTY[1]))
    rounds.judge(rounds.call([(case, 0, 2) for case in reversed(order)], _DIRTY[0]))
    session.exchange(SEAL, *layout.inputs)
    try:
        sealed = rounds.call([(case, 0, 0) for case in order], _CLEAN)
    except Failed as failure:
        if failure.status is Status.CRASHED:
            raise Failed(Status.TAMPERED, "it writes to its inputs") from failure
        raise
    rounds.judge(sealed)
    return findings


@dataclass(frozen=True)
class _Rounds:
    session: Session
    sandbox: Sandbox
    task: Task
    cases: Sequence[Case]
    layout: Layout
    findings: Findings

    def call(self, calls: Sequence[_Call], dirty: int) -> dict[_Call, Arrays]:
        """Makes the calls in one order to the process and returns copies of the outputs."""
        native, side = driver(self.sandbox.compiler), ctypes.byref(self.session.side)
        prepared = []
        for index, (case, copy, which) in enumerate(calls):
            plan = ctypes.byref(self.layout.plans[2 * case + copy])
            sources = sources_of(self.task, [self.cases[case].instances[which].inputs])
            draw = Draw(key=secrets.randbits(64))
            native.kw_fill(side, plan, 0, sources, draw)
            native.kw_call(side, plan, index, 0)
            prepared.append((plan, sources, draw))
        self.session.call(len(calls), dirty)
        outputs = {}
        for case, copy, which in calls:
            where, workload = self.layout.plans[2 * case + copy], self.cases[case].workload
            outputs[case, copy, which] = copy_outputs(self.task, workload, where, self.session.arena)
        found = [native.kw_inspect(side, plan, 0, sources, draw) for plan, sources, draw in prepared]
        worst = min(found, key=_severity)
        if worst != FINE:
            failure = self.session.failure(worst)
            label = _label(self.cases[calls[found.index(worst)][0]].workload)
            raise Failed(failure.status, f"{label}: {failure.log}", failure.max_rel_error)
        return outputs

    def judge(self, outputs: dict[_Call, Arrays]) -> None:
        """Compares every output with what must come out."""
        for case, copy, which in sorted(outputs):
            instance = self.cases[case].instances[which]
            verdict = judge(outputs[case, copy, which], instance.expected, instance.tolerance)
            if not verdict.is_right:
                text = f"{_label(self.cases[case].workload)}: {verdict.reason}"
                raise Failed(Status.WRONG_VALUE, text, verdict.max_rel_error)
            self.findings.max_rel_error = max(self.findings.max_rel_error, verdict.max_rel_error)


def _severity(outcome: int) -> int:
    """Tampering first, then what was not written."""
    return {TAMPERED: 0, UNWRITTEN: 1}.get(outcome, 2)


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
