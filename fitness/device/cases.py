"""The check stage on a GPU: the worker runs, this process judges."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..check import Case, Findings
from ..compare import Array, judge, same_bits
from ..evaluation import Status
from ..session import Failed
from ..task import Task
from .process import Arrays
from .session import Call, DeviceSession


def check_on_device(session: DeviceSession, task: Task, cases: Sequence[Case], at_once_bytes: int) -> Findings:
    """Judges a loaded kernel on all cases: equal inputs twice, then each other set of data of the same sizes.

    Args:
        session: The kernel's.
        task: What it computes.
        cases: What it must get right.
        at_once_bytes: Cases that are no larger together go to the worker at once; a wrong one among them stops no
            other, but a GPU that many share is waited for less often.

    Raises:
        Failed: The kernel is not right.
    """
    drawn = [cases[index] for index in np.random.default_rng(secrets.randbits(64)).permutation(len(cases))]
    for group in groups(drawn, at_once_bytes):
        calls: list[Call] = []
        sets: list[Mapping[str, Array]] = []
        for case in group:
            first = len(sets)
            sets += [instance.inputs for instance in case.instances]
            calls += [(case.workload.axes, number) for number in (first, *range(first, len(sets)))]
        answers = iter(session.call(calls, sets))
        for case in group:
            _judge_case(session, task, case, [next(answers) for _ in range(1 + len(case.instances))])
    if session.launches and cases:
        largest = max(cases, key=size_of)
        session.look_for_ghosts(largest.workload.axes, largest.instances[2])
    return Findings(session.max_rel_error, session.flags)


def _judge_case(session: DeviceSession, task: Task, case: Case, answers: Sequence[Arrays]) -> None:
    """Judges the outputs of two calls on the first set of data, and of one on each other."""
    label, (first, *others), (before, after, *further) = case.workload.name, case.instances, answers
    session.judge(before, first, label)
    if not same_bits(before, after) and (task.repeatable or not judge(after, first.expected, first.tolerance).is_right):
        raise Failed(Status.UNREPEATABLE, f"{label}: two calls on equal inputs give different results")
    for outputs, instance in zip(further, others, strict=True):
        session.judge(outputs, instance, label)


def groups(cases: Sequence[Case], most_bytes: int) -> Iterator[list[Case]]:
    """Yields cases in groups that are no larger, unless it is a single case."""
    group: list[Case] = []
    left = most_bytes
    for case in cases:
        size = size_of(case)
        if group and size > left:
            yield group
            group, left = [], most_bytes
        group.append(case)
        left -= size
    if group:
        yield group


def size_of(case: Case) -> int:
    """Returns bytes of what goes to a worker and, roughly, comes back."""
    one = case.instances[0]
    outputs = sum(array.nbytes for array in one.expected.values())
    return len(case.instances) * (sum(array.nbytes for array in one.inputs.values()) + outputs)


def affordable(cases: Sequence[Case], most_elements: int) -> Sequence[Case]:
    """Returns those of some cases whose inputs have no more elements, or the smallest, if none is so small.

    Of two dozen and more, only every second, third and so on, by size. All cases where ``most_elements`` is 0.
    """
    if not most_elements:
        return cases
    sized = [(sum(array.size for array in case.instances[0].inputs.values()), case) for case in cases]
    small = sorted((pair for pair in sized if pair[0] <= most_elements), key=lambda pair: pair[0])
    chosen = small[:: max(1, -(-len(small) // 12))] or [min(sized, key=lambda pair: pair[0])]
    return [case for _, case in chosen]
