"""Threads in which operators wait for the model."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Threads:
    """Runs jobs in a bounded number of threads that do not keep the process alive.

    `concurrent.futures` joins its threads when Python ends, so that an interrupted run would wait
    for every model call in flight; these do not.

    Args:
        count: How many jobs run at once.
    """

    def __init__(self, count: int) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count = count
        self._threads: list[threading.Thread] = []
        self._closed = threading.Event()

    def start(self, job: Callable[[], None]) -> None:
        """Queues a job, which must not raise."""
        if len(self._threads) < self._count:
            thread = threading.Thread(target=self._work, name=f"propose-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def close(self, wait: bool) -> None:
        """Drops what has not begun.

        Args:
            wait: Whether to wait for what has, e.g. for answers that are worth recording.
        """
        self._closed.set()
        for _ in self._threads:
            self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._closed.is_set():
                job()
