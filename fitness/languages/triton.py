"""Triton: for NVIDIA and AMD GPUs, and for the interpreter on a CPU."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..ahead import AheadBuild
from ..disk import read_plain
from ..kernel import Kernel
from ..language import Build
from ..static import (
    Metrics,
    amd_assembly_metrics,
    code_object_metrics,
    combine,
    cubin_metrics,
    nvidia_occupancy,
    read_text,
)
from ..target import Target
from ..task import Task
from .disassembly import sass
from .python_hosted import module_ahead, require, versions, write_module

_MODULES = {"torch": "pip install torch", "triton": "pip install triton"}
_MOST_BINARIES, _MOST_BYTES = 64, 1 << 26


@dataclass(frozen=True)
class Triton:
    """A Python module whose ``kernel_fn`` launches ``triton.jit`` functions.

    There is no CPU backend that can be installed: on a CPU, Triton kernels are interpreted (target
    ``interpret``), which gives verdicts and no times.
    """

    name: str = "triton"
    suffix: str = ".py"
    grammar: str = "python"
    targets: tuple[str, ...] = ("nvidia", "amd", "interpret")
    architectures: tuple[str, ...] = ("sm_*", "gfx9*", "gfx1*")

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the module; Triton compiles at the first call, into a cache of the candidate's own."""
        return write_module(kernel, workdir)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of Triton and torch."""
        require(_MODULES, self.name)
        return versions("triton", "torch")

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Compiles every launch of the task's first timed workload.

        Raises:
            ToolchainError: torch or triton is missing.
        """
        require(_MODULES, self.name)
        suffix = "hsaco" if arch.startswith("gfx") else "cubin"
        return module_ahead(kernel, task, arch, workdir, worker="ahead_triton.py", artifacts=f"launch_*.{suffix}")

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Metrics:
        """Combines what the binaries, their assembly and Triton's own metadata tell."""
        return combine(_launch(path, arch) for path in sorted(workdir.glob("launch_*.json")))


def compiled_metrics(cache: Path, arch: str) -> Callable[[], Metrics]:
    """Copies the kernels in a compile cache of Triton; returns what combines what they tell.

    The longest one is disassembled. Files of a candidate's own process: facts for people, models and descriptors, and
    for no verdict.
    """
    suffix = "hsaco" if arch.startswith("gfx") else "cubin"
    folder = tempfile.TemporaryDirectory(prefix="kernelwright-")
    binaries, left = [], _MOST_BYTES
    for number, path in enumerate(itertools.islice(cache.glob(f"*/*.{suffix}"), _MOST_BINARIES)):
        own = Path(folder.name) / f"{number}.{suffix}"
        copied = [_copied(path.with_suffix(each), own.with_suffix(each), left) for each in (f".{suffix}", ".json")]
        copied.append(_copied(path.with_suffix(".amdgcn"), own.with_suffix(".amdgcn"), left))
        left -= sum(copied)
        if all(copied[:2]):
            binaries.append(own)

    def read() -> Metrics:
        longest = max(binaries, key=lambda path: path.stat().st_size, default=None)
        found = []
        with folder:
            for path in binaries:
                with suppress(Exception):  # it was tampered with, or pyelftools is not installed
                    found.append(_launch(path.with_suffix(".json"), arch, disassemble=path == longest))
        return combine(found)

    return read


def _copied(path: Path, own: Path, most_bytes: int) -> int:
    """Copies a file that a candidate may turn into anything at any moment; returns its bytes.

    That is 0, with nothing copied, unless it is a plain file of ``most_bytes`` at most, and where the disk is full.
    """
    try:
        data = read_plain(path, max(0, most_bytes) + 1)
        if len(data) > most_bytes:
            return 0
        own.write_bytes(data)
    except OSError:
        return 0
    return len(data)


def _launch(path: Path, arch: str, *, disassemble: bool = True) -> Metrics:
    """Reads one launch; shared memory is dynamic in Triton, so only its own metadata knows it."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    shared_bytes, warps = (int(facts[name] or 0) for name in ("shared", "num_warps"))
    if max(shared_bytes, warps) >= 1 << 31:
        raise ValueError("no launch has that much")
    if arch.startswith("gfx"):
        metrics = code_object_metrics(path.with_suffix(".hsaco").read_bytes())
        if disassemble:
            metrics |= amd_assembly_metrics(read_text(path.with_suffix(".amdgcn")))
    else:
        cubin = path.with_suffix(".cubin")
        metrics = cubin_metrics(cubin.read_bytes()) | (sass(cubin) if disassemble else {})
        metrics["occupancy"] = nvidia_occupancy(arch, metrics["registers"], shared_bytes, 32 * warps)
    return {**metrics, "shared_bytes": shared_bytes, "warps": warps}
