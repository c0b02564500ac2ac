"""What a kernel looks like from outside: flags for the record, and the reasons to refuse one before it runs.

Reading text and symbol tables only gives hints; nothing here is what keeps a wrong kernel from scoring.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from .evaluation import Status
from .kernel import Kernel
from .session import Failed

FLAGS = {
    "calls_blas": "uses a BLAS library",
    "dynamic_loading": "loads libraries at run time",
    "threads": "starts threads",
    "vector_libm": "calls a vector mathematics library",
    "inline_assembly": "contains assembly",
    "fast_math": "asks for fast-math semantics",
    "float_state": "changes rounding, or flushes small numbers to zero",
    "system_calls": "asks the operating system for more than memory and time",
    "static_constructor": "does work when it is loaded",
    "launches_no_kernel": "launches no kernel of its own",
    "ghost_kernel": "gives the same result when its kernels do nothing",
    "reduced_precision": "is much less accurate than the task's own kernel",
}

_IN_SOURCE = {
    "inline_assembly": re.compile(r"\b(?:__)?asm(?:__)?\b\s*(?:(?:volatile|__volatile__|goto|inline)\s*)*\("),
    "fast_math": re.compile(r"fast-math|Ofast|associative-math|reciprocal-math|finite-math-only|unsafe-math"),
    "float_state": re.compile(r"_mm_setcsr|_MM_SET_FLUSH_ZERO|_MM_SET_DENORMALS|ldmxcsr|fesetround|fesetenv"),
}
_IN_SYMBOLS = {
    "calls_blas": re.compile(r"^(?:cblas_\w+|[sdcz]gem[mv]_?|mkl_\w+|openblas_\w+)$"),
    "dynamic_loading": re.compile(r"^(?:dlopen|dlmopen|dlsym|dlvsym)$"),
    "threads": re.compile(
        r"^(?:pthread_create|thrd_create|GOMP_parallel\w*|GOMP_task|__kmpc_fork_call|_ZNSt6thread\w*)$"
    ),
    "vector_libm": re.compile(r"^_ZGV\w+$"),
    "float_state": re.compile(r"^(?:fesetround|fesetenv|feupdateenv)$"),
    "system_calls": re.compile(
        r"^(?:fork|vfork|exec\w+|posix_spawnp?|system|popen|socket|connect|ptrace|process_vm_\w+|syscall|kill|open(?:64|at)?"
        r"|fopen(?:64)?|mmap(?:64)?|mprotect|shm_open|memfd_create|prctl|unshare|setns|clone)$"
    ),
}
_MOST_SYMBOLS, _LONGEST_NAME = 1 << 14, 1 << 12
_IN_BYTES = {"calls_blas": re.compile(rb"cblas_[sdcz]gem|libopenblas|libmkl|libblas|libcblas|libblis")}


@dataclass(frozen=True, slots=True)
class Symbols:
    """The dynamic symbols of a shared object."""

    defined: frozenset[str]
    undefined: frozenset[str]


def screen(kernel: Kernel, most_bytes: int) -> None:
    """Refuses what is not worth a compiler.

    Raises:
        Failed: It is too long, is no Unicode text, holds a NUL or no entry point.
    """
    try:
        size = len(kernel.source.encode("utf-8"))
    except UnicodeEncodeError as error:  # half of a surrogate pair, as JSON may hold it
        raise Failed(Status.REJECTED, f"the source is no Unicode text (character {error.start})") from error
    if size > most_bytes:
        raise Failed(Status.REJECTED, f"the source has {size} bytes; {most_bytes} are allowed")
    if "\0" in kernel.source:
        raise Failed(Status.REJECTED, "the source holds a NUL character")
    if not re.search(rf"\b{re.escape(kernel.entry_point)}\b", kernel.source):
        raise Failed(Status.REJECTED, f"the source has no entry point {kernel.entry_point!r}")


def inspect(kernel: Kernel, artifact: Path, forbidden: Collection[str]) -> set[str]:
    """Returns the flags that source and artifact show.

    Raises:
        Failed: The entry point is not there under its C name, or a flag is forbidden.
    """
    data = artifact.read_bytes()
    symbols = read_symbols(data)
    if kernel.entry_point not in symbols.defined:
        text = f'no symbol {kernel.entry_point!r}: declare it as extern "C" void {kernel.entry_point}(...)'
        raise Failed(Status.REJECTED, text)
    flags = {flag for flag, pattern in _IN_SOURCE.items() if pattern.search(kernel.source)}
    flags |= {flag for flag, pattern in _IN_BYTES.items() if pattern.search(data)}
    flags |= {flag for flag, pattern in _IN_SYMBOLS.items() if any(map(pattern.match, symbols.undefined))}
    refuse(flags, forbidden)
    return flags


def refuse(flags: Collection[str], forbidden: Collection[str]) -> None:
    """Raises if one of ``flags`` is forbidden.

    Raises:
        Failed: It is.
    """
    for flag in sorted(set(flags) & set(forbidden)):
        raise Failed(Status.REJECTED, f"forbidden here: {flag} (the kernel {FLAGS[flag]})")


def read_symbols(data: bytes) -> Symbols:
    """Reads the dynamic symbol table of a 64-bit little-endian ELF file; empty for anything else or damaged."""
    try:
        return _read_symbols(data)
    except (struct.error, IndexError, ValueError, OverflowError):
        return Symbols(frozenset(), frozenset())


def _read_symbols(data: bytes) -> Symbols:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    offset, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * index) for index in range(min(count, 4096))]
    defined: set[str] = set()
    undefined: set[str] = set()
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        strings = sections[section[6]]
        names = data[strings[4] : strings[4] + strings[5]]
        if section[5] > _MOST_SYMBOLS * 24:
            raise ValueError("more symbols than a kernel has")
        for at in range(section[4], section[4] + section[5], 24):
            name, _, _, index = struct.unpack_from("<IBBH", data, at)
            text = names[name : names.index(b"\0", name, name + _LONGEST_NAME)].decode("ascii", "replace")
            (defined if index else undefined).add(text)
        break  # an object has one such table
    return Symbols(frozenset(defined), frozenset(undefined))
