"""FlyDSL: AMD's Python language over layouts, for CDNA GPUs."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ..ahead import AheadBuild
from ..errors import ToolchainError
from ..kernel import Kernel
from ..language import Build
from ..static import Metrics, amd_assembly_metrics, combine, read_text
from ..target import Target
from ..task import Task
from .python_hosted import module_ahead, require, versions, write_module

_MODULES = {"torch": "pip install torch", "flydsl": "pip install flydsl"}
_LINKERS = ("ld.lld-21", "ld.lld-20", "ld.lld-19", "ld.lld")


@dataclass(frozen=True)
class FlyDSL:
    """A Python module whose ``kernel_fn`` calls ``flyc.jit`` functions. Runs on AMD GPUs only."""

    name: str = "flydsl"
    suffix: str = ".py"
    grammar: str = "python"
    targets: tuple[str, ...] = ("amd",)
    architectures: tuple[str, ...] = ("gfx90a", "gfx942", "gfx950")

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the module."""
        return write_module(kernel, workdir)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of FlyDSL and torch."""
        require(_MODULES, self.name)
        return versions("flydsl", "torch")

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Compiles every launch of the task's first timed workload.

        Raises:
            ToolchainError: torch, FlyDSL or LLVM's linker is missing.
        """
        require(_MODULES, self.name)
        found = linker()
        if found is None:
            raise ToolchainError("flydsl links with LLVM's ld.lld, version 19 or newer: apt-get install lld-19")
        worker, artifacts = "ahead_flydsl.py", "launch_*.amdgcn"
        return module_ahead(kernel, task, arch, workdir, worker=worker, artifacts=artifacts, lld=found)

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Metrics:
        """Combines what the assembly tells."""
        return combine(amd_assembly_metrics(read_text(path)) for path in sorted(workdir.glob("launch_*.amdgcn")))


def linker() -> str | None:
    """Returns the LLVM linker that FlyDSL's objects need, or None."""
    return next((found for name in _LINKERS if (found := shutil.which(name))), None)
