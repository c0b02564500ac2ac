"""What the machine code of a CPU kernel tells: its instruction mix, by the system's disassembler."""

from __future__ import annotations

import functools
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from .build import scratch
from .sandbox import Cell, Limits, Sandbox
from .static import read_text, x86_metrics

_LIMITS = Limits(wall_s=5.0, cpu_s=5, memory_bytes=1 << 30, file_bytes=1 << 24)
_OPTIONS = ("--disassemble", "--section=.text", "--no-show-raw-insn", "--no-addresses")


def host_metrics(path: Path, sandbox: Sandbox) -> Mapping[str, float]:
    """Counts the instructions of a shared object; the disassembler runs confined, for it reads what a candidate built.

    Empty where there is no ``objdump``, on processors other than x86-64, and for code too long to be printed.

    Raises:
        SandboxError: The sandbox does not come up.
    """
    tool = _objdump()
    if tool is None:
        return {}
    with scratch() as folder:
        folder.chmod(0o777)  # the sandbox's user is another one
        argv = ("/bin/sh", "-c", 'exec "$@" > listing', "sh", tool, *_OPTIONS, str(path))
        done = sandbox.run(argv, Cell(reads=(path,), scratch=folder, environment={"LC_ALL": "C"}), _LIMITS)
        listing = folder / "listing"
        return x86_metrics(read_text(listing)) if done.ok and not listing.is_symlink() else {}


@functools.cache
def _objdump() -> str | None:
    return shutil.which("objdump") if platform.machine() == "x86_64" else None
