"""What serves on a node of a cluster: all of the node's jobs in one process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..confined import kill_all
from .local import Local


class Station:
    """What serves on a node: a `Local` of its own, in one process.

    One process a node, so that its gate keeps builds from disturbing a measurement, and so that what is
    built and drawn once (baseline, inputs) serves all jobs.

    Args:
        workers: Jobs at once.
        devices: Of this node, owned by the workers.
    """

    def __init__(self, workers: int, devices: Sequence[int]) -> None:
        self._local = Local(workers, devices)
        self._owners: dict[int, Any] = {}
        self._lock = threading.Lock()

    def ready(self) -> bool:
        """Answers once the node has given what was asked for."""
        return True

    def run(self, number: int, owner: Sequence[Any], method: str, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """Runs ``owner.method(*args, device=…)``.

        Args:
            number: Of the owner, who is fetched for the first job only.
            owner: A reference to it, in a list, so that Ray does not fetch it each time.
            method: Its name; empty for a function.
            args: Of the call.

        Returns:
            Whether it came to its end, and what it returned or raised.
        """
        import ray

        with self._lock:
            if number not in self._owners:
                self._owners[number] = ray.get(owner[0])
        job = getattr(self._owners[number], method) if method else self._owners[number]
        try:
            return True, self._local.submit(job, *args).result()
        except Exception as error:  # noqa: BLE001 - the future of whoever waits carries it
            return False, error

    def end(self) -> None:
        """Ends the processes at work."""
        kill_all()
