"""A problem of KernelBench as a task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..admission import Admission, Check, admit
from ..errors import TaskError
from ..kernel import Kernel, read_source
from ..shirkers import COARSER_INPUTS, within
from ..task import Arrays, Cost, TensorSpec, Workload
from .eager import EAGER_LANGUAGES, eager_source
from .reference import Reference, reference

_OWN_TOLERANCE = 1e-4
"""KernelBench's, absolute and relative, for float32."""

_TRIED_WEIGHTS = 8
"""Of how many weights it is tried whether they matter."""

_SUFFIXES = {"cuda": ".cu", "hip": ".hip", "opencl": ".cl", "cpp": ".cpp"}
_ENTRY_POINTS = {"cuda": "kernel", "hip": "kernel", "opencl": "launch", "cpp": "kernel"}


@dataclass(frozen=True)
class KernelBench:
    """A problem file of KernelBench (Ouyang 2025, https://arxiv.org/abs/2502.10517), from the user's own checkout.

    The tensors of ``get_inputs`` are the inputs, by the names of ``forward``; the weights of ``Model`` follow by their
    own names, with ``_`` for ``.``; numbers among the inputs and everything in ``get_init_inputs`` are constants. The
    reference is the model in float64, in a process of its own. There is one size, the problem's, so a kernel gets no
    axes; data and weights are drawn anew for every workload. In the language ``torch`` its kernel is the model itself:
    the baselines ``eager``, ``compile`` and ``max_autotune`` of a GPU come from it.

    Attributes:
        level: Of the benchmark.
        problem: Its number within the level.
        root: The checkout, or the folder in it that holds ``level1``.
        sizes: Other values for numbers that the file defines at its top level, e.g. ``{"batch_size": 16}``.
        seed: A file with a correct kernel to start from. None: what is hosted by torch starts from the model itself.
        forced: Whether a problem that is not fit for search is let through.
        relative_tolerance: Largest error, relative to the larger of an element and its output's root mean square.
        compiled: Whether a run on a CPU times ``torch.compile`` too when it begins; compiling takes half a minute.
        timeout_s: Wall clock of one answer of the reference.

    Raises:
        TaskError: Level, problem or root is missing, there is no such file, or a number is out of range.
    """

    level: int | None = None
    problem: int | None = None
    root: str | None = None
    sizes: Mapping[str, int] | None = None
    seed: str | None = None
    forced: bool = False
    relative_tolerance: float = 1e-4
    compiled: bool = True
    timeout_s: float = 120.0
    axes: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.level is None or self.problem is None or self.root is None:
            raise TaskError("task=kernelbench needs level=N problem=N root=FOLDER, a checkout of KernelBench")
        if self.seed is not None and not Path(self.seed).is_file():
            raise TaskError(f"task.seed: {self.seed} is no file")
        for name, size in (self.sizes or {}).items():
            if type(size) is not int or size < 1:
                raise TaskError(f"task.sizes.{name}: must be a whole number of at least 1, is {size!r}")
        for name in ("relative_tolerance", "timeout_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise TaskError(f"task.{name}: must be more than 0 and finite, is {getattr(self, name)}")
        _ = self.path

    @cached_property
    def path(self) -> Path:
        """The problem's file.

        Raises:
            TaskError: There is none, or several.
        """
        root = Path(str(self.root))
        folders = [root / "KernelBench" / f"level{self.level}", root / f"level{self.level}"]
        folder = next((each for each in folders if each.is_dir()), None)
        if folder is None:
            raise TaskError(f"root: {root} holds no KernelBench/level{self.level}; give a checkout of KernelBench")
        found = sorted(folder.glob(f"{self.problem}_*.py"))
        if len(found) != 1:
            raise TaskError(f"problem: {folder} holds {len(found)} files {self.problem}_*.py, not one")
        return found[0]

    @property
    def name(self) -> str:
        """Level and number."""
        return f"kernelbench_{self.level}_{self.problem}"

    @cached_property
    def source(self) -> str:
        """The text of the problem's file."""
        return read_source(self.path)

    @property
    def _reference(self) -> Reference:
        return reference(self.source, tuple(sorted((self.sizes or {}).items())), self.timeout_s)

    @property
    def description(self) -> str:
        """The interface in words, and the model."""
        tensors = [*self.inputs.items(), *self.outputs.items()]
        told = "; ".join(f"{name}: {spec.dtype} {list(spec.shape)}" for name, spec in tensors)
        constants = "".join(f" {name} = {value!r}." for name, value in self._reference.facts["constants"].items())
        return (
            "Computes what the forward function of this PyTorch model does, in float32 accuracy. Weights are inputs, "
            f"in the order of the model's parameters. Shapes are fixed: {told}.{constants}\n\n"
            + str(self._reference.facts["source"]).strip()
        )

    @cached_property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """Arguments of ``forward`` that are tensors, then weights."""
        return _specs(self._reference.facts["inputs"])

    @cached_property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """``out``, or ``out0``, ``out1`` … when there are several."""
        return _specs(self._reference.facts["outputs"])

    @property
    def check_workloads(self) -> tuple[Workload, ...]:
        """One, of the problem's size."""
        return (Workload("check", {}, "given"),)

    @property
    def time_workloads(self) -> tuple[Workload, ...]:
        """One, of the problem's size."""
        return (Workload("time", {}, "given"),)

    def hidden_workloads(self, rng: np.random.Generator) -> tuple[Workload, ...]:
        """One: a problem has one size, so only the data are new."""
        return (Workload("hidden", {}, "given"),)

    def on_device(self) -> KernelBench:
        """Returns itself: a problem has one size."""
        return self

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draws what ``get_inputs`` gives and the weights of a new model."""
        return dict(self._reference.draw(int(rng.integers(1 << 62))))

    def reference(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """The model in float64."""
        return dict(self._reference.run(inputs))

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, NDArray[np.float64]]:
        """``relative_tolerance`` times the larger of an element and its output's root mean square; 0 for integers.

        The benchmark's own absolute part hides outputs that are small; see `admission`.
        """
        return {name: self._bound(value) for name, value in expected.items()}

    def _bound(self, value: NDArray[Any]) -> NDArray[np.float64]:
        if not np.issubdtype(value.dtype, np.floating):
            return np.zeros(value.shape)
        scale = float(np.sqrt(np.mean(np.square(value)))) if value.size else 0.0
        bound: NDArray[np.float64] = self.relative_tolerance * np.maximum(np.abs(value), scale)
        return bound

    def cost(self, workload: Workload) -> Cost:
        """Bytes of inputs and outputs; what arithmetic no algorithm avoids is not known of a foreign model."""
        specs = (*self.inputs.values(), *self.outputs.values())
        moved = sum(np.prod(spec.extent({}), dtype=float) * np.dtype(spec.dtype).itemsize for spec in specs)
        return Cost(flops=0.0, bytes=float(moved))

    def seed_kernel(self, language: str) -> Kernel:
        """Returns the user's kernel, else the model itself where torch hosts the language.

        Raises:
            TaskError: There is neither.
        """
        entry_point = _ENTRY_POINTS.get(language, "kernel_fn")
        if self.seed is not None:
            return Kernel(read_source(Path(self.seed)), language, entry_point)
        if language in EAGER_LANGUAGES:
            return Kernel(eager_source(self._reference.facts), language, entry_point)
        suffix = _SUFFIXES.get(language, ".py")
        raise TaskError(
            f"KernelBench brings no kernel in {language!r}: give a correct one to start from, task.seed=FILE{suffix}"
        )

    def admission(self, rng: np.random.Generator) -> Admission:
        """Puts the problem to the tests of all tasks, and to one more: zeros must fail the benchmark's own rule.

        Where they do not, results that others publish on the problem mean nothing.

        Raises:
            TaskError: The problem fails.
        """
        admission = admit(self, rng, draws=1, inputs=self._tried)  # there is one size, and one kind of data
        checks = [
            Check(each.name, True, each.reason and f"only advice: {each.reason}") if self._is_advice(each) else each
            for each in admission.checks
        ]
        expected = self.reference(self.make_inputs(self.time_workloads[0], rng))
        bounds = {name: _OWN_TOLERANCE * (1 + np.abs(value)) for name, value in expected.items()}
        zeros = all(within(np.zeros_like(value), value, bounds[name]) for name, value in expected.items())
        reason = f"zeros pass with its atol = rtol = {_OWN_TOLERANCE:g}" if zeros else ""
        return Admission(self.name, (*checks, Check("zeros fail KernelBench's own rule", not zeros, reason)))

    def _is_advice(self, check: Check) -> bool:
        """Whether a problem may fail a check.

        On long sums of positive numbers, no output tells TF32 from float32; a bias that a normalisation takes out again
        may be left out, which saves nothing.
        """
        weight = check.name.partition(" matters: ")[2]
        is_bias = weight in self._reference.facts["state"] and len(self.inputs[weight].shape) == 1
        return check.name == f"{COARSER_INPUTS} fail" or is_bias

    @property
    def _tried(self) -> list[str]:
        """The data, and of the weights a few, evenly spaced: deep models have hundreds, and take seconds a call."""
        weights = list(self._reference.facts["state"])
        step = -(-len(weights) // _TRIED_WEIGHTS) or 1
        return [name for name in self.inputs if name not in weights] + weights[::step]

    def examine(self, rng: np.random.Generator) -> None:
        """Refuses a problem that is not fit for search, unless it is forced.

        Raises:
            TaskError: It is not; the message has the reasons.
        """
        if self.forced:
            return
        reasons = self.admission(rng).reasons
        if reasons:
            told = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more" if len(reasons) > 3 else "")
            raise TaskError(f"{self.name} is not fit for search ({told}); task.forced=true runs it all the same")

    def torch_latencies(self, threads: int) -> dict[str, float]:
        """Returns the median latency of torch on ``threads`` of this CPU, in µs: eager, and compiled where that works.

        Raises:
            TaskError: The model fails.
        """
        found = {"eager_us": float(np.median(self._reference.seconds(False, threads, 0.5))) * 1e6}
        if self.compiled:
            with suppress(TaskError):  # a model that torch.compile cannot, or not in time
                found["compile_us"] = float(np.median(self._reference.seconds(True, threads, 0.5))) * 1e6
        return found


def _specs(forms: list[dict[str, Any]]) -> dict[str, TensorSpec]:
    return {each["name"]: TensorSpec(each["dtype"], tuple(each["shape"])) for each in forms}
