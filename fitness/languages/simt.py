"""CUDA and HIP sources built for the CPU, where one fiber plays one thread: verdicts, no times."""

from __future__ import annotations

from pathlib import Path

from ..compiler import find_compiler
from ..kernel import Kernel
from ..language import Build
from . import launch_syntax
from .launch_syntax import rewrite_launches
from .python_hosted import WORKERS, digest_of_workers

_GROUPS = f'#include "{WORKERS / "simt_groups.h"}"\n'
_CONSTANTS = "#define CUDART_INF_F INFINITY\n#define CUDART_NAN_F NAN\n#define CUDART_PI_F 3.141592654f\n"
_HEADERS = {
    "cuda_runtime.h": "",
    "cuda.h": "",
    "cuda_fp16.h": "",
    "device_launch_parameters.h": "",
    "math_constants.h": _CONSTANTS,
    "cooperative_groups.h": _GROUPS,
    "cooperative_groups/reduce.h": _GROUPS,
    "hip/hip_runtime.h": "",
    "hip/hip_fp16.h": "",
    "hip/hip_cooperative_groups.h": _GROUPS,
}
"""What a source finds of CUDA's and HIP's headers; the rest of what they declare is in `simt.h`."""

_OURS = ("simt.h", "simt_functions.h", "simt_groups.h")
_FLAGS = ("-std=c++20", "-O2", "-w", "-fPIC", "-shared", "-I.", "-fno-gnu-unique")


def simt_fingerprint() -> str:
    """Returns all that such a build depends on beside the source.

    Raises:
        ToolchainError: There is no C++ compiler.
    """
    return " ".join(
        ("simt", find_compiler().version, *_FLAGS, digest_of_workers(*_OURS, launch_syntax.__file__, __file__))
    )


def simt_build(kernel: Kernel, workdir: Path, warp: int) -> Build:
    """Returns the command that builds a GPU source as a shared object for this CPU.

    Args:
        kernel: In CUDA or HIP C++.
        workdir: Where its rewritten source is written.
        warp: Lanes of a warp: 32 for NVIDIA, 64 for AMD's CDNA.

    Raises:
        ToolchainError: There is no C++ compiler.
    """
    (workdir / "kernel.cpp").write_text(rewrite_launches(kernel.source).source, encoding="utf-8")
    for name, text in _HEADERS.items():
        (workdir / name).parent.mkdir(exist_ok=True)
        (workdir / name).write_text(text, encoding="utf-8")
    compiler = find_compiler()
    define = f"-DKERNELWRIGHT_WARP={warp}"
    argv = (*compiler.argv, *_FLAGS, define, "-include", str(WORKERS / "simt.h"), "kernel.cpp", "-o", "kernel.so")
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": ".", "HOME": "."}
    return Build(argv, Path("kernel.so"), "shared_object", reads=(WORKERS, *compiler.reads), environment=environment)
