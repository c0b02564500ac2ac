"""OpenCL C for the CPU, compiled by PoCL ahead of its run, into the same kind of object as C++."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ..ahead import python_reads
from ..compiler import find_compiler, processor
from ..kernel import Kernel
from ..language import Build
from ..target import Target
from .python_hosted import WORKERS, digest_of_workers, require, versions

_INSTALL = "pip install pyopencl 'pocl-binary-distribution==3.0'"
_MODULES = {"pyopencl": _INSTALL, "pocl_binary_distribution": _INSTALL}


@dataclass(frozen=True)
class OpenCL:
    """A source of kernels with the launches that make up a call, as pragmas; there is no host code.

    PoCL (Jääskeläinen 2015, https://doi.org/10.1007/s10766-014-0320-y) compiles each kernel to a function of one
    work-group; a launcher of ours runs the work-groups in turn on one thread, as PoCL's ``basic`` device does. So
    compile time is in no measurement, and what runs is native code in the runner of C++ kernels, without a runtime.
    Images, ``__local`` arguments and ``printf`` are not there.
    """

    name: str = "opencl"
    suffix: str = ".cl"
    grammar: str = "cpp"
    targets: tuple[str, ...] = ("cpu",)

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the source and returns the command that compiles and links it.

        Raises:
            ToolchainError: PoCL or the C++ compiler that links is missing.
        """
        require(_MODULES, self.name)
        (workdir / "kernel.cl").write_text(kernel.source, encoding="utf-8")
        compiler = find_compiler()
        argv = (sys.executable, "-I", "-B", str(WORKERS / "build_opencl.py"), kernel.entry_point, *compiler.argv)
        environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": ".", "HOME": "."}
        reads = (*python_reads(), *compiler.reads)
        return Build(argv, Path("kernel.so"), "shared_object", reads=reads, environment=environment, has_proc=True)

    def fingerprint(self, target: Target) -> str:
        """Returns the versions of PoCL, its binding and ours, and the processor.

        Raises:
            ToolchainError: PoCL or the C++ compiler that links is missing.
        """
        require(_MODULES, self.name)
        ours = digest_of_workers("build_opencl.py", "opencl_launch.hpp")
        parts = versions("pocl-binary-distribution", "pyopencl")
        return f"{parts} {find_compiler().version} {processor()} {ours}"
