"""What is to be computed: the problem that a kernel solves, with its own measure of right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .kernel import Kernel

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Type and symbolic shape of one input or output.

    Attributes:
        dtype: NumPy's name of the element type, e.g. ``"float32"``.
        shape: Axis names, e.g. ``("M", "N")``; an ``int`` is a fixed extent.
    """

    dtype: str
    shape: tuple[str | int, ...]

    def extent(self, axes: Mapping[str, int]) -> tuple[int, ...]:
        """Returns the shape with every axis name replaced by its size."""
        return tuple(axis if isinstance(axis, int) else axes[axis] for axis in self.shape)


@dataclass(frozen=True, slots=True)
class Workload:
    """One concrete instance of a task: its sizes and the distribution of its inputs.

    Attributes:
        name: Unique among the workloads of a task, e.g. ``"check-prime-wide"``.
        axes: Size of each axis, e.g. ``{"M": 4096, "N": 4096}``.
        distribution: How the inputs are drawn; the task says which names it knows.
    """

    name: str
    axes: Mapping[str, int]
    distribution: str = "normal"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a workload must do at least, on any hardware.

    Attributes:
        flops: Floating-point operations that no algorithm for the task avoids.
        bytes: Bytes of inputs and outputs, each counted once.
    """

    flops: float
    bytes: float


class Task(Protocol):
    """A problem: inputs, a trusted reference, tolerances, and a correct and slow kernel to start from.

    Attributes:
        name: As in configuration, e.g. ``"softmax"``.
        description: A few sentences for people and for prompts: the mathematics and the layout.
        axes: Names of the axes in the order in which a C-like kernel receives them.
        inputs: In the order in which a kernel receives them.
        outputs: In the order in which a kernel receives or returns them.
        check_workloads: Small and awkward sizes and several distributions; for correctness.
        time_workloads: The sizes whose latency is the objective; their outputs are judged too.
        repeatable: Whether two calls on equal inputs must give equal bits. When ``False`` they
            may differ within the tolerance.
    """

    # Properties, because a plain attribute of a protocol would have to be settable: no frozen dataclass has those.
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def description(self) -> str: ...  # noqa: D102
    @property
    def axes(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def inputs(self) -> Mapping[str, TensorSpec]: ...  # noqa: D102
    @property
    def outputs(self) -> Mapping[str, TensorSpec]: ...  # noqa: D102
    @property
    def check_workloads(self) -> Sequence[Workload]: ...  # noqa: D102
    @property
    def time_workloads(self) -> Sequence[Workload]: ...  # noqa: D102
    @property
    def repeatable(self) -> bool: ...  # noqa: D102

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draws contiguous inputs of the declared types and shapes.

        Timed calls get mixtures of independent draws, so that no two have the same data: each element of a
        floating-point input comes from one of two draws, an input that is sorted becomes a weighted mean
        of two, and an input of integers is taken whole from one.
        """
        ...

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Computes the expected outputs in float64 (or exactly, for integers)."""
        ...

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, NDArray[np.float64]]:
        """Returns, for each output, the largest absolute error of every element.

        Derived from the declared type, the length of the reductions and the magnitude of the
        data; broadcastable to the output's shape.
        """
        ...

    def cost(self, workload: Workload) -> Cost:
        """Returns what the workload must compute and move at least."""
        ...

    def hidden_workloads(self, rng: np.random.Generator) -> Sequence[Workload]:
        """Draws sizes and distributions that no kernel has seen, for the secret part of the check."""
        ...

    def seed_kernel(self, language: str) -> Kernel:
        """Returns a correct, naive kernel.

        Raises:
            TaskError: There is none in this language.
        """
        ...
