"""What the languages that are embedded in Python share: a module with ``kernel_fn(*inputs)``."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from ..ahead import AheadBuild, python_reads
from ..cache import digest_of
from ..errors import ToolchainError
from ..kernel import Kernel
from ..language import Build
from ..task import Task

WORKERS = Path(__file__).resolve().parent.parent / "workers"


def write_module(kernel: Kernel, workdir: Path) -> Build:
    """Writes the source; nothing is built before the worker loads it."""
    path = workdir / "candidate.py"
    path.write_text(kernel.source, encoding="utf-8")
    return Build(argv=(), artifact=Path(path.name), kind="python_module")


def module_ahead(
    kernel: Kernel, task: Task, arch: str, workdir: Path, *, worker: str, artifacts: str, **extra: str
) -> AheadBuild:
    """Returns the command with which ``worker`` compiles every launch of the module.

    The launches are those of the task's first timed workload.
    """
    write_module(kernel, workdir)
    axes = task.time_workloads[0].axes
    inputs = [{"dtype": spec.dtype, "shape": spec.extent(axes)} for spec in task.inputs.values()]
    manifest = {"source": "candidate.py", "entry_point": kernel.entry_point, "arch": arch, "inputs": inputs, **extra}
    (workdir / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    argv = (sys.executable, "-I", "-B", str(WORKERS / worker), "manifest.json")
    return AheadBuild(argv, artifacts, reads=python_reads())


@functools.cache
def digest_of_workers(*names: str) -> str:
    """Returns a digest of files that a build depends on, for a cache key; names alone are of programs of workers."""
    return digest_of(*((WORKERS / name).read_bytes() for name in names))[:16]


def require(modules: Mapping[str, str], language: str) -> None:
    """Checks that modules are installed, without importing them.

    Raises:
        ToolchainError: One is missing; the message says how to install it.
    """
    for module, install in modules.items():
        if importlib.util.find_spec(module) is None:
            raise ToolchainError(f"{language} needs the Python package {module!r}: {install}")


def versions(*distributions: str) -> str:
    """Returns the installed versions, for a cache key; a missing one is said to be missing."""
    found = []
    for name in distributions:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} missing")
    return ", ".join(found)
