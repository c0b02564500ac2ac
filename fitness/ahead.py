"""Compiling a kernel for hardware that need not be here, and what its binary then tells."""

from __future__ import annotations

import fnmatch
import logging
import os
import re
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from .cell import Cell, Completed, Limits
from .compiler import find_compiler
from .disk import Scratch
from .errors import TaskError, ToolchainError
from .evaluation import JSON, Status
from .kernel import Kernel
from .logs import killed_by, plain
from .policy import screen
from .sandbox import find_sandbox
from .session import Failed
from .settings import Settings
from .task import Task

_LOG = logging.getLogger("kernelwright.fitness")
SCHEMA = "kernelwright.compilation/1"
_MOST_BYTES = 1 << 28  # of a file that is read here


@dataclass(frozen=True, slots=True)
class AheadBuild:
    """A command that compiles for another machine; it runs in the sandbox, in the source's folder.

    Attributes:
        argv: The command.
        artifacts: Glob pattern of the binaries that it writes.
        reads: Folders beside the system's that it must read.
        environment: Its variables.
    """

    argv: tuple[str, ...]
    artifacts: str
    reads: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class AheadLanguage(Protocol):
    """A language whose toolchain compiles without the hardware.

    Attributes:
        architectures: Patterns of what it compiles for, e.g. ``("sm_*", "gfx9*")``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def architectures(self) -> tuple[str, ...]: ...  # noqa: D102

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Writes the source into ``workdir`` and returns the command.

        Raises:
            ToolchainError: A part of the toolchain is missing; the message says what to install.
        """
        ...

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Mapping[str, float]:
        """Reads what the artifacts in ``workdir`` and the compiler's ``log`` tell; empty without a kernel in them.

        A source's own code may have written them: whatever this raises is said of the kernel.
        """
        ...


@dataclass(frozen=True, slots=True)
class Compilation:
    """What became of a kernel that was compiled ahead of time.

    Attributes:
        status: ``OK``, ``REJECTED``, ``BUILD_FAILED``, ``BUILD_TIMEOUT`` or ``OUT_OF_MEMORY``.
        arch: What it was compiled for.
        static: Registers, spills, shared memory, occupancy, instruction counts: what the toolchain tells.
        artifact_bytes: Size of all binaries together; 0 without one.
        log: The compiler's words, capped, without paths.
        seconds: Wall time by stage.
    """

    status: Status
    arch: str
    static: Mapping[str, float] = field(default_factory=dict)
    artifact_bytes: int = 0
    log: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys and a ``schema``."""
        return {
            "schema": SCHEMA,
            "status": str(self.status),
            "arch": self.arch,
            "static": dict(self.static),
            "artifact_bytes": self.artifact_bytes,
            "log": self.log,
            "seconds": dict(self.seconds),
        }


def compile_ahead(
    kernel: Kernel, task: Task, language: AheadLanguage, arch: str, *, timeout_s: float = 120.0
) -> Compilation:
    """Compiles ``kernel`` for ``arch`` in the sandbox and reads its static metrics.

    Raises:
        TaskError: The language does not compile for ``arch``.
        ToolchainError: The toolchain is not complete here.
        SandboxError: The sandbox does not come up.
    """
    if not any(fnmatch.fnmatch(arch, pattern) for pattern in language.architectures):
        raise TaskError(f"{language.name} compiles for {', '.join(language.architectures)}, not for {arch!r}")
    if not re.fullmatch(r"[a-z]+_?\d[\da-z:+-]*", arch):
        raise TaskError(f"arch={arch!r} is no name of an architecture; write it as in sm_90a or gfx942")
    try:
        screen(kernel, Settings().source_bytes)
    except Failed as failure:
        return Compilation(failure.status, arch, log=failure.log)
    with Scratch() as folder:
        workdir = Path(folder)
        workdir.chmod(0o777)  # the sandbox's user is another one
        build = language.build_ahead(kernel, task, arch, workdir)
        done = _run(build, workdir, timeout_s)
        status, log = _status(done), plain(done.log)
        if status is not Status.OK and not done.flooded:
            log = f"{_ending(done.status, timeout_s)}\n{log}".strip()
        for path in workdir.iterdir():  # a candidate's module has run there: a pipe would never be read to its end
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                path.unlink()
        artifacts = sorted(path for path in workdir.glob(build.artifacts) if path.is_file())
        started = time.perf_counter()
        static, trouble = _read(language, workdir, arch, done.log) if status is Status.OK else ({}, "")
        if trouble:
            status, log = Status.BUILD_FAILED, f"{log}\n{trouble}".strip()
        seconds = {"build": done.wall_s, "read": time.perf_counter() - started}
        size = sum(path.stat().st_size for path in artifacts) if static else 0
        return Compilation(status, arch, {**static, "artifacts": len(artifacts)} if static else {}, size, log, seconds)


def _read(language: AheadLanguage, workdir: Path, arch: str, log: str) -> tuple[Mapping[str, float], str]:
    """Returns what was built, and why it is no kernel if it is none.

    Raises:
        ToolchainError: A module that reads binaries is not installed.
    """
    if any(path.stat().st_size > _MOST_BYTES for path in workdir.iterdir()):
        return {}, f"it wrote a file of more than {_MOST_BYTES >> 20} MiB"
    try:
        static = language.static_metrics(workdir, arch, log)
    except ImportError as error:
        raise ToolchainError(f"{error}: pip install pyelftools msgpack") from error
    except Exception as error:  # noqa: BLE001 - a module of a candidate's has run there, and may have written anything
        _LOG.debug("no reading of what was compiled for %s", arch, exc_info=True)
        return {}, f"what it wrote cannot be read as a kernel: {type(error).__name__}"
    return static, "" if static else "no kernel was built"


def _run(build: AheadBuild, workdir: Path, timeout_s: float) -> Completed:
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/scratch",
        "TMPDIR": "/scratch",
        **build.environment,
    }
    sandbox = find_sandbox(find_compiler())
    if sandbox.mechanism == "limits":
        environment |= {"HOME": str(workdir), "TMPDIR": str(workdir)}
    cell = Cell(reads=build.reads, scratch=workdir, environment=environment)
    limits = Limits(
        timeout_s,
        int(4 * timeout_s) + 1,
        32 << 30,
        file_bytes=1 << 30,
        processes=4096,
        descriptors=1024,
        disk_bytes=1 << 32,
    )
    return sandbox.run(build.argv, cell, limits)


def _status(done: Completed) -> Status:
    if done.status is None:
        return Status.BUILD_FAILED if done.flooded else Status.BUILD_TIMEOUT
    if done.ok:
        return Status.OK
    if (os.WIFSIGNALED(done.status) and os.WTERMSIG(done.status) == 9) or "MemoryError" in done.log:
        return Status.OUT_OF_MEMORY
    return Status.BUILD_FAILED


def _ending(status: int | None, timeout_s: float) -> str:
    """Returns how a compiler ended, where its own words may say nothing: empty for an exit code that it chose."""
    if status is None:
        return f"the compiler was stopped after {timeout_s:g} s"
    if os.WIFSIGNALED(status):
        return f"the compiler was {killed_by(status)}"
    return ""


def python_reads() -> tuple[Path, ...]:
    """Returns the folders that this Python needs to be run again in a sandbox."""
    places = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    places |= {str(Path(__file__).parent / "workers"), os.path.dirname(os.path.realpath(sys.executable))}
    places |= {entry for entry in sys.path if entry.endswith("-packages")}
    folders = [place for place in sorted(places) if place and os.path.isdir(place) and place not in {"/usr", "/"}]
    return (*map(Path, folders), Path("/dev/urandom"))
