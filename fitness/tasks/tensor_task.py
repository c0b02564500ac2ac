"""What all shipped tasks share: declared tensors, workloads made from sizes, seeds read from files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import TaskError
from ..kernel import Kernel, read_source
from ..task import Cost, TensorSpec, Workload
from .distributions import draw, rounded

Sizes = Sequence[Mapping[str, int]]

_ENTRY_POINTS = {".py": "kernel_fn", ".cl": "launch"}

_MOST_ELEMENTS = 1 << 40  # of a tensor; no machine that we know of has the memory
_SEEDS = Path(__file__).parent / "seeds"
_SUFFIXES = {
    "cpp": ".cpp",
    "cuda": ".cu",
    "hip": ".hip",
    "opencl": ".cl",
    "triton": "_triton.py",
    "torch": "_torch.py",
    "cute": "_cute.py",
    "flydsl": "_flydsl.py",
    "numba": "_numba.py",
    "triton_mtia": "_triton.py",
    "mtia_cpp": "_mtia.cpp",
}


@dataclass(frozen=True)
class TensorTask:
    """A task on dense tensors. Members add the mathematics: `reference`, `tolerance`, `flops`.

    Contract of all of them: tensors are row-major and contiguous, every axis is at least 1, buffers
    do not overlap, no input is NaN or infinite.

    Attributes:
        time_sizes: Axis sizes of the timed workloads.
        check_sizes: Axis sizes of the workloads that are only checked.
        repeatable: Whether two calls on equal inputs must give equal bits.
        seeds: A folder with seed kernels of your own, named like those in ``seeds/``; they come first.
        device_sizes: Axis sizes that keep a GPU busy, for the timed workloads there.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    axes: ClassVar[tuple[str, ...]]
    inputs: ClassVar[Mapping[str, TensorSpec]]
    outputs: ClassVar[Mapping[str, TensorSpec]]
    distributions: ClassVar[tuple[str, ...]] = (
        "normal",
        "positive",
        "shifted",
        "huge",
        "tiny",
        "sparse",
        "mixed",
        "near_constant",
    )
    scales: ClassVar[Mapping[str, float]] = {"huge": 1e15, "tiny": 1e-15}
    device_sizes: ClassVar[Sizes]
    hidden_limit: ClassVar[int] = 300
    hidden_count: ClassVar[int] = 8

    time_sizes: Sizes
    check_sizes: Sizes
    repeatable: bool = True
    seeds: str = ""

    def __post_init__(self) -> None:
        for kind in ("time_sizes", "check_sizes"):
            sizes = getattr(self, kind)
            if not sizes:
                raise TaskError(f"{self.name}: {kind} must name at least one size")
            for axes in sizes:
                if set(axes) != set(self.axes) or not all(type(n) is int and n >= 1 for n in axes.values()):
                    raise TaskError(f"{self.name}: {kind} needs {', '.join(self.axes)} >= 1, not {dict(axes)}")
                specs = [*self.inputs.values(), *self.outputs.values()]
                if max(math.prod(spec.extent(axes)) for spec in specs) > _MOST_ELEMENTS:
                    raise TaskError(f"{self.name}: {kind} has a tensor beyond any memory at {dict(axes)}")

    def on_device(self) -> Self:
        """Returns the same task with timed workloads that keep a GPU busy; sizes given by hand stay."""
        default = [dict(axes) for axes in type(self)().time_sizes]  # type: ignore[call-arg]  # members have defaults
        chosen = [dict(axes) for axes in self.time_sizes]
        return self if chosen != default else replace(self, time_sizes=self.device_sizes)

    @property
    def time_workloads(self) -> tuple[Workload, ...]:
        """One workload a timed size, drawn from N(0, 1)."""
        return tuple(Workload(f"time-{_label(axes)}", dict(axes)) for axes in self.time_sizes)

    @property
    def check_workloads(self) -> tuple[Workload, ...]:
        """Each size with one of the distributions in turn, and the largest size with all of them."""
        kinds = self.distributions
        largest = max(self.check_sizes, key=lambda axes: int(np.prod([*axes.values()])))
        turns = [(kinds[i % len(kinds)], axes) for i, axes in enumerate(self.check_sizes)]
        named = {
            f"check-{kind}-{_label(axes)}": (kind, axes) for kind, axes in [*turns, *((k, largest) for k in kinds)]
        }
        return tuple(Workload(name, dict(axes), kind) for name, (kind, axes) in named.items())

    def hidden_workloads(self, rng: np.random.Generator) -> tuple[Workload, ...]:
        """Draws sizes log-uniformly up to ``hidden_limit`` and a distribution for each."""
        return tuple(
            Workload(
                f"hidden-{i}",
                {axis: int(np.exp(rng.uniform(0.0, np.log(self.hidden_limit + 1)))) for axis in self.axes},
                str(rng.choice(self.distributions)),
            )
            for i in range(self.hidden_count)
        )

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draws all inputs from the workload's distribution."""
        return {
            name: rounded(draw(workload.distribution, spec.extent(workload.axes), rng, self.scales), _drawn_as(spec))
            for name, spec in self.inputs.items()
        }

    def cost(self, workload: Workload) -> Cost:
        """Counts every input and output once, and the operations that `flops` names."""
        specs = [*self.inputs.values(), *self.outputs.values()]
        sizes = [np.prod(spec.extent(workload.axes), dtype=float) * np.dtype(spec.dtype).itemsize for spec in specs]
        return Cost(flops=float(self.flops(workload.axes)), bytes=float(sum(sizes)))

    def flops(self, axes: Mapping[str, int]) -> float:
        """Floating-point operations that no algorithm for the task avoids."""
        raise NotImplementedError

    def seed_kernel(self, language: str) -> Kernel:
        """Reads the naive kernel of a language.

        Raises:
            TaskError: There is none in this language.
        """
        return self._read(language, "")

    def variant_kernel(self, language: str, variant: str) -> Kernel:
        """Reads another correct kernel of a language, e.g. the ``"tunable"`` one that declares tunables.

        Raises:
            TaskError: There is none in this language.
        """
        return self._read(language, f"_{variant}")

    def _read(self, language: str, variant: str) -> Kernel:
        suffix = f"{variant}{_SUFFIXES.get(language, f'_{language}.txt')}"
        for folder in (Path(self.seeds), _SEEDS) if self.seeds else (_SEEDS,):
            path = folder / f"{self.name}{suffix}"
            if path.is_file():
                entry_point = _ENTRY_POINTS.get(path.suffix, "kernel")
                return Kernel(read_source(path), language, entry_point)
        wanted = f"{self.name}{suffix}"
        raise TaskError(
            f"{self.name} has no seed kernel in {language!r}; write {wanted} and give its folder as +task.seeds=FOLDER"
        )


def _label(axes: Mapping[str, int]) -> str:
    return "x".join(str(size) for size in axes.values())


def _drawn_as(spec: TensorSpec) -> str:
    """The type of a drawn input; whole numbers are put in their place by the task."""
    return spec.dtype if spec.dtype.startswith("float") else "float32"


def float32(*shape: str | int) -> TensorSpec:
    """A float32 tensor of symbolic shape."""
    return TensorSpec("float32", shape)


def float64(values: NDArray[Any]) -> NDArray[np.float64]:
    """The same numbers in float64, exactly."""
    return values.astype(np.float64)
