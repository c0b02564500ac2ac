"""HIP C++ with a plain ``extern "C"`` launcher, for AMD GPUs."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..ahead import AheadBuild
from ..errors import ToolchainError
from ..kernel import Kernel
from ..language import Build
from ..static import Metrics, amd_assembly_metrics, code_object_metrics, read_text
from ..target import Target
from ..task import Task
from .launch_syntax import rewrite_launches
from .python_hosted import WORKERS
from .simt import simt_build, simt_fingerprint

_HEADERS = ("hip/hip_runtime.h", "hip/hip_fp16.h")
_CLANGS = ("clang++-21", "clang++-20", "clang++-19", "clang++-18", "clang++")


@dataclass(frozen=True)
class Hip:
    """A source whose ``kernel(inputs…, outputs…, axes…, stream)`` launches ``__global__`` functions.

    Without ROCm, an LLVM clang of version 18 or newer compiles the device code over a small header of
    ours; with ROCm, hipcc does.
    """

    name: str = "hip"
    suffix: str = ".hip"
    grammar: str = "cpp"
    targets: tuple[str, ...] = ("amd", "interpret")
    architectures: tuple[str, ...] = ("gfx9*", "gfx1*")
    trailing_arguments: int = 1

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Returns the command that makes a shared object with the source's ``kernel`` function.

        Raises:
            ToolchainError: There is no ROCm here.
        """
        if target.name == "interpret":
            return simt_build(kernel, workdir, warp=64)
        hipcc = _hipcc()
        (workdir / "kernel.hip").write_text(f"#include <hip/hip_runtime.h>\n#line 1\n{kernel.source}", encoding="utf-8")
        argv = (
            hipcc,
            f"--offload-arch={target.arch}",
            "-O3",
            "-std=c++17",
            "-shared",
            "-fPIC",
            "kernel.hip",
            "-o",
            "kernel.so",
        )
        root = Path(hipcc).resolve().parent.parent
        environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": ".", "HOME": ".", "HIP_PLATFORM": "amd"}
        return Build(argv, Path("kernel.so"), "shared_object", reads=(root,), environment=environment)

    def fingerprint(self, target: Target) -> str:
        """Returns the compiler's name and the target's architecture.

        Raises:
            ToolchainError: There is no ROCm here, or no C++ compiler for the interpreter.
        """
        if target.name == "interpret":
            return simt_fingerprint()
        return f"hipcc {_hipcc()} {target.arch}"

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Compiles the device code to a code object, and keeps the assembly.

        Raises:
            ToolchainError: There is no compiler that knows ``arch``.
        """
        (workdir / "kernel.hip").write_text(rewrite_launches(kernel.source).source, encoding="utf-8")
        for name in _HEADERS:  # what they declare is in hip_device.h
            (workdir / name).parent.mkdir(exist_ok=True)
            (workdir / name).write_text("", encoding="utf-8")
        clang = _clang_for(arch)
        header = WORKERS / "hip_device.h"
        flags = (
            "-x",
            "hip",
            "-std=c++17",
            "-O3",
            "--cuda-device-only",
            "--no-gpu-bundle-output",
            "-nogpuinc",
            "-nogpulib",
        )
        more = (
            "-I.",
            "-fms-extensions",
            "-ffp-contract=fast",
            f"--offload-arch={arch}",
            "-include",
            str(header),
            "-save-temps=obj",
        )
        argv = (clang, *flags, *more, "-Wno-unused-command-line-argument", "-c", "kernel.hip", "-o", "kernels.hsaco")
        return AheadBuild(argv, "kernels.hsaco", reads=(WORKERS,))

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Metrics:
        """Combines the code object's metadata with its assembly."""
        metrics = code_object_metrics((workdir / "kernels.hsaco").read_bytes())
        if not metrics:  # a source without a kernel
            return {}
        for listing in workdir.glob("*amdgcn*.s"):
            metrics = {**amd_assembly_metrics(read_text(listing)), **metrics}
        return metrics


def _hipcc() -> str:
    """Returns ROCm's compiler."""
    found = shutil.which("hipcc") or shutil.which("hipcc", path="/opt/rocm/bin")
    if found is None:
        raise ToolchainError("hip runs only with ROCm: install it so that hipcc is found, or use target=interpret")
    return found


def _clang_for(arch: str) -> str:
    """Returns the newest clang that knows ``arch``."""
    clangs = [path for name in _CLANGS if (path := shutil.which(name))]
    if not clangs:
        raise ToolchainError("hip needs clang 18 or newer: apt-get install clang-19 lld-19")
    for path in clangs:
        if _knows(path, arch):
            return path
    known = ", ".join(_known(clangs[0])) or "none"
    raise ToolchainError(f"no clang here knows {arch}; install a newer LLVM or ROCm, or choose from {known}")


def _known(clang: str) -> list[str]:
    """Returns the names of CDNA and RDNA architectures that a clang knows."""
    argv = (clang, "--target=amdgcn-amd-amdhsa", "-nogpulib", "--print-supported-cpus")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return re.findall(r"^\s*(gfx[91]\S+)$", done.stdout + done.stderr, re.MULTILINE)


@functools.cache  # a sixth of what compiling a small kernel takes
def _knows(clang: str, arch: str) -> bool:
    target = ("--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib")
    argv = (clang, *target, "-x", "c", "-fsyntax-only", "/dev/null")
    return subprocess.run(argv, capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode == 0
