"""Finding a C++ compiler, and telling one from another."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .cache import digest_of
from .errors import ToolchainError

Family = Literal["gcc", "clang", "zig"]


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler that answered.

    Attributes:
        argv: How it is called, absolute.
        family: Decides about flags and precompiled headers.
        version: Its first line about itself.
        reads: Folders outside the system's that it must read.
    """

    argv: tuple[str, ...]
    family: Family
    version: str
    reads: tuple[Path, ...] = ()


@functools.lru_cache(maxsize=8)
def find_compiler(name: str | None = None) -> Compiler:
    """Returns the compiler called ``name``, else g++, clang++ or ziglang's, whichever is found first.

    Raises:
        ToolchainError: There is none; the message says what to install.
    """
    wanted = (name,) if name else ("g++", "clang++", "zig")
    for each in wanted:
        found = _zig() if each == "zig" else _system(each)
        if found is not None:
            return found
    if name:
        raise ToolchainError(
            f"the C++ compiler {name!r} does not run; install it, or name another as language.compiler"
        )
    raise ToolchainError("no C++ compiler found; install g++ (apt-get install g++), clang++, or `pip install ziglang`")


def _system(name: str) -> Compiler | None:
    path = shutil.which(name)
    version = _version((path,)) if path else None
    if path is None or version is None:
        return None
    family: Family = "clang" if "clang" in version else "gcc"
    prefix = Path(os.path.realpath(path)).parent.parent
    reads = () if str(prefix) in {"/usr", "/"} else (prefix,)
    return Compiler((path,), family, version, reads)


def _zig() -> Compiler | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    argv = (str(folder / "zig"), "c++")
    version = _version(argv)
    return Compiler(argv, "zig", f"zig {version}", (folder,)) if version else None


def _version(argv: tuple[str, ...]) -> str | None:
    try:
        answer = subprocess.run(
            [*argv, "--version"], capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.splitlines()[0] if answer.stdout else None


@functools.cache
def processor() -> str:
    """Returns a digest of what ``-march=native`` looks at: architecture, model and instruction sets."""
    wanted = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    lines: list[str] = []
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.strip():
                break
            if line.split(":")[0].strip() in wanted:
                lines.append(line)
    except OSError:
        lines.append(sys.platform)
    return digest_of(platform.machine(), *lines)[:16]
