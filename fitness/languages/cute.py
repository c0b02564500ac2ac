"""CuTe DSL: NVIDIA's Python language over the CuTe layouts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..ahead import AheadBuild
from ..kernel import Kernel
from ..language import Build
from ..static import Metrics, combine, cubin_metrics
from ..target import Target
from ..task import Task
from .disassembly import sass
from .python_hosted import module_ahead, require, versions, write_module

_MODULES = {"torch": "pip install torch", "cutlass": "pip install nvidia-cutlass-dsl"}


@dataclass(frozen=True)
class Cute:
    """A Python module whose ``kernel_fn`` calls ``cute.jit`` functions. Runs on NVIDIA GPUs only."""

    name: str = "cute"
    suffix: str = ".py"
    grammar: str = "python"
    targets: tuple[str, ...] = ("nvidia",)
    architectures: tuple[str, ...] = ("sm_90a", "sm_100a", "sm_120a", "sm_8*", "sm_90")

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the module; it must lie in a file, the DSL reads its own source."""
        return write_module(kernel, workdir)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of the DSL and of torch."""
        require(_MODULES, self.name)
        return versions("nvidia-cutlass-dsl", "torch")

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Compiles every ``cute.jit`` call of the task's first timed workload.

        Raises:
            ToolchainError: torch or the DSL is missing.
        """
        require(_MODULES, self.name)
        return module_ahead(kernel, task, arch, workdir, worker="ahead_cute.py", artifacts="launch_*.cubin")

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Metrics:
        """Combines what the binaries tell."""
        return combine(cubin_metrics(path.read_bytes()) | sass(path) for path in sorted(workdir.glob("launch_*.cubin")))
