"""Torch: the same mathematics from its operations, to compare kernels with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..kernel import Kernel
from ..language import Build
from ..target import Target
from .python_hosted import require, versions, write_module


@dataclass(frozen=True)
class Torch:
    """A Python module whose ``kernel_fn`` calls torch's operations and launches nothing of its own.

    What evaluations measure kernels against (`fitness.baselines`) is written in it. On a GPU it is
    timed; on target ``interpret`` it is checked.
    """

    name: str = "torch"
    suffix: str = ".py"
    grammar: str = "python"
    targets: tuple[str, ...] = ("nvidia", "amd", "interpret")

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the module; what ``torch.compile`` makes of it is made at its first calls."""
        return write_module(kernel, workdir)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of torch and of Triton, in which its compiler writes."""
        require({"torch": "pip install torch"}, self.name)
        return versions("torch", "triton")
