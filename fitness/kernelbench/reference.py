"""The model of a KernelBench problem in a sandboxed process: foreign code runs there, and only arrays come back."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..ahead import python_reads
from ..cell import Cell, Limits
from ..compiler import find_compiler
from ..device.process import Arrays, DeviceProcess
from ..disk import remove
from ..errors import TaskError, ToolchainError
from ..evaluation import JSON, Status
from ..memory import available_bytes
from ..sandbox import find_sandbox
from ..session import Failed

_WORKER = Path(__file__).resolve().parent.parent / "workers" / "kernelbench.py"
_MOST_BYTES = 1 << 34
_COPIES = 40
"""How many times the memory of its inputs, weights and outputs a problem takes while kernels are judged, at most."""


class Reference:
    """One loaded problem. The process is started at the first question, and again after a failure.

    Args:
        source: The text of the problem's file.
        sizes: Other values for the numbers that it defines at its top level.
        timeout_s: Wall clock of every answer.

    Attributes:
        facts: What a kernel takes and gives, as the worker describes it.
    """

    def __init__(self, source: str, sizes: Mapping[str, int], timeout_s: float) -> None:
        self._source, self._sizes, self._timeout_s = source, dict(sizes), timeout_s
        self._lock = threading.Lock()
        self._running: list[DeviceProcess] = []
        self._folder = Path(tempfile.mkdtemp(prefix="kernelwright-"))
        weakref.finalize(self, _put_away, self._running, self._folder)
        self.facts: JSON = {}
        self.facts = self._ask(self._loading(), {})[0]

    def _loading(self) -> JSON:
        available = available_bytes()
        return {
            "command": "load",
            "sizes": self._sizes,
            "most_bytes": available // _COPIES,
            "memory_bytes": available,
        }

    def draw(self, seed: int) -> Arrays:
        """Returns inputs and weights.

        Raises:
            TaskError: The problem fails.
        """
        return self._ask({"command": "draw", "seed": seed}, {})[1]

    def run(self, inputs: Mapping[str, Any]) -> Arrays:
        """Returns the outputs of the model in float64.

        Raises:
            TaskError: The problem fails.
        """
        return self._ask({"command": "run", "constants": self.facts["constants"]}, inputs)[1]

    def seconds(self, compiled: bool, threads: int, limit_s: float) -> list[float]:
        """Returns the times of calls of the model in float32, as torch runs it or as it compiles it.

        Raises:
            TaskError: The problem fails.
        """
        message = {"command": "time", "seed": 1, "compiled": compiled, "threads": threads, "limit_s": limit_s}
        return [float(each) for each in self._ask(message, {})[0]["seconds"]]

    def _ask(self, message: JSON, arrays: Mapping[str, Any]) -> tuple[JSON, Arrays]:
        with self._lock:
            try:
                if not self._running:
                    self._running.append(self._started())
                    if message["command"] != "load":
                        self._request(self._loading(), {})
                return self._request(message, arrays)
            except Failed as failure:
                self._running.pop().close()
                what = "is too large" if failure.status is Status.OUT_OF_MEMORY else "fails"
                raise TaskError(f"the KernelBench problem {what}: {failure.log.strip() or failure.status}") from failure

    def _request(self, message: JSON, arrays: Mapping[str, Any]) -> tuple[JSON, Arrays]:
        (process,) = self._running
        process.deadline = time.monotonic() + self._timeout_s
        return process.request(message, arrays, most_bytes=_MOST_BYTES)

    def _started(self) -> DeviceProcess:
        if importlib.util.find_spec("torch") is None:
            raise ToolchainError("a KernelBench problem is a PyTorch model: pip install torch")
        folder = self._folder
        folder.chmod(0o777)
        (folder / "problem.py").write_text(self._source, encoding="utf-8")
        sandbox = find_sandbox(find_compiler())
        home = "/scratch" if sandbox.mechanism == "bubblewrap" else str(folder)
        environment = {"HOME": home, "TMPDIR": home, "TORCHINDUCTOR_CACHE_DIR": f"{home}/inductor", "LC_ALL": "C"}
        environment |= {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}
        cell = Cell((*python_reads(), *find_compiler().reads), folder, environment, has_proc=True)
        limits = Limits(self._timeout_s, 1 << 20, 0, file_bytes=1 << 30, descriptors=4096)
        command, options = (sys.executable, "-I", "-B", str(_WORKER)), {"local_sockets": 1}
        return DeviceProcess.connected(
            lambda channel: sandbox.start(cell, limits, options, command, channel=channel), folder
        )


def _put_away(running: list[DeviceProcess], folder: Path) -> None:
    for process in running:
        process.close()
    remove(folder)


@functools.lru_cache(maxsize=4)
def reference(source: str, sizes: tuple[tuple[str, int], ...], timeout_s: float) -> Reference:
    """Returns the reference of a problem; one process for all who ask for the same.

    Raises:
        TaskError: It cannot be loaded.
        ToolchainError: There is no torch.
    """
    return Reference(source, dict(sizes), timeout_s)
