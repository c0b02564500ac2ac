"""The build stage: from source text to an artifact on disk, in the sandbox, kept by content."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .cache import Cache, cache_folder, digest_of
from .cell import Cell, Completed, Limits
from .disk import remove
from .errors import MachineError
from .evaluation import Status
from .kernel import Kernel
from .language import Build, Kind, Language, Need
from .logs import killed_by, scrub
from .sandbox import Sandbox
from .session import Failed
from .target import Target

_KINDS: Mapping[str, Kind] = {".so": "shared_object", ".py": "python_module"}
_ARTIFACT_BYTES = 1 << 26
_COMPILER_BYTES = 3 << 30
_DISK_BYTES = 1 << 30
_LEAST_FREE_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class Built:
    """An artifact in the cache.

    Attributes:
        path: Of the artifact; read-only.
        log: What the compiler said.
        kind: As in `Build`.
    """

    path: Path
    log: str
    kind: Kind


class Builder:
    """Builds kernels of one language for one target; what was built before comes from the cache."""

    def __init__(self, language: Language, target: Target, sandbox: Sandbox, timeout_s: float) -> None:
        self._language = language
        self._target = target
        self._sandbox = sandbox
        self._timeout_s = timeout_s
        self._cache = Cache()
        self._seen: dict[str, int] = {}
        self._needs: dict[str, Path | None] = {}
        self._guard = threading.Lock()
        sweep()

    def build(self, kernel: Kernel, *, eager: bool = False) -> Built:
        """Returns the artifact of ``kernel``; ``eager`` makes shared needs at their first use.

        Raises:
            Failed: The compiler said no, or was stopped.
            ToolchainError: There is no compiler.
            MachineError: The disk is full.
        """
        key = digest_of(self._language.fingerprint(self._target), kernel.digest)
        found = self._cache.find("artifacts", key)
        if found is None:
            try:
                found = self._cache.make("artifacts", key, lambda folder: self._compile(kernel, folder, eager))
            except OSError as error:
                where = error.filename or self._cache.folder
                raise MachineError(f"{where}: nothing can be built ({error.strerror or error})") from error
        artifact = next(path for path in sorted(found.iterdir()) if path.name not in ("manifest", "log"))
        kind: Kind = _KINDS.get(artifact.suffix, "source")
        return Built(artifact, (found / "log").read_text(encoding="utf-8"), kind)

    def _compile(self, kernel: Kernel, folder: Path, eager: bool) -> None:
        with scratch() as workdir:
            build = self._language.build(kernel, self._target, workdir)
            argv, reads = list(build.argv), list(build.reads)
            for need in build.needs:
                where = self._need(need, build, eager)
                if where is not None:
                    reads.append(where)
                    argv += [each.format(folder=where) for each in need.use]
            cell = Cell(tuple(reads), workdir, build.environment, build.writes, has_proc=build.has_proc)
            done = self._run(argv, cell) if argv else Completed(0, "", 0.0)  # nothing to build before the run
            log = scrub(done.log)
            if done.flooded:
                raise Failed(Status.BUILD_FAILED, log.strip())
            if done.status is None:
                raise Failed(
                    Status.BUILD_TIMEOUT, f"the compiler was stopped after {self._timeout_s:g} s\n{log}".strip()
                )
            artifact = workdir / build.artifact
            if not done.ok or artifact.is_symlink() or not artifact.is_file():
                if shutil.disk_usage(workdir).free < _LEAST_FREE_BYTES:
                    raise MachineError(f"the disk is full: {workdir.parent} has no room for a build")
                raise _verdict(done.status, log)
            shutil.copyfile(artifact, folder / build.artifact.name)
            os.chmod(folder / build.artifact.name, 0o555)
            (folder / "log").write_text(log, encoding="utf-8")

    def _run(self, argv: list[str], cell: Cell) -> Completed:
        limits = Limits(
            wall_s=self._timeout_s,
            cpu_s=int(self._timeout_s) + 2,
            memory_bytes=_COMPILER_BYTES,
            file_bytes=_ARTIFACT_BYTES,
            descriptors=256,
            disk_bytes=_DISK_BYTES,
        )
        return self._sandbox.run(argv, cell, limits)

    def _need(self, need: Need, build: Build, eager: bool) -> Path | None:
        """Returns the folder of a shared need; made when it is asked for the second time."""
        key = digest_of(self._language.fingerprint(self._target), *need.argv, repr(sorted(need.files.items())))
        with self._guard:
            if self._needs.get(key) is not None:
                return self._needs[key]
            self._seen[key] = self._seen.get(key, 0) + 1
            if self._seen[key] < 2 and not eager and not (self._cache.folder / "needs" / key).exists():
                return None
            if key in self._needs:  # it was tried, and it cannot be made
                return None
        try:
            where: Path | None = self._cache.make("needs", key, lambda folder: self._make(need, build, folder))
        except Failed:
            where = None
        with self._guard:
            self._needs[key] = where
        return where

    def _make(self, need: Need, build: Build, folder: Path) -> None:
        with scratch() as workdir:
            for name, text in need.files.items():
                (workdir / name).write_text(text, encoding="utf-8")
            done = self._run(list(need.argv), Cell(build.reads, workdir, build.environment, build.writes))
            if not done.ok:
                raise Failed(Status.BUILD_FAILED, scrub(done.log))
            for path in workdir.iterdir():
                if path.is_file() and not path.is_symlink():
                    shutil.copyfile(path, folder / path.name)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one stage, gone afterwards whatever was put into it.

    Raises:
        MachineError: It cannot be made.
    """
    parent = cache_folder() / "scratch"
    try:
        parent.mkdir(exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent))
    except OSError as error:
        raise MachineError(f"{parent}: no temporary folder can be made ({error.strerror or error})") from error
    try:
        yield folder
    finally:
        remove(folder)


def sweep() -> None:
    """Removes the scratch folders of programs that were killed."""
    for folder in (cache_folder() / "scratch").glob("*-*"):
        owner = folder.name.split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            remove(folder)


def _verdict(status: int, log: str) -> Failed:
    if re.search(r"virtual memory exhausted|out of memory|std::bad_alloc|cannot allocate", log, re.IGNORECASE):
        return Failed(Status.BUILD_FAILED, f"the compiler ran out of memory\n{log}")
    if not log.strip():
        how = f", {killed_by(status)}" if os.WIFSIGNALED(status) else ""
        return Failed(Status.BUILD_FAILED, f"the compiler ended without a message{how}")
    return Failed(Status.BUILD_FAILED, log)
