"""CUDA C++ with a plain ``extern "C"`` launcher: no torch extension, no Python."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import itertools
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..ahead import AheadBuild, python_reads
from ..compiler import find_compiler
from ..errors import ToolchainError
from ..kernel import Kernel
from ..language import Build
from ..static import Metrics, combine, cubin_metrics, embedded_cubins, nvidia_occupancy, ptxas_metrics
from ..target import Target
from ..task import Task
from . import launch_syntax
from .cpp import link_flags, precompiled
from .disassembly import sass
from .launch_syntax import device_part, host_part, rewrite_launches
from .python_hosted import WORKERS, digest_of_workers
from .simt import simt_build, simt_fingerprint

_INSTALL = "pip install nvidia-cuda-nvrtc, or install the CUDA toolkit"
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": ".", "HOME": "."}
_MOST_CUBINS = 16
_HOST_HEADERS = {
    **dict.fromkeys(
        (
            "cuda.h",
            "cuda_runtime.h",
            "cuda_runtime_api.h",
            "device_launch_parameters.h",
            "vector_types.h",
            "cuda_fp16.h",
            "cuda_bf16.h",
            "cuda_fp8.h",
            "cuda/atomic",
            "cuda/barrier",
            "cuda/pipeline",
            "cuda/std/cstdint",
            "cuda/std/limits",
            "cuda/std/type_traits",
            "cooperative_groups/memcpy_async.h",
            "cooperative_groups/reduce.h",
            "cooperative_groups/scan.h",
            "cuda_pipeline.h",
            "math_constants.h",
        ),
        "",
    ),
    "cooperative_groups.h": "namespace cooperative_groups {}\n",
    "mma.h": "namespace nvcuda { namespace wmma {} }\n",
}
"""What the host side of a source finds of CUDA's headers: `cuda_host.h` declares what a launcher needs of them."""


@dataclass(frozen=True)
class Cuda:
    """A source whose ``kernel(inputs…, outputs…, axes…, stream)`` launches ``__global__`` functions.

    Attributes:
        device_compiler: ``"nvrtc"`` (fast), ``"nvcc"``, or ``"auto"``: NVRTC, and nvcc where there is no NVRTC or a
            source needs more than it can (launches inside templates, other headers, the rest of CUDA's runtime).
    """

    device_compiler: str = "auto"
    name: str = "cuda"
    suffix: str = ".cu"
    grammar: str = "cpp"
    targets: tuple[str, ...] = ("nvidia", "interpret")
    architectures: tuple[str, ...] = ("sm_*",)
    trailing_arguments: int = 1

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Returns the command that makes a shared object with the source's ``kernel`` function.

        Raises:
            ToolchainError: There is neither NVRTC nor nvcc.
        """
        if target.name == "interpret":
            return simt_build(kernel, workdir, warp=32)
        if self._uses_nvrtc():
            return self._nvrtc(kernel, target.arch, workdir, self._fallback)
        (workdir / "kernel.cu").write_text(kernel.source, encoding="utf-8")
        nvcc = self._nvcc()
        argv = _whole(nvcc, target.arch, "kernel.cu")
        reads = (_toolkit(nvcc),)
        return Build(argv, Path("kernel.so"), "shared_object", reads=reads, environment=_ENVIRONMENT)

    def _nvrtc(self, kernel: Kernel, arch: str, workdir: Path, nvcc: str | None = None) -> Build:
        """Writes what the two compilers read, and returns the command that runs both, and then nvcc if it must."""
        device = rewrite_launches(kernel.source, call="kernelwright_launch")
        call = "::kernelwright::launcher<decltype(&{name})>({text}, {configuration})"
        texts = {
            "device.cu": device_part(device.source, device.kernels),
            "kernel.cu": host_part(rewrite_launches(kernel.source, call).source),  # so named for compilers to quote it
            "whole.cu": kernel.source,
            **{f"host/{name}": text for name, text in _HOST_HEADERS.items()},
        }
        for name, text in texts.items():
            (workdir / name).parent.mkdir(parents=True, exist_ok=True)
            (workdir / name).write_text(text, encoding="utf-8")
        compiler, header = find_compiler(), WORKERS / "cuda_host.h"
        command = (*compiler.argv, "-std=c++17", "-O1", "-w", "-fPIC")
        library = nvrtc()
        assert library is not None
        manifest = {"library": str(library), "source": "device.cu", "kernels": device.kernels, "arch": arch}
        manifest |= {"include": cuda_headers()}
        manifest |= {"host": "kernel.cu", "headers": "host", "header": str(header), "command": command}
        manifest |= {"link": link_flags(compiler), "nvcc": _whole(nvcc, arch, "whole.cu") if nvcc else ()}
        (workdir / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        argv = (sys.executable, "-I", "-S", "-B", str(WORKERS / "build_cuda.py"), "manifest.json")
        needs = () if compiler.family == "zig" else (precompiled(compiler, command, header.read_text("utf-8")),)
        reads = (*python_reads(), *map(Path, cuda_headers()), library.parent, *compiler.reads)
        reads += (_toolkit(nvcc),) if nvcc else ()
        return Build(argv, Path("kernel.so"), "shared_object", needs, reads, environment=_ENVIRONMENT)

    def fingerprint(self, target: Target) -> str:
        """Returns the compiler's version, and the target's architecture.

        Raises:
            ToolchainError: There is neither NVRTC nor nvcc.
        """
        if target.name == "interpret":
            return simt_fingerprint()
        if self._uses_nvrtc():
            ours = digest_of_workers("ahead_cuda.py", "build_cuda.py", "cuda_host.h", launch_syntax.__file__, __file__)
            versions = f"{nvrtc_version()} {self._fallback or ''} {find_compiler().version}"
            return f"nvrtc {versions} {target.arch} {ours}"
        return f"nvcc {self._nvcc()} {target.arch}"

    def _uses_nvrtc(self) -> bool:
        return self.device_compiler != "nvcc" and nvrtc() is not None

    @property
    def _fallback(self) -> str | None:
        """The nvcc that builds what NVRTC cannot."""
        return shutil.which("nvcc") if self.device_compiler == "auto" else None

    def _nvcc(self) -> str:
        nvcc = shutil.which("nvcc")
        if nvcc is None or self.device_compiler == "nvrtc":
            raise ToolchainError(f"cuda needs a compiler: {_INSTALL}")
        return nvcc

    def build_ahead(self, kernel: Kernel, task: Task, arch: str, workdir: Path) -> AheadBuild:
        """Compiles the device code to a cubin; NVRTC's way also builds the host side around it.

        Raises:
            ToolchainError: There is neither NVRTC nor nvcc.
        """
        if self._uses_nvrtc():
            build = self._nvrtc(kernel, arch, workdir)
            return AheadBuild(build.argv, "kernels.cubin", build.reads, build.environment)
        (workdir / "kernel.cu").write_text(kernel.source, encoding="utf-8")
        nvcc = self._nvcc()
        argv = (
            nvcc,
            f"-arch={arch}",
            "-O3",
            "-std=c++17",
            "-Xptxas",
            "-v",
            "-cubin",
            "kernel.cu",
            "-o",
            "kernels.cubin",
        )
        return AheadBuild(argv, "kernels.cubin", reads=(_toolkit(nvcc),))

    def static_metrics(self, workdir: Path, arch: str, log: str) -> Metrics:
        """Combines the binary's own record with the assembler's report."""
        metrics = _metrics(workdir / "kernels.cubin", arch, ptxas_metrics(log))
        return metrics if metrics["code_bytes"] else {}  # a source without a kernel


def object_metrics(path: Path, arch: str) -> Metrics:
    """Reads the NVIDIA binaries inside a shared object; empty where pyelftools is not installed.

    The object was built of a candidate: facts for people, models and descriptors, and for no verdict.
    """
    found = []
    for cubin in itertools.islice(embedded_cubins(path.read_bytes()), _MOST_CUBINS):
        # It is damaged on purpose, or pyelftools is not installed, or the disk is full.
        with contextlib.suppress(Exception), tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            found.append(_metrics(Path(file.name), arch, {}))
    return combine(found)


def _metrics(cubin: Path, arch: str, more: Metrics) -> Metrics:
    """Occupancy is that of blocks of 256 threads: the launch decides, and it is not known here."""
    metrics = {**cubin_metrics(cubin.read_bytes()), **more, **sass(cubin)}
    metrics["occupancy_256"] = nvidia_occupancy(arch, metrics["registers"], metrics["shared_bytes"], 256)
    return metrics


def _whole(nvcc: str, arch: str, source: str) -> tuple[str, ...]:
    """Returns nvcc's command line for a whole source."""
    flags = (f"-arch={arch}", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared")
    return (nvcc, *flags, source, "-o", "kernel.so")


def _toolkit(nvcc: str) -> Path:
    return Path(nvcc).resolve().parent.parent


@functools.cache
def nvrtc() -> Path | None:
    """Returns NVRTC's library: the newest of the wheels, else the toolkit's; None where there is none."""
    for root in _roots():
        found = sorted(each for folder in ("lib", "lib64") for each in (root / folder).glob("libnvrtc.so.*"))
        if found:
            return found[-1].resolve()
    return None


@functools.cache
def nvrtc_version() -> str:
    """Returns what tells one release of NVRTC from another.

    Raises:
        ToolchainError: It cannot be loaded.
    """
    library = nvrtc()
    assert library is not None
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        ctypes.CDLL(str(library)).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except OSError as error:
        raise ToolchainError(f"NVRTC cannot be loaded ({error}): {_INSTALL}") from error
    return f"{major.value}.{minor.value} {library.name} {library.stat().st_size}"


@functools.cache
def cuda_headers() -> list[str]:
    """Returns the folders with CUDA's device headers: the wheels', else the toolkit's; maybe none.

    Since CUDA 13 those that are written in C++ (``<cuda/…>``, which cooperative groups include) lie in one below.
    """
    for folder in (root / "include" for root in _roots()):
        if (folder / "cuda_fp16.h").is_file():
            return [str(each) for each in (folder, folder / "cccl") if each.is_dir()]
    return []


def _roots() -> list[Path]:
    """Returns where CUDA may be installed: wheels (those of CUDA 12 have a folder each), and the toolkit."""
    spec = importlib.util.find_spec("nvidia")
    packages = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    roots = [package / name for package in packages for name in ("cu13", "cuda_nvrtc", "cuda_runtime")]
    compiler = shutil.which("nvcc")
    return [*roots, *([_toolkit(compiler)] if compiler else [])]
