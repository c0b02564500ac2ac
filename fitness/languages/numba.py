"""Numba for the CPU: a Python function compiled ahead of its run, into the same kind of object as C++."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ..ahead import python_reads
from ..compiler import find_compiler, processor
from ..kernel import Kernel
from ..language import Build
from ..target import Target
from .python_hosted import WORKERS, digest_of_workers, require, versions, write_module

_MODULES = {"numba": "pip install numba"}


@dataclass(frozen=True)
class Numba:
    """A Python module whose ``kernel_fn`` is a ``numba.cfunc``: pointers and sizes in the order of a C kernel.

    Compiling takes place in the build, so no compile time is ever in a measurement, and what runs is native code in
    the runner of C++ kernels, without a Python beside it. So there is nothing of Python to be called at run time
    either: an exception ends the kernel, and ``parallel=True`` does not link.
    """

    name: str = "numba"
    suffix: str = ".py"
    grammar: str = "python"
    targets: tuple[str, ...] = ("cpu",)

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the module and returns the command that compiles and links its entry point.

        Raises:
            ToolchainError: Numba or the C++ compiler that links is missing.
        """
        require(_MODULES, self.name)
        write_module(kernel, workdir)
        compiler = find_compiler()
        argv = (sys.executable, "-I", "-B", str(WORKERS / "build_numba.py"), kernel.entry_point, *compiler.argv)
        environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": ".", "HOME": "."}
        reads = (*python_reads(), *compiler.reads)
        return Build(argv, Path("kernel.so"), "shared_object", reads=reads, environment=environment)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of Numba, its compiler and ours, and the processor.

        Raises:
            ToolchainError: Numba or the C++ compiler that links is missing.
        """
        require(_MODULES, self.name)
        ours = digest_of_workers("build_numba.py", "numba_runtime.cpp")
        return f"{versions('numba', 'llvmlite', 'numpy')} {find_compiler().version} {processor()} {ours}"
