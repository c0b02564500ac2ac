"""A task as small as one can be: y = 2 x, for tests of the evaluator itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fitness import Cost, Kernel, TaskError, TensorSpec, Workload

SEED = """\
extern "C" void kernel(const float* x, float* y, long N) {
    for (long i = 0; i < N; i++) {
        volatile float value = x[i];
        y[i] = value + value;
    }
}
"""
PLAIN = 'extern "C" void kernel(const float* x, float* y, long N) { for (long i = 0; i < N; i++) y[i] = 2.0f * x[i]; }'
HEAD = 'extern "C" void kernel(const float* x, float* y, long N) '


@dataclass(frozen=True)
class Twice:
    """Doubles a vector."""

    name: str = "twice"
    description: str = "y[i] = 2 x[i]."
    axes: tuple[str, ...] = ("N",)
    repeatable: bool = True
    seed: str = SEED
    inputs: dict = field(default_factory=lambda: {"x": TensorSpec("float32", ("N",))})
    outputs: dict = field(default_factory=lambda: {"y": TensorSpec("float32", ("N",))})
    check_workloads: tuple = (Workload("check-1", {"N": 1}), Workload("check-257", {"N": 257}))
    time_workloads: tuple = (Workload("time-20000", {"N": 20000}),)

    def make_inputs(self, workload, rng):
        return {"x": rng.standard_normal(workload.axes["N"]).astype(np.float32)}

    def reference(self, inputs):
        return {"y": 2.0 * inputs["x"].astype(np.float64)}

    def tolerance(self, inputs, expected):
        return {"y": 1e-6 * np.abs(expected["y"])}

    def cost(self, workload):
        return Cost(flops=workload.axes["N"], bytes=8.0 * workload.axes["N"])

    def hidden_workloads(self, rng):
        return (Workload("hidden", {"N": int(rng.integers(2, 500))}), Workload("empty", {"N": 0}))

    def seed_kernel(self, language):
        if language != "cpp":
            raise TaskError(f"no seed in {language}")
        return Kernel(self.seed, "cpp")
