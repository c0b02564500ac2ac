"""Several jobs at once on this machine; each slot owns one device."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar

from ..confined import kill_all
from .serial import run_once_more

Result = TypeVar("Result")


class Local:
    """Threads that wait for subprocesses: building and checking overlap, timing happens alone.

    The threads compute nothing themselves. Who may run beside a measurement is decided by the evaluator, not here.

    Args:
        workers: Jobs at once; None for one a processor, or one a device.
        devices: Devices that the slots own, one each; with fewer devices than slots they are shared in turn.

    Raises:
        ValueError: ``workers`` is below 1, or ``devices`` is empty.
    """

    def __init__(self, workers: int | None = None, devices: Sequence[int] = (0,)) -> None:
        self.workers = workers if workers is not None else max(len(os.sched_getaffinity(0)), len(devices))
        if self.workers < 1 or not devices:
            raise ValueError(f"executor.workers must be at least 1, with at least one device; it is {self.workers}")
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="evaluation")
        self._devices: queue.SimpleQueue[int] = queue.SimpleQueue()
        for slot in range(self.workers):
            self._devices.put(devices[slot % len(devices)])

    def submit(self, job: Callable[..., Result], *args: Any) -> Future[Result]:
        """Schedules ``job(*args, device=…)`` on the next free slot."""
        return self._threads.submit(self._run, job, args)

    def _run(self, job: Callable[..., Result], args: tuple[Any, ...]) -> Result:
        device = self._devices.get()
        try:
            return run_once_more(job, args, (device, device))
        finally:
            self._devices.put(device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Drops what has not begun; what has is waited for or, when an exception leads here, killed."""
        if exc and exc[0] is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            kill_all()
        self._threads.shutdown(wait=True, cancel_futures=True)
