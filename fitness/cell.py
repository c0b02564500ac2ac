"""What a process in the sandbox may use and sees, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandboxed process may use.

    Attributes:
        wall_s: Wall time, measured here.
        cpu_s: CPU time.
        memory_bytes: Address space; 0 for no limit.
        file_bytes: Largest file, and so the most output.
        processes: Processes and threads.
        descriptors: Open files.
        disk_bytes: All its files in the scratch folder together, looked at twice a second; 0 for no limit.
    """

    wall_s: float
    cpu_s: int
    memory_bytes: int
    file_bytes: int = 1 << 16
    processes: int = 4096
    descriptors: int = 64
    disk_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """What a sandboxed process sees.

    Attributes:
        reads: Files and folders to be read, beside the system's; devices below ``/dev`` may be written too.
        scratch: The one folder that it may write, its current one; None for none at all.
        environment: All of its variables.
        writes: Further folders that it may write: caches of a toolchain, nothing that is believed.
        has_system: Whether it sees all programs and libraries of the system, or only ``reads``.
        has_proc: Whether it sees its own ``/proc`` and ``/sys``; a kernel needs neither, a GPU's library does.
    """

    reads: tuple[Path, ...] = ()
    scratch: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    writes: tuple[Path, ...] = ()
    has_system: bool = True
    has_proc: bool = False


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command in a sandbox ended.

    Attributes:
        status: Wait status, as `os.WIFEXITED` and its like read it; None when it was stopped at a limit.
        log: Standard output and error, head and tail.
        wall_s: Wall time, with the sandbox's own.
        flooded: Whether that limit was the disk's; the log says so.
    """

    status: int | None
    log: str
    wall_s: float
    flooded: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.status is not None and os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0
