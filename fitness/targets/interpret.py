"""No hardware: GPU kernels run on this CPU, for verdicts and never for times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..bench import Bench
from ..check import Findings
from ..contest import Contest
from ..device import DeviceBench
from ..errors import TaskError
from ..host_bench import HostBench
from ..material import Material
from ..sandbox import Sandbox
from ..session import Artifact
from ..settings import Settings
from ..target import Target
from ..task import Task


class InterpretBench(Bench):
    """Shared objects run like any on the CPU; Python modules run in Triton's interpreter."""

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, settings: Settings) -> None:
        """Starts nothing yet.

        Raises:
            TaskError: The task is in bfloat16, which Triton's interpreter computes wrongly without a word.
        """
        specs = [*task.inputs.values(), *task.outputs.values()]
        if any(spec.dtype == "bfloat16" for spec in specs):
            raise TaskError(
                f"task {task.name!r} is in bfloat16, which Triton's interpreter computes wrongly; use a GPU"
            )
        self._host = HostBench(sandbox, task, target, settings)
        self._python = DeviceBench(sandbox, task, target, settings)
        super().__init__(sandbox, task, target, settings, self._host.gate)

    def check(self, artifact: Artifact, material: Material, device: int) -> Findings:
        """Judges an artifact; see the benches that do it.

        Raises:
            Failed: It is not right.
        """
        if artifact.kind == "python_module":
            return self._python.check(artifact, material, device)
        return self._host.check(artifact, material, device)

    def contest(
        self, first: Artifact, second: Artifact, material: Material, device: int, rng: np.random.Generator
    ) -> Contest:
        """There are no times.

        Raises:
            TaskError: Always.
        """
        raise TaskError("target=interpret gives verdicts and no times; a search needs a target that measures time")

    def peaks(self) -> tuple[float, float]:
        """There are none.

        Raises:
            TaskError: Always.
        """
        raise TaskError("target=interpret has no peaks")

    def close(self) -> None:
        """Ends all workers."""
        self._python.close()


@dataclass(frozen=True)
class Interpret:
    """GPU kernels without a GPU. Correct is ``ok`` with the flag ``not_timed``; a search refuses it.

    CUDA and HIP sources run as fibers, one a thread (`fitness/workers/simt.h`); Triton modules run in
    Triton's own interpreter. Neither finds races that the order of its threads does not show, and
    neither knows a GPU's limits: compile ahead of time as well.

    Attributes:
        spares: Workers that wait ready.
        most_elements: Check cases with more input elements are left out: interpreting is slow.
    """

    name: str = "interpret"
    arch: str = "native"
    measures_time: bool = False
    threads: int = 1
    spares: int = 1
    most_elements: int = 5000
    bench = InterpretBench

    def environment(self, device: int) -> dict[str, str]:
        """Returns the variables of a worker."""
        return {"KERNELWRIGHT_DEVICE": "cpu", "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "LC_ALL": "C"}

    def device_files(self) -> tuple[Path, ...]:
        """Returns what torch reads about the processor."""
        return (Path("/proc"), Path("/sys/devices/system/cpu"))

    def describe(self) -> Mapping[str, str]:
        """Returns that there is no hardware."""
        return {"hardware": "none: kernels are interpreted on the CPU"}
