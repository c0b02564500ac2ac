"""What else computes a task: torch, eager and compiled, and the vendor's libraries, timed in the same run as a kernel.

A speedup over a naive seed says little about tuned code, so kernels that are worth it are timed
against each of these, in pairs, by the stopwatch and under the rules that kernels are judged by:
declared precision (no TF32), data that no call has seen, outputs of timed calls judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .bench import Bench
from .build import Builder
from .contest import Rival
from .errors import TaskError
from .evaluation import Baseline
from .kernel import Kernel
from .languages.torch import Torch
from .material import Material
from .session import Artifact
from .statistics import ratio_interval
from .target import Target
from .task import Task

BASELINES: Mapping[str, str] = {
    "eager": "torch's operations, one after another",
    "compile": "torch.compile",
    "max_autotune": "torch.compile, max-autotune",
    "library": "a fused or vendor's call",
}
"""What can be measured, and what it is in words."""

_COMPILED = """

import torch
import torch._dynamo.config
import torch._inductor.config

torch._dynamo.config.recompile_limit = 256  # each size is compiled; beyond the limit it would silently run eagerly
torch._inductor.config.compile_threads = 1  # processes of its own would need more than a confined worker has
kernel_fn = torch.compile(kernel_fn, dynamic=False{mode})
"""
# CUDA graphs are left out of max-autotune: they would copy inputs that are new for every call, at the baseline's cost.
_MODES = {"compile": "", "max_autotune": ', mode="max-autotune-no-cudagraphs"'}


def check_baselines(names: Sequence[str], target: Target) -> None:
    """Refuses names that are unknown, and any where workers do not run torch.

    Raises:
        ValueError: There is such a name.
    """
    for name in names:
        if name not in BASELINES:
            raise ValueError(f"evaluator.baselines knows {', '.join(BASELINES)}; it does not know {name!r}")
    if names and not getattr(target, "is_device", False):
        raise ValueError(f"evaluator.baselines must be [] for target={target.name}: torch is timed on GPUs only")


def baseline_kernel(task: Task, name: str) -> Kernel | None:
    """Returns the task in torch as a kernel; None where the task has none of this name.

    ``library`` is there only where a fused or vendor's call is not what plain operations come to
    anyway: of a matrix product, ``eager`` is the vendor's own.
    """
    try:
        if name == "library":
            variant = getattr(task, "variant_kernel", None)
            return variant(Torch.name, name) if variant is not None else None
        plain = task.seed_kernel(Torch.name)
    except TaskError:
        return None
    if name not in _MODES:
        return plain
    return replace(plain, source=plain.source + _COMPILED.format(mode=_MODES[name]))


@dataclass(frozen=True)
class Challenger:
    """A kernel that was found correct, ready to be timed against others.

    Attributes:
        bench: Times them.
        artifact: The kernel's.
        material: What both are called with and judged by.
        device: Number of the device.
        rng: Of the choice of samples.
    """

    bench: Bench
    artifact: Artifact
    material: Material
    device: int
    rng: np.random.Generator

    def against(self, names: Sequence[str]) -> tuple[Baseline, ...]:
        """Times the kernel against each named baseline that its task has.

        Raises:
            Failed: The kernel did something that ends it.
            FitnessError: The machine failed.
        """
        found = ((name, baseline_kernel(self.bench.task, name)) for name in names)
        return tuple(self._against(name, other) for name, other in found if other is not None)

    def _against(self, name: str, other: Kernel) -> Baseline:
        bench = self.bench
        built = Builder(Torch(), bench.target, bench.sandbox, bench.settings.build_timeout_s).build(other)
        rival = Artifact(built.path, other.entry_point, self.artifact.arguments, built.kind)
        try:
            with bench.alone():
                contest = bench.contest(self.artifact, rival, self.material, self.device, self.rng)
            contest.judge()
        except Rival as beaten:
            return Baseline(name, beaten.failure.status, log=beaten.failure.log)
        speedup, interval = ratio_interval([each.ratios for each in contest.series], self.rng)
        measurements = tuple(each.measurement(self.rng, None) for each in contest.series)
        return Baseline(name, speedup=speedup, interval=interval, measurements=measurements)
