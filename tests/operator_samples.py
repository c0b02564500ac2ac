"""Parents and briefs for the tests of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitness import Evaluation, Kernel, Measurement, Status
from fitness.languages import Cpp
from fitness.targets import Cpu
from fitness.tasks import Matmul, RowSum, Softmax
from operators import Brief

TASKS = {"softmax": Softmax, "row_sum": RowSum, "matmul": Matmul}


@dataclass(frozen=True)
class Sample:
    """A parent."""

    kernel: Kernel
    evaluation: Evaluation


def cpp_brief(task: str = "softmax", **more: Any) -> Brief:
    return Brief(TASKS[task](), Cpu(), Cpp(), **more)


def failed(status: Status, log: str, source: str = "int broken;\n") -> Sample:
    kernel = Kernel(source, "cpp")
    return Sample(kernel, Evaluation(kernel.digest, status, log=log))


def timed(speedup: float = 2.0, source: str | None = None, task: str = "softmax") -> Sample:
    kernel = Kernel(source, "cpp") if source is not None else TASKS[task]().seed_kernel("cpp")
    name = TASKS[task]().time_workloads[0].name
    measurement = Measurement(name, (50.0,), (100.0,), 50.0, 100.0, speedup, (speedup, speedup))
    evaluation = Evaluation(
        kernel.digest,
        Status.OK,
        (measurement,),
        latency_us=100.0 / speedup,
        reference_latency_us=100.0,
        speedup=speedup,
        interval=(speedup, speedup),
    )
    return Sample(kernel, evaluation)
