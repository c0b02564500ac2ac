"""What the machine code of a CPU kernel tells: its instruction mix, by the system's disassembler."""

from __future__ import annotations

import functools
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from .build import scratch
from .cell import Cell, Limits
from .sandbox import Sandbox
from .static import read_text, x86_metrics

_LIMITS = Limits(wall_s=5.0, cpu_s=5, memory_bytes=1 << 30, file_bytes=1 << 24)
_OPTIONS = ("--disassemble", "--section=.text", "--no-show-raw-insn", "--no-addresses")


def host_metrics(path: Path, sandbox: Sandbox) -> Mapping[str, float]:
    """Counts the instructions of a shared object.

    Empty where there is no ``objdump``, on processors other than x86-64, and for code too long to be printed.

    Raises:
        SandboxError: The sandbox does not come up.
    """
    tool = _objdump()
    return x86_metrics(listing((tool, *_OPTIONS), path, sandbox, _LIMITS)) if tool else {}


def listing(command: Sequence[str], binary: Path, sandbox: Sandbox, limits: Limits) -> str:
    """Returns what a disassembler prints of a binary that a candidate built; confined, for it reads what is hostile.

    Args:
        command: The program and its options; the binary follows them.
        binary: A file.
        sandbox: Confines it.
        limits: Of its run; a listing longer than its ``file_bytes`` counts as none.

    Raises:
        SandboxError: The sandbox does not come up.
    """
    with scratch() as folder:
        folder.chmod(0o777)  # the sandbox's user is another one
        argv = ("/bin/sh", "-c", 'exec "$@" > listing', "sh", *command, str(binary))
        cell = Cell(reads=(binary, Path(command[0])), scratch=folder, environment={"LC_ALL": "C"})
        done = sandbox.run(argv, cell, limits)
        text = folder / "listing"
        return read_text(text) if done.ok and not text.is_symlink() else ""


@functools.cache
def _objdump() -> str | None:
    return shutil.which("objdump") if platform.machine() == "x86_64" else None
