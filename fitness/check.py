"""The check stage: is a kernel right, on sizes and data that it has not seen?"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import place, plan_of, sources_of, table_bytes
from .compare import errors, judge, largest_finite, same_bits
from .errors import TaskError
from .evaluation import Status
from .native import FINE, SEAL, Plan
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
    static: Callable[[], Mapping[str, float]] = dict  # waits for who reads its binaries
    observed: tuple[str, ...] = ()  # sentences of a profiler
    compile_s: float = 0.0  # that it spent in compilers of its own, of the time of its calls
    rehearse_s: float = 0.0  # that it was made ready for being timed, beside that


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
    inputs = {name: np.asarray(array, order="C") for name, array in task.make_inputs(workload, rng).items()}
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
    changed = array.copy()
    if array.size and not is_sorted(array):
        chosen = rng.integers(0, array.size, 3)
        changed.reshape(-1)[chosen] = other.reshape(-1)[chosen]
    return changed


def is_sorted(array: NDArray[Any]) -> bool:
    """Whether every row (along the last axis) has several elements and ascends, as the borders of buckets must."""
    return array.ndim > 0 and array.shape[-1] > 1 and bool((array[..., :-1] <= array[..., 1:]).all())


_Call = tuple[int, int, int]
"""Index of the case, which copy of its buffers, which of its instances."""


class Layout:
    """Where the buffers of all cases lie in one arena, and what must be found there; every case has them twice.

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
        several = range(len(cases))
        self.first = Round(task, cases, self.plans, [(case, 0, 0) for case in several])
        self.near = Round(task, cases, self.plans, [(case, copy, copy) for case in several for copy in (0, 1)])
        self.other = Round(task, cases, self.plans, [(case, 0, 2) for case in several])


class Round:
    """Calls that are made by one order to the process, with what must come out of all of them.

    Attributes:
        calls: In the order in which outputs are compared, whatever the order of calling.
    """

    def __init__(self, task: Task, cases: Sequence[Case], plans: Sequence[Plan], calls: Sequence[_Call]) -> None:
        self.calls, self._task, self._cases = calls, task, cases
        self._plans = [plans[2 * case + copy] for case, copy, _ in calls]
        self._sources = [sources_of(task, [cases[case].instances[which].inputs]) for case, _, which in calls]
        self._spans = {name: self._span(index) for index, name in enumerate(task.outputs)}
        self._expected = {name: self._flat(lambda i, n: i.expected[n], name) for name in task.outputs}
        self._tolerance = {name: self._flat(_tolerance_of, name) for name in task.outputs}
        self._scale = {name: self._flat(_scale_of, name) for name in task.outputs}

    def _span(self, index: int) -> list[tuple[int, int]]:
        inputs = len(self._task.inputs)
        buffers = [
            (plan.origin[1] + plan.buffer[inputs + index].offset, plan.buffer[inputs + index]) for plan in self._plans
        ]
        return [(at, at + buffer.bytes) for at, buffer in buffers]

    def _flat(self, get: Callable[[Instance, str], NDArray[Any]], name: str) -> NDArray[Any]:
        parts = [get(self._cases[case].instances[which], name).reshape(-1) for case, _, which in self.calls]
        return np.concatenate(parts)

    def take(self, session: Session, order: Sequence[int], dirty: int) -> Arrays:
        """Makes the calls in the given order and returns all outputs, one call after the other.

        Raises:
            Failed: Something was tampered with or left unwritten, or the process did not come back.
        """
        count, where = len(order), ctypes.c_uint32()
        plans = (ctypes.c_void_p * count)(*(ctypes.addressof(self._plans[index]) for index in order))
        sources = (ctypes.c_void_p * count)(*(ctypes.addressof(self._sources[index]) for index in order))
        draws = np.zeros((count, 2), dtype=np.uint64)
        draws[:, 1] = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
        side, native = ctypes.byref(session.side), session.driver
        native.kw_fill_all(side, plans, sources, draws.ctypes.data, count)
        session.call(count, dirty)
        outputs = {
            name: session.arena.gather(self._spans[name], spec.dtype) for name, spec in self._task.outputs.items()
        }
        worst = native.kw_inspect_all(side, plans, sources, draws.ctypes.data, count, ctypes.byref(where))
        if worst != FINE:
            failure = session.failure(worst)
            label = _label(self._cases[self.calls[order[where.value]][0]].workload)
            raise Failed(failure.status, f"{label}: {failure.log}", failure.max_rel_error)
        return outputs

    def judge(self, outputs: Arrays) -> float:
        """Compares all elements of all outputs; returns the largest relative error.

        Raises:
            Failed: One is wrong.
        """
        worst = 0.0
        for name, found in outputs.items():
            error = errors(found, self._expected[name])
            if not bool((error <= self._tolerance[name]).all()) or not bool(np.isfinite(error).all()):
                raise self._first_wrong(outputs)
            worst = max(worst, float((error * self._scale[name]).max(initial=0.0)))
        return worst

    def _first_wrong(self, outputs: Arrays) -> Failed:
        for index, (case, _, which) in enumerate(self.calls):
            instance, workload = self._cases[case].instances[which], self._cases[case].workload
            verdict = judge(self.one(outputs, index), instance.expected, instance.tolerance)
            if not verdict.is_right:
                return Failed(Status.WRONG_VALUE, f"{_label(workload)}: {verdict.reason}", verdict.max_rel_error)
        raise AssertionError("two ways to compare the same outputs disagree")

    def one(self, outputs: Arrays, index: int) -> Arrays:
        """Returns the outputs of one call, in their shapes."""
        workload, found = self._cases[self.calls[index][0]].workload, {}
        for name, spec in self._task.outputs.items():
            item = np.dtype(spec.dtype).itemsize
            sizes = [(stop - start) // item for start, stop in self._spans[name][: index + 1]]
            found[name] = outputs[name][sum(sizes[:-1]) : sum(sizes)].reshape(spec.extent(workload.axes))
        return found

    def compare(self, before: Arrays, after: Arrays) -> None:
        """Compares two runs on equal inputs.

        Raises:
            Failed: They differ by more than the task allows.
        """
        if same_bits(before, after):
            return
        for index, (case, _, which) in enumerate(self.calls):
            first, second = self.one(before, index), self.one(after, index)
            if same_bits(first, second):
                continue
            instance = self._cases[case].instances[which]
            verdict = judge(second, instance.expected, instance.tolerance)
            if self._task.repeatable or not verdict.is_right:
                text = f"{_label(self._cases[case].workload)}: two calls on equal inputs give different results"
                raise Failed(Status.UNREPEATABLE, text, verdict.max_rel_error)


def check(session: Session, layout: Layout) -> Findings:
    """Judges a loaded kernel in rounds over all cases, each round one order to the process.

    1. First data. 2. The same in the same buffers, with a dirty stack and heap and another poison; every bit must
    agree (or, for a task that is not repeatable, stay within tolerance). 3. First data, and straight after it the
    same but for a few elements, in other buffers. 4. Other data in the first buffers. 5. First data, on pages that
    cannot be written: what was right so often and crashes now writes to its inputs.

    The first round that fails decides; within it the order is tampered, wrong value, unrepeatable.

    Raises:
        Failed: The kernel is not right.
    """
    count = len(layout.first.calls)
    order = np.random.default_rng(secrets.randbits(64)).permutation(count).tolist()
    before = layout.first.take(session, order, _CLEAN)
    worst = layout.first.judge(before)
    layout.first.compare(before, layout.first.take(session, order[::-1], _DIRTY[0]))
    pairs = [2 * index + copy for index in order for copy in (0, 1)]
    worst = max(worst, layout.near.judge(layout.near.take(session, pairs, _DIRTY[1])))
    worst = max(worst, layout.other.judge(layout.other.take(session, order[::-1], _DIRTY[0])))
    session.exchange(SEAL, *layout.inputs)
    try:
        sealed = layout.first.take(session, order, _CLEAN)
    except Failed as failure:
        if failure.status is Status.CRASHED:
            raise Failed(Status.TAMPERED, "it writes to its inputs") from failure
        raise
    return Findings(max(worst, layout.first.judge(sealed)))


def _tolerance_of(instance: Instance, name: str) -> NDArray[Any]:
    return np.broadcast_to(instance.tolerance[name], instance.expected[name].shape)


def _scale_of(instance: Instance, name: str) -> NDArray[Any]:
    """What an error is multiplied by to be relative to the largest expected magnitude."""
    wanted = instance.expected[name]
    return np.full(wanted.shape, 1.0 / (largest_finite(wanted) or 1.0))


def _label(workload: Workload) -> str:
    sizes = ", ".join(f"{axis}={size}" for axis, size in workload.axes.items())
    return f"{workload.name} ({sizes}; {workload.distribution})"
