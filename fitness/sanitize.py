"""What sanitizers find in a kernel: an optional look at the best ones, which decides nothing by itself."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from .build import scratch
from .cell import Cell, Completed, Limits
from .check import Case
from .compiler import Compiler
from .kernel import Kernel
from .logs import scrub
from .sandbox import Sandbox
from .task import Task

CLEAN = "clean"
_SANITIZERS = {"address": "address,undefined", "thread": "thread"}
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66",
    "UBSAN_OPTIONS": "print_stacktrace=0",
    "TSAN_OPTIONS": "exitcode=66:halt_on_error=1",
}
_WALL_S = 120.0


def sanitize(kernel: Kernel, task: Task, cases: Sequence[Case], sandbox: Sandbox) -> dict[str, str]:
    """Runs a kernel on check cases under each sanitizer.

    Returns:
        By sanitizer (``"address"`` with undefined behaviour, ``"thread"``): ``"clean"``, what was found, or why the
        sanitizer says nothing here.
    """
    found = {}
    for name, flag in _SANITIZERS.items():
        if name == "thread" and "omp" in kernel.source:
            found[name] = (
                "not applicable: the OpenMP library is not instrumented, so every barrier would look like a race"
            )
            continue
        with scratch() as folder:
            _write_cases(folder / "cases", task, cases)
            found[name] = _under(flag, kernel, task, folder, sandbox)
    return found


def _under(flag: str, kernel: Kernel, task: Task, folder: Path, sandbox: Sandbox) -> str:
    (folder / "kernel.cpp").write_bytes(kernel.source.encode("utf-8", "surrogatepass"))
    main = resources.files(__package__).joinpath("workers", "sanitized.cpp").read_text(encoding="utf-8")
    (folder / "main.cpp").write_text(main, encoding="utf-8")
    built = _build(flag, kernel, task, folder, sandbox)
    if not built.ok:
        return f"not available: {scrub(built.log, 400).strip() or 'the compiler cannot build with this sanitizer'}"
    limits = Limits(_WALL_S, int(_WALL_S), 0, file_bytes=1 << 20)
    cell = Cell((), folder, {"LC_ALL": "C", "OMP_NUM_THREADS": "1", **_OPTIONS}, has_proc=True)
    return _told(sandbox.run(("./sanitized",), cell, limits))


def _build(flag: str, kernel: Kernel, task: Task, folder: Path, sandbox: Sandbox) -> Completed:
    compiler: Compiler = sandbox.compiler
    arguments = len(task.inputs) + len(task.outputs) + len(task.axes)
    defines = (f"-DENTRY_POINT={kernel.entry_point}", f"-DARGUMENTS={arguments}")
    flags = ("-std=gnu++20", "-O1", "-g", "-w", "-fopenmp", f"-fsanitize={flag}", *defines)
    argv = (*compiler.argv, *flags, "kernel.cpp", "main.cpp", "-o", "sanitized")
    limits = Limits(_WALL_S, int(_WALL_S), 3 << 30, file_bytes=1 << 27, descriptors=256)
    return sandbox.run(
        argv, Cell(compiler.reads, folder, {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": "."}), limits
    )


def _write_cases(path: Path, task: Task, cases: Sequence[Case]) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<q", len(cases)))
        for case in cases:
            instance = case.instances[0]
            sizes = [(array.nbytes, 0) for array in instance.inputs.values()]
            for name, spec in task.outputs.items():
                item = instance.expected[name].size
                sizes.append((item * _item_bytes(spec.dtype), 1))
            extents = [case.workload.axes[axis] for axis in task.axes]
            file.write(struct.pack("<qq", len(sizes), len(extents)))
            file.write(b"".join(struct.pack("<qq", *size) for size in sizes))
            file.write(b"".join(struct.pack("<q", extent) for extent in extents))
            for array in instance.inputs.values():
                file.write(array.tobytes())


def _item_bytes(dtype: str) -> int:
    import numpy as np

    return int(np.dtype(dtype).itemsize)


def _told(done: Completed) -> str:
    lines = [line for line in scrub(done.log).splitlines() if "runtime error" in line or "Sanitizer" in line]
    if lines:
        return "\n".join(lines[:5])
    if done.status is None:
        return f"not finished after {_WALL_S:g} s"
    return CLEAN if done.ok else f"it ended with wait status {done.status}"
