"""C++ for the CPU: one source file becomes one shared object with a C symbol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..cache import cache_folder
from ..compiler import Compiler, find_compiler, processor
from ..kernel import Kernel
from ..language import Build, Need
from ..target import Target

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:[ \t]*<([a-z0-9_]+(?:\.h)?)>[ \t]*(?://.*)?$)?", re.MULTILINE)


@dataclass(frozen=True)
class Cpp:
    """C++ through the first compiler that is found.

    Attributes:
        name: As in configuration.
        suffix: Of a source file.
        grammar: Of the syntactic operators.
        compiler: ``"g++"``, ``"clang++"``, ``"zig"`` or a path; None for the first of these that is here.
        flags: After the optimisation level; ``-march`` comes from the target.
        standard: Of the language; None for the compiler's own. Models write C++20 without being asked; it costs
            a build 5 ms of CPU time with precompiled headers, 20 to 90 ms without.
        precompile: Whether the standard headers that a source begins with are compiled once for all sources that
            begin with the same.
    """

    name: str = "cpp"
    suffix: str = ".cpp"
    grammar: str = "cpp"
    targets: tuple[str, ...] = ("cpu",)
    compiler: str | None = None
    flags: tuple[str, ...] = ("-O3", "-fopenmp")
    standard: str | None = "gnu++20"
    precompile: bool = True

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the source into ``workdir`` and returns the command that builds it.

        Raises:
            ToolchainError: There is no compiler.
        """
        source = workdir / f"kernel{self.suffix}"
        source.write_bytes(kernel.source.encode("utf-8", "surrogatepass"))
        compiler = find_compiler(self.compiler)
        argv = (*self._command(compiler, target), *link_flags(compiler), source.name, "-o", "kernel.so")
        headers = leading_headers(kernel.source) if self.precompile and compiler.family != "zig" else ()
        text = "".join(f"#include <{name}>\n" for name in headers)
        needs = (precompiled(compiler, self._command(compiler, target), text),) if headers else ()
        environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": ".", "HOME": "."}
        writes: tuple[Path, ...] = ()
        if compiler.family == "zig":  # it builds its own C++ library at the first use, and keeps it
            kept = cache_folder() / "zig"
            kept.mkdir(exist_ok=True)
            environment |= {"ZIG_GLOBAL_CACHE_DIR": str(kept), "ZIG_LOCAL_CACHE_DIR": str(kept)}
            writes = (kept,)
        return Build(argv, Path("kernel.so"), "shared_object", needs, compiler.reads, writes, environment, bool(writes))

    def fingerprint(self, target: Target) -> str:
        """Returns compiler version, flags and, for ``-march=native``, the processor.

        Raises:
            ToolchainError: There is no compiler.
        """
        compiler = find_compiler(self.compiler)
        command = (*self._command(compiler, target)[len(compiler.argv) :], *link_flags(compiler))
        return " ".join((compiler.version, *command, processor()))

    def _command(self, compiler: Compiler, target: Target) -> tuple[str, ...]:
        standard = (f"-std={self.standard}",) if self.standard else ()
        flags = tuple(flag for flag in self.flags if not (compiler.family == "zig" and flag == "-fopenmp"))
        quiet = ("-w", "-fmax-errors=20") if compiler.family == "gcc" else ("-w", "-ferror-limit=20")
        return (*compiler.argv, *standard, *flags, f"-march={target.arch}", "-fPIC", *quiet)


def precompiled(compiler: Compiler, command: tuple[str, ...], text: str) -> Need:
    """Returns the need for a header of gcc or clang that ``command``, with the same flags, then reads in no time."""
    output = "prelude.hpp.gch" if compiler.family == "gcc" else "prelude.pch"
    argv = (*command, "-x", "c++-header", "prelude.hpp", "-o", output)
    use = ("-include", "{folder}/prelude.hpp") if compiler.family == "gcc" else ("-include-pch", "{folder}/prelude.pch")
    return Need("headers", {"prelude.hpp": text}, argv, use)


def leading_headers(source: str) -> tuple[str, ...]:
    """Returns the standard headers that stand before every other directive, sorted; only these may be taken together.

    A macro defined earlier could change what a header means; so could a conditional. Headers after the first such
    directive are left to the compiler.
    """
    found: set[str] = set()
    for match in _DIRECTIVE.finditer(_without_comments(source)):
        if match[1] != "include" or match[2] is None:
            break
        found.add(match[2])
    return tuple(sorted(found))


def _without_comments(source: str) -> str:
    # One that never closes takes the rest: to look again from every opening in it would take for ever.
    return re.sub(r"/\*.*?(?:\*/|\Z)", " ", source, flags=re.DOTALL)


def link_flags(compiler: Compiler) -> tuple[str, ...]:
    """Returns what makes a shared object without open ends, by the fastest linker that is here."""
    gold = ("-fuse-ld=gold",) if compiler.family == "gcc" and _has_gold() else ()
    return ("-shared", *gold, "-Wl,-z,defs")


def _has_gold() -> bool:
    import shutil

    return shutil.which("ld.gold") is not None
