"""Kernels that shirk: what must fail on every task that is fit for search, as pure functions.

Each takes a `Sample`, one draw of a workload, and yields the outputs of one or several kernels that
compute nothing, not all, something else, or too coarsely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .task import Arrays, Task, Workload

Outputs = dict[str, NDArray[Any]]

_DRAWS_OF_MEAN = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """One draw of a workload with everything that judging needs."""

    task: Task
    workload: Workload
    inputs: Arrays
    expected: Arrays
    tolerance: Arrays
    timed: bool

    @classmethod
    def drawn(cls, task: Task, workload: Workload, rng: np.random.Generator, timed: bool) -> Sample:
        """Draws inputs and computes what is expected."""
        inputs = task.make_inputs(workload, rng)
        expected = task.reference(inputs)
        return cls(task, workload, inputs, expected, task.tolerance(inputs, expected), timed)

    def accepts(self, outputs: Arrays) -> bool:
        """Whether every element of every output is within its tolerance."""
        return all(within(outputs[name], self.expected[name], self.tolerance[name]) for name in self.expected)

    def with_inputs(self, inputs: Arrays) -> Outputs:
        """The expected outputs for other inputs."""
        return self.task.reference(inputs)


Shirker = Callable[[Sample, np.random.Generator], Iterator[Outputs]]


def _zeros(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    yield {name: _all(0.0, value) for name, value in sample.expected.items()}


def _all(number: float, like: NDArray[Any]) -> NDArray[Any]:
    """An array full of one number that takes no memory; outputs may hold gigabytes."""
    return np.broadcast_to(np.float64(number), like.shape)


def _constants(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    """The constant of each output that has the best chance: the middle of the allowed intervals."""
    if _is_one_number(sample):
        return
    middle = {}
    for name, value in sample.expected.items():
        low, high = (value - sample.tolerance[name]).max(), (value + sample.tolerance[name]).min()
        middle[name] = _all(low / 2 + high / 2, value)
    yield middle
    for statistic in (np.mean, np.median, np.max, np.min):
        yield {name: _all(float(statistic(value)), value) for name, value in sample.expected.items()}


def _expected_value(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    """The mean of the answers to other draws: what is known without looking at the inputs."""
    mean = {name: np.zeros(value.shape) for name, value in sample.expected.items()}
    for _ in range(_DRAWS_OF_MEAN):
        answer = sample.with_inputs(sample.task.make_inputs(sample.workload, rng))
        for name in mean:
            mean[name] += answer[name] / _DRAWS_OF_MEAN
    yield mean


def _replay(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    yield sample.with_inputs(sample.task.make_inputs(sample.workload, rng))


def _identity(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    """Each input as it lies in memory, cut or repeated to the size of the output."""
    for source in sample.inputs.values():
        yield {name: np.resize(source, value.shape) for name, value in sample.expected.items()}


def _shuffled(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    if _is_one_number(sample):
        return
    yield {name: rng.permutation(value.ravel()).reshape(value.shape) for name, value in sample.expected.items()}
    yield {name: np.roll(value.ravel(), 1).reshape(value.shape) for name, value in sample.expected.items()}
    yield {name: value.ravel()[::-1].reshape(value.shape) for name, value in sample.expected.items()}


def _is_one_number(sample: Sample) -> bool:
    """Whether every output is a single number, which is a constant and in order whatever it is."""
    return all(value.size == 1 for value in sample.expected.values())


def _scaled(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    for factor in (0.999, 1.001, -1.0):
        yield {name: factor * value.astype(np.float64) for name, value in sample.expected.items()}


def _partial(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    """The last eighth, or all but the first half, left at zero."""
    for kept in (7 / 8, 1 / 2):
        outputs = {name: value.copy() for name, value in sample.expected.items()}
        for value in outputs.values():
            value.reshape(-1)[int(kept * value.size) :] = 0
        yield outputs


def _coarse_inputs(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
    """Inputs with the significant bits of the next coarser type, and their own range.

    Of float32 the eleven of fp16 and TF32 are kept, of float16 the eight of bfloat16.
    """
    yield sample.with_inputs({name: _coarser(value) for name, value in sample.inputs.items()})


COARSER_INPUTS = "coarser inputs"

SHIRKERS: dict[str, Shirker] = {
    "zeros": _zeros,
    "constants": _constants,
    "expected values": _expected_value,
    "answers to other inputs": _replay,
    "inputs passed through": _identity,
    "shuffled outputs": _shuffled,
    "scaled outputs": _scaled,
    "partial outputs": _partial,
    COARSER_INPUTS: _coarse_inputs,
}
"""Kernels that shirk; the evaluator must refuse every one of them."""


def redrawn(name: str) -> Shirker:
    """A kernel that looks at another draw of one input."""

    def outputs(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
        other = sample.task.make_inputs(sample.workload, rng)
        yield sample.with_inputs({**sample.inputs, name: other[name]})

    return outputs


def half_redrawn(name: str) -> Shirker:
    """A kernel that reads only one half of an input, whichever: the other half is of another draw."""

    def outputs(sample: Sample, rng: np.random.Generator) -> Iterator[Outputs]:
        own, other = sample.inputs[name], sample.task.make_inputs(sample.workload, rng)[name]
        for half in (slice(own.size // 2), slice(own.size // 2, None)):
            mixed = own.copy()
            if mixed.reshape(-1)[half].size:  # one number has no first half
                mixed.reshape(-1)[half] = other.reshape(-1)[half]
                yield sample.with_inputs({**sample.inputs, name: mixed})

    return outputs


def within(actual: NDArray[Any], expected: NDArray[Any], tolerance: NDArray[Any]) -> bool:
    """The evaluator's rule: ``|actual - expected| <= tolerance`` for every element; NaN is outside."""
    if actual.shape != expected.shape:
        return False
    pieces = np.nditer(  # a wrong output is mostly wrong at once
        [actual, expected, tolerance],
        ["buffered", "external_loop", "zerosize_ok"],
        op_dtypes=[np.float64] * 3,
        buffersize=_PIECE,
    )
    with pieces, np.errstate(invalid="ignore", over="ignore"):
        return all(bool((np.abs(ours - theirs) <= bound).all()) for ours, theirs, bound in pieces)


_PIECE = 1 << 16
"""Elements that are compared at once."""


_COARSER = {"float32": (np.uint32, 13), "float16": (np.uint16, 3)}
"""Type of the bits and how many of them the next coarser type lacks."""


def _coarser(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.name not in _COARSER:
        return values
    kind, dropped = _COARSER[values.dtype.name]
    bits = values.view(kind).astype(np.uint64)
    bits += (bits >> np.uint64(dropped)) & np.uint64(1)
    bits += np.uint64((1 << (dropped - 1)) - 1)
    bits >>= np.uint64(dropped)
    bits <<= np.uint64(dropped)
    kept: NDArray[Any] = bits.astype(kind)
    return kept.view(values.dtype)
