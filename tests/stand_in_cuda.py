"""A library in the place of the CUDA driver's, which notes what it is asked for and answers what it is told to."""

import os
import subprocess
import sys
from pathlib import Path

FUNCTIONS = [
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuFuncSetAttribute",
    "cuMemsetD8Async",
    "cuMemcpyAsync",
    "cuMemAlloc_v2",
    "cuMemAllocAsync",
    "cuMemFree_v2",
    "cuMemFreeAsync",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuCtxGetDevice",
    "cuDeviceGetAttribute",
]
_GIVES = {"cuModuleGetFunction": "*first = first;"}
CALL = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).kernel(None, None, ctypes.c_long(8), None); print('survived')"


def build(folder: Path) -> None:
    """Writes ``libcuda.so.1``; each function notes its name and returns the number of its variable, else 0."""
    body = "".join(
        f'int {name}(void** first) {{ {_GIVES.get(name, "")} dprintf(1, "{name}\\n"); return told("{name}"); }}\n'
        for name in FUNCTIONS
    )
    told = "static int told(const char* name) { const char* code = getenv(name); return code ? atoi(code) : 0; }\n"
    (folder / "cuda.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{told}{body}")
    subprocess.run(["gcc", "-shared", "-fPIC", "cuda.c", "-o", "libcuda.so.1"], cwd=folder, check=True)


def launched(artifact: Path, folder: Path, **answers: int) -> tuple[list[str], str, int]:
    """Calls a built launcher; returns what the driver was asked for, standard error, and the exit code."""
    variables = {**os.environ, "LD_LIBRARY_PATH": str(folder), **{name: str(code) for name, code in answers.items()}}
    done = subprocess.run(
        [sys.executable, "-u", "-c", CALL, str(artifact)], env=variables, capture_output=True, text=True, check=False
    )
    return done.stdout.split(), done.stderr, done.returncode
